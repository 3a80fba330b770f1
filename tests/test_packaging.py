"""The files around the package agree with pyproject.toml."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
CONFIGURATION = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text("utf-8"))
CONDA_NAMES = {"matplotlib": "matplotlib-base", "dask[array,dataframe]": "dask"}


def _load_tool():
    specification = importlib.util.spec_from_file_location("requirements_tool", ROOT / "tools" / "requirements.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def _as_conda(requirement):
    name, version = requirement.split(">=")
    return f"{CONDA_NAMES.get(name, name)} >={version}"


@pytest.fixture(scope="module")
def recipe():
    return yaml.safe_load(ROOT.joinpath("tools", "conda-forge", "recipe.yaml").read_text("utf-8"))


def test_recipe_has_the_version_and_the_requirements_of_the_package(recipe):
    project = CONFIGURATION["project"]
    assert recipe["context"]["version"] == project["version"]
    assert recipe["requirements"]["run"] == ["python", *map(_as_conda, project["dependencies"])]
    build = [_as_conda(each) for each in CONFIGURATION["build-system"]["requires"]]
    assert recipe["requirements"]["host"] == ["python", "pip", *build]


def test_recipe_bounds_the_packages_of_the_extras(recipe):
    extras = CONFIGURATION["project"]["optional-dependencies"].values()
    assert set(recipe["requirements"]["run_constraints"]) == {_as_conda(each) for extra in extras for each in extra}


def test_citation_has_the_version_of_the_package():
    citation = yaml.safe_load(ROOT.joinpath("CITATION.cff").read_text("utf-8"))
    assert str(citation["version"]) == CONFIGURATION["project"]["version"]


def test_python_versions_agree():
    lowest = re.fullmatch(r">=(3\.\d+)", CONFIGURATION["project"]["requires-python"])[1]
    named = [each for each in CONFIGURATION["project"]["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert named[0].endswith(lowest)
    assert CONFIGURATION["tool"]["mypy"]["python_version"] == lowest
    wheels = [each.removesuffix("-*") for each in CONFIGURATION["tool"]["cibuildwheel"]["build"]]
    regular = [each for each in wheels if not each.endswith("t")]
    assert regular == ["cp" + each.rsplit(" ", 1)[1].replace(".", "") for each in named]


def test_groups_bring_what_the_groups_they_include_bring():
    tool, groups = _load_tool(), {"a": ["x", {"include-group": "b"}], "b": ["y>=1", {"include-group": "c"}], "c": ["z"]}
    assert tool.group_requirements(groups, "a") == ["x", "y>=1", "z"]
    groups["c"] = [{"include-group": "a"}]
    with pytest.raises(SystemExit, match="a -> b -> c -> a include each other"):
        tool.group_requirements(groups, "a")


def test_requirements_of_an_extra_and_of_a_group():
    tool = _load_tool()
    small = {
        "project": {"dependencies": ["numpy>=2", "joblib>=1"], "optional-dependencies": {"plots": ["matplotlib>=3"]}},
        "dependency-groups": {"test": ["pytest>=8", "joblib>=1"]},
    }
    assert tool.requirements(small, "plots") == ["numpy>=2", "joblib>=1", "matplotlib>=3"]
    assert tool.requirements(small, "test") == ["numpy>=2", "joblib>=1", "pytest>=8"]
    with pytest.raises(SystemExit, match="'tests' is no extra or dependency group; there are plots, test"):
        tool.requirements(small, "tests")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [("numpy>=2.2", "numpy==2.2"), ("dask[array]>=2024.8", "dask[array]==2024.8"), ("a>=1,<2", "a>=1,<2"), ("b", "b")],
)
def test_floors_replace_lower_bounds(given, wanted):
    assert _load_tool().floor(given) == wanted
