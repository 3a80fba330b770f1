"""How heavy the sources are and how they hang together: code lines, imports, parameters, and the way of some calls.

    python tools/house.py            # print all of it; journeys and parameters need an installed weighbors
    python tools/house.py --check    # print what is wrong and fail: import cycles, private modules of other packages

A journey counts the distinct functions of weighbors that one call goes through, the files these are in, and how deep
they are nested, beside two calls of scikit-learn counted in the same way.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = Path(__file__).parents[1] / "src" / "weighbors"
Name = tuple[str, ...]  # of a module, from the package on: ("engine", "plan"); a package's own module is ("engine",)


# --- what the sources hold -------------------------------------------------------------------------------------------


def module_name(path: Path, source: Path) -> Name:
    """Name of the module in a file; ``__init__.py`` is the package itself."""
    parts = path.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def find_modules(source: Path) -> dict[Name, Path]:
    """All modules below ``source``, by name."""
    return {module_name(path, source): path for path in sorted(source.rglob("*.py"))}


@dataclass(frozen=True)
class Import:
    """One module that another one imports, and the line where it does so."""

    target: Name
    line: int
    deferred: bool  # inside a function, or for type checkers only: it cannot lock two modules into a cycle


def find_imports(name: Name, path: Path, modules: dict[Name, Path]) -> Iterator[Import]:
    """Modules of weighbors that a file imports."""
    package = name if path.name == "__init__.py" else name[:-1]
    for node, deferred in _walk(ast.parse(path.read_text(encoding="utf8")), deferred=False):
        for target in _targets(node, package):
            # what is imported from a package is one of its modules, or else a name that it defines
            while target not in modules and target:
                target = target[:-1]
            yield Import(target, node.lineno, deferred)


def _walk(node: ast.AST, *, deferred: bool) -> Iterator[tuple[Any, bool]]:
    """All import statements below ``node``, and whether Python skips them when it loads the module."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, deferred
        later = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        checking = isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")
        yield from _walk(child, deferred=deferred or later or checking)


def _targets(node: ast.Import | ast.ImportFrom, package: Name) -> Iterator[Name]:
    """Full names of what a statement imports from weighbors; the last part may be a class or function."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            first, *rest = alias.name.split(".")
            if first == "weighbors":
                yield tuple(rest)
        return
    module = tuple(node.module.split(".")) if node.module else ()
    if node.level:
        module = (*package[: len(package) - node.level + 1], *module)
    elif module[:1] == ("weighbors",):
        module = module[1:]
    else:
        return
    for alias in node.names:
        yield (*module, alias.name)


# --- what is right or wrong ------------------------------------------------------------------------------------------


def find_problems(source: Path) -> list[str]:
    """Import cycles between modules, and imports of another package's private modules."""
    modules = find_modules(source)
    imports = {name: list(find_imports(name, path, modules)) for name, path in modules.items()}
    return [*_private_imports(modules, imports), *_cycles(imports)]


def _private_imports(modules: dict[Name, Path], imports: dict[Name, list[Import]]) -> Iterator[str]:
    for name, found in imports.items():
        package = name if modules[name].name == "__init__.py" else name[:-1]
        for one in found:
            # a private part at place i belongs to the package target[:i]; the helpers at the top are shared by all
            for i, part in enumerate(one.target):
                if i > 0 and part.startswith("_") and package[:i] != one.target[:i]:
                    yield (
                        f"{_shown(name)}, line {one.line}: imports {_shown(one.target)}, a private module of another "
                        "package. Export the name from that package, or name the module without an underscore"
                    )


def _cycles(imports: dict[Name, list[Import]]) -> Iterator[str]:
    """Groups of modules that import each other when they are loaded (Tarjan's strongly connected components)."""
    graph = {
        name: sorted({one.target for one in found if not one.deferred and one.target in imports and one.target != name})
        for name, found in imports.items()
    }
    number: dict[Name, int] = {}
    low: dict[Name, int] = {}
    stack: list[Name] = []
    found: list[list[Name]] = []

    def visit(name: Name) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for target in graph[name]:
            if target not in number:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], number[target])
        if low[name] == number[name]:
            group = []
            while not group or group[-1] != name:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for name in graph:
        if name not in number:
            visit(name)
    for group in found:
        yield f"these modules import each other: {', '.join(map(_shown, group))}. Move what both need to a third one"


