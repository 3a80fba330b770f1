"""How the sources hang together: sizes of the packages, imports between them, and four journeys.

    python tools/house.py            # print all of it; the journeys need an installed weighbors
    python tools/house.py --check    # print what is wrong and fail: import cycles, private modules of other packages

A journey runs one small example and prints, in the order of their first call, the functions of weighbors that
it goes through. It answers "where does this call end up?" for a reader who is new to the sources.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tempfile
import threading
import tokenize
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = Path(__file__).parents[1] / "src" / "weighbors"
#: Bytes of code below which a function that calls nothing of weighbors is too short to be a step of a journey.
TINY = 90
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


def print_sizes(source: Path) -> None:
    """One line per package."""
    head = ("package", "files", "lines", "functions", "comments per 100 lines of code")
    print(f"{head[0]:<22}{head[1]:>7}{head[2]:>8}{head[3]:>11}{head[4]:>33}")
    total = Size()
    sizes = measure_packages(source)
    for size in sizes.values():
        total.add(size)
    for name, size in [*sizes.items(), ("all", total)]:
        share = 100 * size.comments / max(1, size.code)
        print(f"{name:<22}{size.files:>7}{size.lines:>8}{size.functions:>11}{share:>33.1f}")


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
class Step:
    """One function of a journey, at the depth of the call that is printed."""

    file: str
    function: str
    depth: int
    calls: int = 1
    leaf: bool = True  # it calls no other function of weighbors


@dataclass
class Trace:
    """Collects the functions of weighbors that the main thread enters, each once, in the order of first calls.

    Helpers at the top of the package and special methods are passed over: what they call counts as called by
    whoever called them. A function that is called from several depths is printed where it is called from least
    deep, so that the engine shows below `predict` though a weigher has used it before.
    """

    most_depth: int
    steps: dict[tuple[str, str], Step] = field(default_factory=dict)
    stack: list[Step | None] = field(default_factory=list)
    visible: int = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Count a call; ``sys.setprofile`` calls this on every entry to and exit from a function."""
        if event not in ("call", "return"):
            return
        code = frame.f_code
        file = _place(code.co_filename)
        if file is None or code.co_name.startswith("<"):  # files of others; lambdas, comprehensions and modules
            return
        if event == "return":
            self.leave()
        else:
            special = code.co_name.startswith("__") and code.co_name not in ("__init__", "__call__")
            hidden = file.startswith("_") or special
            self.enter(None if hidden else (file, code.co_qualname), tiny=len(code.co_code) < TINY)

    def enter(self, key: tuple[str, str] | None, *, tiny: bool = False) -> None:
        """Go one call down; ``key`` is None for a function that is passed over."""
        if key is None:
            self.stack.append(None)
            return
        step = self.steps.get(key)
        if step is None:
            step = self.steps[key] = Step(*key, self.visible, leaf=tiny)
        else:
            step.calls += 1
            if self.visible < step.depth:
                del self.steps[key]
                self.steps[key] = step
                step.depth = self.visible
        caller = next((one for one in reversed(self.stack) if one is not None), None)
        if caller is not None:
            caller.leaf = False
        self.stack.append(step)
        self.visible += 1

    def leave(self) -> None:
        """Go one call up; a call that began before the trace did is not on the stack."""
        if self.stack and self.stack.pop() is not None:
            self.visible -= 1

    def lines(self) -> Iterator[str]:
        """The journey as text, without the shortest functions (properties, most of them)."""
        for step in self.steps.values():
            if step.depth <= self.most_depth and not step.leaf:
                calls = f"  × {step.calls}" if step.calls > 1 else ""
                yield f"  {'  ' * step.depth}{step.file}: {step.function.replace('.<locals>', '')}{calls}"


def _place(file: str) -> str | None:
    """Path of a file inside the package; None for files of others."""
    _, inside, rest = file.replace("\\", "/").rpartition("/weighbors/")
    return rest if inside else None


@contextmanager
def native_calls(trace: Trace) -> Iterator[None]:
    """Let the trace see calls of the compiled core, which Python does not report."""
    from weighbors import _native

    core, main = vars(_native), threading.get_ident()
    functions = {name: value for name, value in core.items() if type(value).__name__ == "nb_func"}

    def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if threading.get_ident() == main:
                trace.enter(("src/native", name))
                trace.leave()
            return function(*args, **options)

        return call

    core.update({name: watched(name, function) for name, function in functions.items()})
    try:
        yield
    finally:
        core.update(functions)


def knn_journey() -> Callable[[], Any]:
    """A k-NN under the weights that SIMBAMBIW learns: fit, then predict."""
    from weighbors import SimbaMBIW, WeightedKNeighborsClassifier
    from weighbors.datasets import load_builtin

    data = load_builtin("wine")
    X, y = data.X.to_numpy(), data.y
    return lambda: WeightedKNeighborsClassifier(5, SimbaMBIW()).fit(X, y).predict(X)


def search_journey() -> Callable[[], Any]:
    """An evolutionary search for instances and features."""
    from weighbors import EvolutionaryWeigher
    from weighbors.datasets import load_builtin

    data = load_builtin("iris")
    X, y = data.X.to_numpy(), data.y
    return lambda: EvolutionaryWeigher("IS+FS", population_size=10, max_evaluations=40, random_state=0).fit(X, y)


def report_journey() -> Callable[[], Any]:
    """A report on a table, as Markdown."""
    from weighbors.datasets import load_builtin
    from weighbors.report import build_report

    data = load_builtin("iris")
    return lambda: build_report(data.X[::3], data.y[::3]).to_markdown()


def study_journey() -> Callable[[], Any]:
    """A study of one data set and two methods."""
    from weighbors import ReliefF, WeightedKNeighborsClassifier
    from weighbors.datasets import load_builtin
    from weighbors.evaluation import Study

    data = load_builtin("iris")
    methods = {"plain": WeightedKNeighborsClassifier(3), "ReliefF": WeightedKNeighborsClassifier(3, ReliefF(5))}
    place = tempfile.mkdtemp()
    return lambda: Study({"iris": (data.X, data.y)}, methods, place, cv=3).run().table()


#: The journeys, and how many calls deep each is printed: to the kernel, to the operators, to the methods.
JOURNEYS = ((knn_journey, 9), (search_journey, 7), (report_journey, 4), (study_journey, 5))


def record(prepare: Callable[[], Callable[[], Any]], most_depth: int) -> list[str]:
    """Run a journey and return its lines."""
    trace = Trace(most_depth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = prepare()
        with native_calls(trace):
            sys.setprofile(trace)
            try:
                run()
            finally:
                sys.setprofile(None)
    return list(trace.lines())


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
    for journey, most_depth in JOURNEYS:
        print(f"\n{journey.__doc__}")
        print(*record(journey, most_depth), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
