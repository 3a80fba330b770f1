"""Every public name has a page in the API."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import weighbors

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def entries(text):
    """Full names that an API page documents: entries of its autosummaries, and auto directives."""
    module, listing = "", False
    for line in text.splitlines():
        if found := re.match(r"\.\. (?:automodule|currentmodule):: (\S+)", line):
            module = found[1] + "."
        elif found := re.match(r"\.\. auto(?:class|function|exception|data):: (\S+)", line):
            yield found[1]
        elif line.startswith(".. autosummary::"):
            listing = True
        elif listing and (found := re.match(r"   (\w\S*)$", line)):
            yield module + found[1]
        elif line.strip() and not line.startswith(" "):
            listing = False


def resolve(name):
    """The object called ``name``."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


DOCUMENTED = {name: path.name for path in (DOCS / "api").glob("*.rst") for name in entries(path.read_text("utf8"))}


#: The sub-packages that are imported with a name of their own.
PACKAGES = [name for name in dir(weighbors) if name[0].islower()]


@pytest.mark.parametrize("package", ["weighbors", *(f"weighbors.{name}" for name in PACKAGES)])
def test_every_public_name_has_a_page(package):
    objects = [resolve(name) for name in DOCUMENTED]
    module = importlib.import_module(package)
    lacking = [
        name for name in getattr(module, "__all__", []) if not any(getattr(module, name) is known for known in objects)
    ]
    assert not lacking, f"no page of docs/api has {', '.join(lacking)} of {package}"


@pytest.mark.parametrize("name", DOCUMENTED)
def test_what_has_a_page_is_described(name):
    assert resolve(name).__doc__


def dead_links(page, text):
    """Relative links of a Markdown page that lead to no file."""
    targets = (link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link)
    return [target for target in targets if target and not (page.parent / target).exists()]


PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), *DOCS.glob("[!_]*/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_to_files(page):
    assert not dead_links(page, page.read_text("utf8"))


def test_every_package_of_names_is_checked():
    packages = {path.parent.name for path in (ROOT / "src" / "weighbors").glob("[a-z]*/__init__.py")}
    inner = {"blocks", "cli", "votes"}  # no names for users: the estimators and the command line are their way in
    assert packages - inner <= set(PACKAGES)


def documented_parameters(doc):
    """Name and description of the type of every parameter that a docstring lists."""
    found = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n[A-Z]\w+\n-+\n|\Z)", doc, re.DOTALL | re.MULTILINE)
    for line in found[1].splitlines() if found else ():
        if listed := re.match(r"([\w*][\w*, ]*?)(?: : (.*))?$", line):
            for name in listed[1].split(", "):
                yield name.lstrip("*"), listed[2] or ""


CALLED = [name for name in DOCUMENTED if inspect.isclass(resolve(name)) or inspect.isfunction(resolve(name))]


@pytest.mark.parametrize("name", [name for name in CALLED if not name.startswith("weighbors.exceptions.")])
def test_parameters_and_defaults_are_those_of_the_signature(name):
    known = inspect.signature(resolve(name)).parameters
    for parameter, told in documented_parameters(inspect.getdoc(resolve(name))):
        assert parameter in known
        default = re.search(r"default=([^,]+)$", told)
        if default:
            assert eval(default[1], {}) == known[parameter].default, parameter
