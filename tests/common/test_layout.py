"""The tree reads as a sentence, and imports point one way."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import weighbors

SOURCE = Path(weighbors.__file__).parent
if not (SOURCE / "classifiers").is_dir():  # an editable install keeps the sources elsewhere
    SOURCE = Path(__file__).parents[2] / "src" / "weighbors"

HELPERS = [
    "exceptions",
    "_typing",
    "_archive",
    "_checks",
    "_cluster",
    "_fanout",
    "_files",
    "_intervals",
    "_names",
    "_results",
    "_weights_file",
    "_threads",
    "_warnings",
    "_native",
    "_random",
    "_validation",
]
#: Each may import only what stands before it, and the helpers.
ORDER = ["weights", "metrics", "datasets", "engine", "weighers", "classifiers", "evaluation", "stats", "presets",
         "plots", "report", "distributed", "cli", "__main__"]  # fmt: skip


def imports_of(path):
    """Top-level rooms of weighbors that a file imports."""
    room = path.relative_to(SOURCE).parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.ImportFrom):
            base = list(room[: len(room) - node.level]) if node.level else None
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
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert room in [*ORDER, *HELPERS], f"{room} has no place in the order of rooms"
    allowed = {room, *HELPERS} | (set(ORDER[: ORDER.index(room)]) if room in ORDER else set())
    used = set(imports_of(path))
    assert used <= allowed, f"{path.name} imports {used - allowed}"


def test_the_import_check_sees_imports():
    assert {"weights", "exceptions"} <= set(imports_of(SOURCE / "engine" / "references.py"))


def test_public_names():
    assert weighbors.__all__ == sorted(weighbors.__all__)
    for name in weighbors.__all__:
        assert getattr(weighbors, name).__doc__
    assert set(weighbors.__all__) <= set(dir(weighbors))
    for package in weighbors._PACKAGES:
        module = getattr(weighbors, package)
        assert module is importlib.import_module(f"weighbors.{package}")
        assert module.__all__ == sorted(module.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Weighs'"):
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
