"""Arguments and options that several commands share.

A command takes a group of options as one parameter: a dataclass, whose fields are the options. `unfold_options` makes
the command line of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

_MOST_JOBS = 1024  # operating systems refuse some tens of thousands of threads, at moments when nothing can be mended


def check_jobs(value: int | None) -> int | None:
    """Return the number of threads. Raise an error if it is 0, or more than any computer can start."""
    if value == 0:
        raise typer.BadParameter("must be 1 or more, or -1 for all cores; got 0")
    if value is not None and value > _MOST_JOBS:
        raise typer.BadParameter(f"must be at most {_MOST_JOBS}; got {value}")
    return value


Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file that weighbors fit or TableClassifier.save wrote.")
]
GROUPS = typer.Option(
    None,
    metavar="NAME",
    help="Column of groups: rows of one group belong together, for example samples of one patient.",
)
JOBS = typer.Option(
    None, callback=check_jobs, metavar="N", help="Number of threads; -1 for all cores. Results do not depend on it."
)


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """A table in a file, and how it is read. What is said here wins over what is found out."""

    data: Path = typer.Argument(
        ..., metavar="TABLE", help="Table to read: csv, tsv, xlsx, xls, ods, parquet, feather, arff, KEEL .dat, or npz."
    )
    sep: str | None = typer.Option(None, metavar="TEXT", help="What separates the cells of a text file; tab for tabs.")
    decimal: Literal[".", ","] | None = typer.Option(None, help="Decimal sign of the numbers.")
    encoding: str | None = typer.Option(None, metavar="NAME", help="Encoding of a text file, for example cp1252.")
    header: bool | None = typer.Option(
        None, "--header/--no-header", help="Whether the first line of the table has the column names."
    )
    skip: int | None = typer.Option(None, min=0, metavar="N", help="Number of lines above the table.")
    sheet: str | None = typer.Option(None, metavar="NAME", help="Name or number of the sheet. The first is number 1.")
    drop: list[str] | None = typer.Option(None, metavar="NAME", help="Do not use this column. May be repeated.")


@dataclass(frozen=True, kw_only=True)
class TableOptions(FileOptions):
    """A table to learn from: its target and its features."""

    target: str | None = typer.Option(
        None, "--target", "-t", metavar="NAME", help="Column to predict. Not needed for arff, KEEL and npz files."
    )
    target_type: Literal["auto", "classes", "numeric"] = typer.Option(
        "auto", help="Type of the target: classes or numbers. auto decides by its values and prints the decision."
    )
    keep: list[str] | None = typer.Option(
        None, metavar="NAME", help="Use this column, even if it looks like an identifier. May be repeated."
    )


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What a command prints."""

    json: bool = typer.Option(False, "--json", help="Print the result as JSON.")
    quiet: bool = typer.Option(
        False, "--quiet", "-q", help="Show no notes and no progress bars. Errors are always shown."
    )


@dataclass(frozen=True, kw_only=True)
class WritingOptions(OutputOptions):
    """What a command prints and writes."""

    force: bool = typer.Option(False, "--force", "-f", help="Overwrite existing files.")


@dataclass(frozen=True, kw_only=True)
class LearningOptions(WritingOptions):
    """What a command that learns prints, writes and computes with."""

    seed: int = typer.Option(
        0, min=0, max=2**32 - 1, help="Seed of random numbers. The same seed gives the same result."
    )
    jobs: int | None = JOBS


def unfold_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that takes the fields of dataclasses in place of the parameters that are dataclasses.

    Typer makes one argument or option of each parameter, so that a group of options needs this.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[Parameter] = []
    for name, one in signature(command).parameters.items():
        own = one.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name])
        parameters += _list_fields(groups[name]) if name in groups else [own]

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        made = {}
        for name, kind in groups.items():
            made[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        return command(**made, **given)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


def _list_fields(kind: Any) -> list[Parameter]:
    """Return the fields of a dataclass as parameters of a function."""
    hints = get_type_hints(kind, include_extras=True)
    defaults = {field.name: Parameter.empty if field.default is MISSING else field.default for field in fields(kind)}
    return [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[name])
        for name, default in defaults.items()
    ]
