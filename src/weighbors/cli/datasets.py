"""``weighbors datasets``: list the data sets, describe one, or fetch those that are public."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ._data import check_directory
from ._errors import TROUBLE, UsageError
from ._options import OutputOptions
from ._say import error, note, print_json, progress_bar, say, say_columns

if TYPE_CHECKING:
    import pandas as pd

NAME = "datasets"


def run(
    common: OutputOptions,
    words: list[str] | None = typer.Argument(
        None, metavar="[NAME | fetch NAME|GROUP|all]", help="Data set to describe, or to download into a directory."
    ),
    group: str | None = typer.Option(None, help="Group of the data set, if several have the same name."),
    data: Path | None = typer.Option(
        None, metavar="DIR", help="Directory of the data sets. The default is the environment variable WEIGHBORS_DATA."
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="DIR", help="Directory into which fetch writes the data sets."
    ),
) -> int | None:
    """List data sets, describe one, or download public ones.

    The data sets of scikit-learn are always available. Others are read from a directory with a MANIFEST.csv. "fetch"
    downloads public tables of the papers into such a directory. If it is interrupted, the same command continues.
    """
    words = words or []
    if words[:1] == ["fetch"]:
        return _fetch(words[1:], output, common.json)
    if output is not None:
        raise UsageError("--output belongs to 'weighbors datasets fetch NAME|GROUP -o DIR'")
    if len(words) > 1:
        raise UsageError(f"one data set can be described at a time, and {len(words)} were named: {', '.join(words)}")
    name = words[0] if words else None
    check_directory(data)
    from ..datasets import describe_dataset, known_datasets

    if name is not None:
        description = describe_dataset(name, group, data_home=data)
        print_json(description) if common.json else _describe(description)
        return None
    found = known_datasets(data)
    if common.json:
        print_json(found.astype(object).where(found.notna(), None).to_dict("records"))
    else:
        _list(found)
    if data is None and set(found["group"]) == {"built-in"}:
        note(
            "these are the data sets of scikit-learn only: name a directory with --data or WEIGHBORS_DATA, or get "
            "public ones with 'weighbors datasets fetch'"
        )
    return None


def _fetch(wanted: list[str], output: Path | None, json: bool) -> int:
    """Fetch data sets, and print one line for each. The exit code is 1 if some could not be fetched."""
    from ..datasets import fetch_datasets, fetchable_datasets

    if not wanted:
        _list(fetchable_datasets())
        note("these can be fetched: weighbors datasets fetch NAME|GROUP|all -o DIR")
        return 0
    if output is None:
        raise UsageError("name the output directory: weighbors datasets fetch NAME|GROUP -o DIR")
    with progress_bar() as bar:
        results = [each for name in wanted for each in fetch_datasets(name, output, progress=bar)]
    if json:
        print_json([{**vars(each), "file": str(each.file)} for each in results])
    failed = [each for each in results if each.problem]
    for each in [] if json else results:
        if not each.problem:
            say(f"{each.group}/{each.name}  {'existed already' if each.was_there else 'fetched'}: {each.file}")
    for each in failed:
        error(f"{each.group}/{each.name}: {each.problem}")
    if len(results) > len(failed):
        note(f"set WEIGHBORS_DATA={output} to use them by name")
    return TROUBLE if failed else 0


def _list(found: pd.DataFrame) -> None:
    """Print one aligned line per data set."""
    columns = ["name", "group", "rows", "features", "classes"]
    say_columns([columns, *found[columns].astype(str).to_numpy().tolist()], left=2)


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
