"""Packages import only those before them in the flow of data; public names are complete; the import stays light."""

import ast
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import weighbors

SOURCE = Path(weighbors.__file__).parent
if not (SOURCE / "models").is_dir():  # an editable install keeps the sources elsewhere
    SOURCE = Path(__file__).parents[2] / "src" / "weighbors"

HELPERS = [
    "exceptions",
    "_typing",
    "_checks",
    "_display",
    "_io",
    "_names",
    "_native",
    "_parallel",
    "_random",
    "_warnings",
]
#: Each may import only what stands before it, and the helpers.
ORDER = ["tables", "weights", "metrics", "datasets", "engine", "neighbors", "votes", "blocks", "explanation",
         "weighers", "models", "evaluation", "stats", "presets", "plots", "report", "distributed",
         "cli", "__main__"]  # fmt: skip


def imports_of(path):
    """Top-level packages and modules of weighbors that a file imports."""
    place = path.relative_to(SOURCE).parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.ImportFrom):
            base = list(place[: len(place) - node.level]) if node.level else None
            if base is None:
                names = (node.module or "").split(".")
                if names[0] != "weighbors":
                    continue
                target = names[1:] or [alias.name for alias in node.names][:1]
            else:
                target = base + ((node.module or "").split(".") if node.module else [])
                if not target:
                    yield from (alias.name for alias in node.names)
                    continue
            yield target[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("weighbors."))


FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert package in [*ORDER, *HELPERS], f"{package} has no place in the order of packages"
    allowed = {package, *HELPERS} | (set(ORDER[: ORDER.index(package)]) if package in ORDER else set())
    used = set(imports_of(path))
    assert used <= allowed, f"{path.name} imports {used - allowed}"


def test_the_import_check_sees_imports():
    assert {"weights", "exceptions"} <= set(imports_of(SOURCE / "engine" / "references.py"))


def load_house():
    """The checker that ``make lint`` runs."""
    path = Path(__file__).parents[2] / "tools" / "house.py"
    spec = importlib.util.spec_from_file_location("house", path)
    house = importlib.util.module_from_spec(spec)
    sys.modules["house"] = house  # dataclasses look their module up
    spec.loader.exec_module(house)
    return house


def test_no_cycles_and_no_private_modules_of_other_packages():
    assert load_house().find_problems(SOURCE) == []


def write_sources(place, **files):
    """Modules by their names, double underscores for slashes."""
    for name, text in files.items():
        path = place / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(text)
    return place


def test_the_checker_finds_cycles(tmp_path):
    sources = write_sources(tmp_path, a__x="from ..b.y import f", b__y="from .z import g", b__z="import weighbors.a.x")
    (problem,) = load_house().find_problems(sources)
    assert "weighbors.a.x, weighbors.b.y, weighbors.b.z" in problem


def test_the_checker_allows_imports_that_wait(tmp_path):
    checking = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .y import g"
    sources = write_sources(tmp_path, a__x="from .y import f", a__y="def g():\n    from .x import h", a__z=checking)
    assert load_house().find_problems(sources) == []


def test_the_checker_finds_private_modules_of_other_packages(tmp_path):
    sources = write_sources(
        tmp_path,
        _names="",
        a___own="from .._names import hint",
        a__x="from ._own import f",
        a__sub__y="from .._own import f",
        b__z="def f():\n    from ..a._own import f",
        c__w="from ..a import _own",
    )
    first, second = load_house().find_problems(sources)
    assert first.startswith("weighbors.b.z, line 2: imports weighbors.a._own")
    assert second.startswith("weighbors.c.w, line 1: imports weighbors.a._own")


def test_public_names():
    assert weighbors.__all__ == sorted(weighbors.__all__)
    for name in weighbors.__all__:
        assert getattr(weighbors, name).__doc__
    assert set(weighbors.__all__) <= set(dir(weighbors))
    packages = [name for name in dir(weighbors) if name[0].islower()]
    assert len(packages) > 15
    for package in packages:
        module = getattr(weighbors, package)
        assert module is importlib.import_module(f"weighbors.{package}")
        assert module.__all__ == sorted(module.__all__)
    with pytest.raises(AttributeError, match="No weighbors attribute Weighs"):
        _ = weighbors.Weighs


def test_the_bare_import_loads_no_heavy_package():
    code = "import sys, weighbors; print([m for m in ('numpy', 'scipy', 'sklearn', 'pandas') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_the_error_tree_is_the_one_drawn():
    from weighbors import exceptions

    for name in exceptions.__all__:
        kind = getattr(exceptions, name)
        assert name in exceptions.__doc__
        assert issubclass(kind, (exceptions.WeighborsError, exceptions.WeighborsWarning))


def test_stats_know_nothing_of_evaluation():
    for path in (SOURCE / "stats").glob("*.py"):
        assert "evaluation" not in set(imports_of(path)), path
