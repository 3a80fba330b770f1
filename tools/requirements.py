"""Print what weighbors[EXTRA] needs, one requirement a line. Usage: requirements.py EXTRA."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8"))["project"]
print(*project["dependencies"], *project["optional-dependencies"][sys.argv[1]], sep="\n")