def _shown(name: Name) -> str:
    return ".".join(("weighbors", *name))


# --- sizes -----------------------------------------------------------------------------------------------------------


@dataclass
class Size:
    """What a package holds; ``code`` counts lines without comments, docstrings and blank ones."""

    files: int = 0
    lines: int = 0
    functions: int = 0
    code: int = 0
    comments: int = 0

    def add(self, other: Size) -> None:
        """Count another file or package, too."""
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def measure_file(path: Path) -> Size:
    """Size of one file."""
    text = path.read_text(encoding="utf8")
    tree = ast.parse(text)
    functions = sum(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) for node in ast.walk(tree))
    documented: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documented.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    comments: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            # directives to tools explain nothing
            if not token.string.lstrip("# ").startswith(("noqa", "fmt:", "type: ignore")):
                comments.add(token.start[0])
        elif token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER):
            code.update(range(token.start[0], token.end[0] + 1))
    return Size(1, text.count("\n"), functions, len(code - documented), len(comments))


def measure_packages(source: Path) -> dict[str, Size]:
    """Size of every package by its path; the helpers at the top are one package of their own."""
    sizes: dict[str, Size] = defaultdict(Size)
    for path in sorted(source.rglob("*.py")):
        place = path.parent.relative_to(source).as_posix()
        sizes["(top)" if place == "." else place].add(measure_file(path))
    return dict(sorted(sizes.items()))


def count_native(directory: Path) -> Size:
    """Size of the C++ sources: lines that are not blank and hold more than a comment."""
    size = Size()
    for path in sorted(directory.glob("*.?pp")):
        lines = [line.strip() for line in path.read_text(encoding="utf8").splitlines()]
        comments = sum("//" in line for line in lines)
        code = sum(bool(line.partition("//")[0].strip()) for line in lines)
        size.add(Size(1, len(lines), 0, code, comments))
    return size


def print_sizes(source: Path) -> None:
    """One line per package, then all of them, the tests, and the C++ sources."""
    head = ("package", "files", "functions", "code lines", "comments per 100 of them")
    print(f"{head[0]:<30}{head[1]:>7}{head[2]:>11}{head[3]:>12}{head[4]:>26}")
    total, tests = Size(), Size()
    sizes = measure_packages(source)
    for size in sizes.values():
        total.add(size)
    for size in measure_packages(source.parents[1] / "tests").values():
        tests.add(size)
    native = count_native(source.parent / "native")
    for name, size in [*sizes.items(), ("all Python", total), ("tests", tests), ("C++", native)]:
        share = 100 * size.comments / max(1, size.code)
        print(f"{name:<30}{size.files:>7}{size.functions or '':>11}{size.code:>12}{share:>26.1f}")


def print_parameters() -> None:
    """How many parameters the public estimators have together, and which have most."""
    from sklearn.base import BaseEstimator

    import weighbors

    public = [getattr(weighbors, name) for name in weighbors.__all__]
    counts = {
        kind.__name__: len(kind._get_param_names())
        for kind in public
        if isinstance(kind, type) and issubclass(kind, BaseEstimator)
    }
    most = sorted(counts.items(), key=lambda item: -item[1])[:5]
    print(f"{len(counts)} public estimators have {sum(counts.values())} parameters; most have")
    print(", ".join(f"{name} ({count})" for name, count in most))


