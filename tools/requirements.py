"""Print what weighbors needs together with an extra or a dependency group, one requirement a line.

Usage: requirements.py NAME [--floors], where NAME is a key of ``[project.optional-dependencies]`` or
``[dependency-groups]`` in pyproject.toml. With ``--floors`` every lower bound becomes the version itself, for tests
with the oldest versions. Only the standard library is used: this runs before anything is installed, with any pip.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any


def group_requirements(groups: dict[str, list[Any]], name: str, path: tuple[str, ...] = ()) -> list[str]:
    """Return the requirements of a dependency group, and of the groups that it includes (PEP 735)."""
    if name in path:
        raise SystemExit(f"the dependency groups {' -> '.join((*path, name))} include each other")
    found: list[str] = []
    for entry in groups[name]:
        found += (
            [entry] if isinstance(entry, str) else group_requirements(groups, entry["include-group"], (*path, name))
        )
    return found


def requirements(configuration: dict[str, Any], name: str) -> list[str]:
    """Return what weighbors needs itself, followed by what the extra or dependency group ``name`` adds."""
    extras = configuration["project"]["optional-dependencies"]
    groups = configuration["dependency-groups"]
    if name not in extras and name not in groups:
        raise SystemExit(f"'{name}' is no extra or dependency group; there are {', '.join([*extras, *groups])}")
    added = extras[name] if name in extras else group_requirements(groups, name)
    return list(dict.fromkeys([*configuration["project"]["dependencies"], *added]))


def floor(requirement: str) -> str:
    """Return a requirement of the form ``name>=version`` as ``name==version``, and any other one unchanged."""
    return re.sub(r"^([\w.\-\[\],]+)>=([\w.]+)$", r"\1==\2", requirement)


if __name__ == "__main__":
    names = [argument for argument in sys.argv[1:] if argument != "--floors"]
    if len(names) != 1:
        raise SystemExit("usage: requirements.py NAME [--floors], with the name of an extra or a dependency group")
    text = Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8")
    found = requirements(tomllib.loads(text), names[0])
    print(*(map(floor, found) if "--floors" in sys.argv else found), sep="\n")
