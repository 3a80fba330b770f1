"""Packages import only those before them in the flow of data; public names are complete; the import stays light."""

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
ORDER = ["tables", "weights", "metrics", "datasets", "engine", "neighbors", "blocks", "votes", "explanation",
         "weighers", "models", "evaluation", "stats", "presets", "plots", "report",
         "cli", "__main__"]  # fmt: skip


def load_house():
    """The checker that ``make lint`` runs."""
    path = Path(__file__).parents[2] / "tools" / "house.py"
    spec = importlib.util.spec_from_file_location("house", path)
    house = importlib.util.module_from_spec(spec)
    sys.modules["house"] = house  # dataclasses look their module up
    spec.loader.exec_module(house)
    return house


HOUSE = load_house()
MODULES = HOUSE.find_modules(SOURCE)


def imports_of(path):
    """Top-level packages and modules of weighbors that a file imports."""
    found = HOUSE.find_imports(HOUSE.module_name(path, SOURCE), path, MODULES)
    return {one.target[0] if one.target else "__init__" for one in found} - {"__init__"}


FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert package in [*ORDER, *HELPERS], f"{package} has no place in the order of packages"
    allowed = {package, *HELPERS} | (set(ORDER[: ORDER.index(package)]) if package in ORDER else set())
    used = imports_of(path)
    assert used <= allowed, f"{path.name} imports {used - allowed}"


def test_the_import_check_sees_imports():
    assert {"weights", "exceptions"} <= (imports_of(SOURCE / "engine" / "references.py"))


def test_no_cycles_and_no_private_modules_of_other_packages():
    assert HOUSE.find_problems(SOURCE) == []


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
        names = getattr(module, "__all__", [])  # inner packages publish nothing
        assert names == sorted(names)
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
