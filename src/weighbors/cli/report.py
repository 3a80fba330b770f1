"""``weighbors report``: which features matter, for which class, how stable that is, and what it buys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._errors import UsageError
from ._options import Data, Drop, Force, Header, Jobs, Json, Keep, Quiet, Seed, Target
from ._say import note, notes, on_terminal, quietly, say
from ._tables import check_output, labelled, opened, write_text

if TYPE_CHECKING:
    from ..report import Report

__all__ = ["NAME", "run"]

NAME = "report"
FORMATS = (".html", ".md", ".json")


def run(
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Report to write: .html, .md or .json.")
    ] = Path("report.html"),
    target: Target = None,
    keep: Keep = None,
    drop: Drop = None,
    header: Header = True,
    seed: Seed = 0,
    jobs: Jobs = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Tell which features of a table matter.

    And for which class, how stable that is, which rows are odd, and what it buys a k-NN.

    A summary in the terminal and one file to show to a colleague, which needs no network.
    """
    quietly(quiet)
    check_report(output, force, data)
    X, y = labelled(opened(data, header), target)
    from ..datasets import clean_table
    from ..report import build_report

    clean = clean_table(X, keep=keep or (), drop=drop or ())
    said = [*map(str, clean.left_out), *clean.notes]
    notes(said)
    made = build_report(
        clean.X,
        y.to_numpy(),
        target=str(y.name),
        title=data.name,
        rows=[str(row) for row in X.index],
        notes=said,
        random_state=seed,
        n_jobs=jobs,
        progress=on_terminal(),
    )
    publish(made, output, json)


def check_report(output: Path, force: bool, *inputs: Path) -> None:
    """Refuse a place or a format that cannot be written."""
    if output.suffix.lower() not in FORMATS:
        raise UsageError(f"'{output}' should end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    check_output(output, force=force, inputs=inputs)


def publish(made: Report, output: Path, json: bool) -> None:
    """Write the report in the format its name tells, and print its summary."""
    write = {".html": made.to_html, ".md": made.to_markdown, ".json": made.to_json}[output.suffix.lower()]
    write_text(write(), output)
    say(made.to_json() if json else made.summary())
    note(f"the whole report is in '{output}'")
