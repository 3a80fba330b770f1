"""Arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

_MOST_JOBS = 1024  # operating systems refuse some tens of thousands of threads, at moments when nothing can be mended


class TargetKind(StrEnum):
    """Type of the target: classes, or a number to predict."""

    AUTO = "auto"
    CLASSES = "classes"
    NUMERIC = "numeric"


def check_jobs(value: int | None) -> int | None:
    """Return the number of threads. Raise an error if it is 0, or more than any computer can start."""
    if value == 0:
        raise typer.BadParameter("must be 1 or more, or -1 for all cores; got 0")
    if value is not None and value > _MOST_JOBS:
        raise typer.BadParameter(f"must be at most {_MOST_JOBS}; got {value}")
    return value


Data = Annotated[
    Path,
    typer.Argument(metavar="TABLE", help="Table to read: csv, tsv, parquet, arff, KEEL .dat, or npz with X and y."),
]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="NAME", help="Column to predict. Not needed for arff, KEEL and npz files."),
]
TargetType = Annotated[
    TargetKind,
    typer.Option(
        "--target-type",
        help="Type of the target: classes or numbers. auto decides by its values and prints the decision.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Column of groups: rows of one group belong together, for example samples of one patient."
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Use this column, even if it looks like an identifier. May be repeated."),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Do not use this column. May be repeated.")]
Header = Annotated[
    bool, typer.Option("--header/--no-header", help="Whether the first line of a csv file has the column names.")
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite existing files.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no notes and no progress bars. Errors are always shown.")
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Seed of random numbers. The same seed gives the same result.")
]
Jobs = Annotated[
    int | None,
    typer.Option(
        callback=check_jobs, metavar="N", help="Number of threads; -1 for all cores. Results do not depend on it."
    ),
]