def print_graph(source: Path) -> None:
    """For every package: which others it imports, and by how many statements. Helpers at the top are left out."""
    modules = find_modules(source)
    used: dict[str, Counter[str]] = defaultdict(Counter)
    for name, path in modules.items():
        for one in find_imports(name, path, modules):
            if name and one.target and one.target[0] != name[0] and not one.target[0].startswith("_"):
                used[name[0]][one.target[0]] += 1
    for package in sorted(used, key=lambda one: (len(used[one]), one)):
        if not package.startswith("_"):
            targets = ", ".join(f"{target} ({count})" for target, count in sorted(used[package].items()))
            print(f"{package:<14}→ {targets}")


# --- journeys --------------------------------------------------------------------------------------------------------


@dataclass
class Journey:
    """Which functions of a package a call goes through in the main thread. ``sys.setprofile`` calls this object.

    Comprehensions and lambdas are not counted: whether they have frames of their own depends on the Python version.
    """

    package: str
    functions: set[tuple[str, str]] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    depth: int = 0
    most_depth: int = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Count an entry to a function, or an exit from it."""
        code = frame.f_code
        file = code.co_filename.replace("\\", "/")
        if event not in ("call", "return") or f"/{self.package}/" not in file or code.co_name.startswith("<"):
            return
        if event == "return":
            self.depth -= 1
            return
        self.functions.add((file, code.co_qualname))
        self.files.add(file)
        self.depth += 1
        self.most_depth = max(self.most_depth, self.depth)


def walk(package: str, run: Callable[[], Any]) -> Journey:
    """Run a call and return its journey through the package."""
    journey = Journey(package)
    sys.setprofile(journey)
    try:
        run()
    finally:
        sys.setprofile(None)
    return journey


def named_calls() -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Calls whose journeys are printed, each with its name and its package; two of scikit-learn stand beside ours."""
    from sklearn.datasets import load_wine
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neighbors import KNeighborsClassifier

    from weighbors import ReliefF, SimbaMBIW, StabilitySelection, TableClassifier, WeightedKNeighborsClassifier

    X, y = load_wine(return_X_y=True)
    frame = load_wine(as_frame=True).data
    weighted, table = WeightedKNeighborsClassifier(5, SimbaMBIW()).fit(X, y), TableClassifier().fit(frame, y)
    calls = {
        "ReliefF(10).fit": lambda: ReliefF(10).fit(X, y),
        "k-NN with SimbaMBIW, fit": lambda: WeightedKNeighborsClassifier(5, SimbaMBIW()).fit(X, y),
        "k-NN with SimbaMBIW, predict": lambda: weighted.predict(X),
        "TableClassifier, fit": lambda: TableClassifier().fit(frame, y),
        "TableClassifier, predict": lambda: table.predict(frame),
        "StabilitySelection(ReliefF()).fit": lambda: StabilitySelection(ReliefF()).fit(X, y),
    }
    for name, run in calls.items():
        yield name, "weighbors", run
    yield "k-NN of scikit-learn, fit", "sklearn", lambda: KNeighborsClassifier().fit(X, y)
    yield "forest of scikit-learn, fit", "sklearn", lambda: RandomForestClassifier(10).fit(X, y)


def print_journeys() -> None:
    """How many functions of how many files each call goes through, and how deep they are nested."""
    print(f"{'call':<36}{'functions':>10}{'files':>7}{'depth':>7}")
    for name, package, run in named_calls():
        journey = walk(package, run)
        print(f"{name:<36}{len(journey.functions):>10}{len(journey.files):>7}{journey.most_depth:>7}")


def main() -> int:
    """Print the house, or check it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only print what is wrong; the exit code is 1 then")
    arguments = parser.parse_args()
    problems = find_problems(SOURCE)
    print(*problems, sep="\n", end="\n" if problems else "")
    if arguments.check:
        return int(bool(problems))
    print_sizes(SOURCE)
    print("\nImports between packages, with the number of imported names")
    print_graph(SOURCE)
    warnings.simplefilter("ignore")
    print("\nDistinct functions that run in a call, the files they are in, and the depth of the stack")
    print_journeys()
    print()
    print_parameters()
    return 0


if __name__ == "__main__":
    sys.exit(main())
