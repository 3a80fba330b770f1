"""How many random small faults in the sources the tests notice.

    python tools/mutants.py weighers engine --count 30 --seed 0

One mutation at a time: an operator, a comparison, a constant, a negated condition, or an index. Each is written into a
copy of the sources, and the tests of the mirrored directory run until one fails. Whatever happens, the repository's own
sources stay as they are. Mutants that no test notices are printed; some of them change nothing that anybody could see.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or,
    ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """A place in a file, counted in the order of `ast.walk`, and what is done there."""

    path: Path
    line: int
    node: int
    what: str


def find_mutations(path: Path) -> Iterator[Mutation]:
    """All mutations of a file. Annotations, docstrings and messages are left alone."""
    tree = ast.parse(path.read_text(encoding="utf8"))
    skipped = set()
    for node in ast.walk(tree):
        annotations = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        texts = [node] if isinstance(node, (ast.JoinedStr, ast.Raise, ast.Assert)) else []
        for part in (*annotations, *texts):
            if part is not None:
                skipped.update(id(inner) for inner in ast.walk(part))
    for number, node in enumerate(ast.walk(tree)):
        if id(node) not in skipped:
            for what in _options(node):
                yield Mutation(path, node.lineno, number, what)  # type: ignore[attr-defined]


def _options(node: ast.AST) -> Iterator[str]:
    """What can be done to a node."""
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPS:
        yield "operator"
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield "comparison"
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        yield "constant"
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield "condition"
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Name):
        yield "index"


def mutate(mutation: Mutation) -> tuple[str, str, str]:
    """The mutated source, and the text of the place before and after."""
    tree = ast.parse(mutation.path.read_text(encoding="utf8"))
    node = next(node for number, node in enumerate(ast.walk(tree)) if number == mutation.node)
    before = _describe(node)
    if isinstance(node, (ast.BinOp, ast.BoolOp)):
        node.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()  # type: ignore[call-overload]
    elif isinstance(node, ast.Constant):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1  # type: ignore[operator]
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Subscript):
        node.slice = ast.BinOp(node.slice, ast.Sub(), ast.Constant(1))
    return ast.unparse(ast.fix_missing_locations(tree)), before, _describe(node)


def _describe(node: ast.AST) -> str:
    text = ast.unparse(node.test if isinstance(node, (ast.If, ast.IfExp, ast.While)) else node)
    return text if len(text) <= 90 else text[:87] + "..."


def find_tests(name: Path, *, whole: bool) -> list[str]:
    """Test files of the mirrored directory, or the nearest one above, that name the module or what it defines.

    The file of the same name comes first, since it fails first. With ``whole`` all files of the directory are taken.
    """
    place = ROOT / "tests" / name.parent
    while not place.is_dir():
        place = place.parent
    tree = ast.parse((ROOT / "src/weighbors" / name).read_text(encoding="utf8"))
    words = [name.stem, *(node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef)))]
    named = re.compile(rf"\b({'|'.join(words)})\b")
    files = sorted(place.glob("test_*.py"), key=lambda path: (name.stem not in path.stem, path.name))
    chosen = [path for path in files if whole or named.search(path.read_text(encoding="utf8"))]
    return [str(path.relative_to(ROOT)) for path in chosen or files]


def run_tests(copy: Path, tests: list[str], seconds: int) -> str | None:
    """The test that fails on the sources in ``copy``, or None. Tests that never end have noticed something, too."""
    paths = os.pathsep.join(map(str, (copy, ROOT / "tests")))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", *tests]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        # The limit counts processor time: on a busy machine the clock would stop tests that only wait.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
    )
    if done.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return failed[1] if failed else f"ended with {done.returncode}"


def main() -> None:
    """Draw mutations, run the tests for each, and print how many of them were noticed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("packages", nargs="+", help="packages of weighbors, such as engine")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=600, help="processor time that one run of the tests may take")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of the mutants that are run again")
    parser.add_argument("--whole", action="store_true", help="run all tests of the mirrored directory")
    parser.add_argument("--also", nargs="*", default=[], help="tests that are run besides those of the same directory")
    given = parser.parse_args()
    files = sorted(path for one in given.packages for path in (ROOT / "src/weighbors" / one).rglob("*.py"))
    drawn = random.Random(given.seed).sample([one for path in files for one in find_mutations(path)], given.count)
    missed = 0
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place)
        shutil.copytree(ROOT / "src/weighbors", copy / "weighbors", ignore=shutil.ignore_patterns("__pycache__"))
        for number, mutation in enumerate(drawn, 1):
            if given.only and number not in given.only:
                continue
            name = mutation.path.relative_to(ROOT / "src/weighbors")
            target, (text, before, after) = copy / "weighbors" / name, mutate(mutation)
            target.write_text(text, encoding="utf8")
            failed = run_tests(copy, [*find_tests(name, whole=given.whole), *given.also], given.seconds)
            shutil.copyfile(mutation.path, target)
            missed += failed is None
            print(
                f"{number:>3} {failed or 'MISSED'}\n    {name}:{mutation.line} {mutation.what}: {before}  →  {after}",
                flush=True,
            )
    ran = len(given.only or drawn)
    print(f"seed {given.seed}: {ran - missed} of {ran} mutants were caught")


if __name__ == "__main__":
    main()
