"""Arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Data",
    "Drop",
    "Force",
    "Groups",
    "Header",
    "Jobs",
    "Json",
    "Keep",
    "Quiet",
    "Seed",
    "Target",
    "TargetKind",
    "TargetType",
]


class TargetKind(StrEnum):
    """What the target is: names of classes, or a number to predict."""

    AUTO = "auto"
    CLASSES = "classes"
    NUMERIC = "numeric"


def check_jobs(value: int | None) -> int | None:
    """Return the number of threads. Raise an error if it is 0."""
    if value == 0:
        raise typer.BadParameter("0 threads do nothing; give 1 or more, or -1 for all cores")
    return value


Data = Annotated[Path, typer.Argument(metavar="TABLE", help="csv, tsv, parquet, arff, KEEL .dat, or npz with X and y.")]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="NAME", help="Column to predict; arff, KEEL and npz name their own."),
]
TargetType = Annotated[
    TargetKind,
    typer.Option(
        "--target-type", help="Whether the target is classes or a number; auto looks at its values and says so."
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column that says which rows belong together, as samples of one patient do."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Use this column although it looks like an identifier. May be repeated."),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Do not use this column. May be repeated.")]
Header = Annotated[
    bool, typer.Option("--header/--no-header", help="Whether the first line of a csv names the columns.")
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite what is there.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no bars; errors are always shown.")]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same result.")]
Jobs = Annotated[
    int | None,
    typer.Option(callback=check_jobs, metavar="N", help="Threads; -1 for all. Results do not depend on it."),
]
