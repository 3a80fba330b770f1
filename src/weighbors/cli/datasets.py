"""``weighbors datasets``: list the data sets, or describe one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._data import check_directory
from ._options import Json, Quiet
from ._say import note, print_json, say, set_quiet

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NAME", "run"]

NAME = "datasets"


def run(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Describe this one.")] = None,
    group: Annotated[str | None, typer.Option(help="Of data sets with the same name, the one in this group.")] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory of the data sets; WEIGHBORS_DATA by default.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List data sets, or describe one.

    The data sets of scikit-learn are always there. Others are found in a directory with a MANIFEST.csv.
    """
    set_quiet(quiet)
    check_directory(data)
    from ..datasets import describe_dataset, known_datasets

    if name is not None:
        description = describe_dataset(name, group, data_home=data)
        print_json(description) if json else _describe(description)
        return
    found = known_datasets(data)
    if json:
        print_json(found.astype(object).where(found.notna(), None).to_dict("records"))
    else:
        _list(found)
    if data is None and set(found["group"]) == {"built-in"}:
        note("only what comes with scikit-learn: name a directory of data sets with --data or WEIGHBORS_DATA")


def _list(found: pd.DataFrame) -> None:
    """Print one aligned line per data set."""
    columns = ["name", "group", "rows", "features", "classes"]
    shown = [columns, *found[columns].astype(str).to_numpy().tolist()]
    widths = [max(len(row[j]) for row in shown) for j in range(len(columns))]
    for row in shown:
        cells = [
            f"{cell:<{w}}" if j < 2 else f"{cell:>{w}}" for j, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        say("  ".join(cells).rstrip())


def _describe(description: dict[str, Any]) -> None:
    """Print the figures of one data set."""
    classes = ", ".join(f"{label} {count}" for label, count in list(description["classes"].items())[:12])
    more = f" and {len(description['classes']) - 12} more" if len(description["classes"]) > 12 else ""
    say(f"{description['name']} ({description['group']})")
    say(f"  rows      {description['rows']}")
    kinds = f"{description['numbers']} numbers, {description['categories']} categories"
    say(f"  columns   {description['columns']}: {kinds}")
    say(f"  classes   {len(description['classes'])}: {classes}{more}")
    say(f"  missing   {description['missing']} cells in {description['columns_with_missing']} columns")
    for key in ("source", "licence", "note"):
        if description[key]:
            say(f"  {key:<9} {description[key]}")
