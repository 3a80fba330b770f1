"""``weighbors report``: which features matter, for which class, how stable that is, and how much accuracy they add."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ._data import check_output, read_training
from ._options import GROUPS, LearningOptions, TableOptions
from ._say import note, notes, progress_bar, say, write_raw

if TYPE_CHECKING:
    from ..report import Report

NAME = "report"


def run(
    table: TableOptions,
    common: LearningOptions,
    output: Path = typer.Option(
        Path("report.html"), "--output", "-o", metavar="FILE", help="Report to write: .html, .md or .json."
    ),
    groups: str | None = GROUPS,
    neighbors: int = typer.Option(5, "--neighbors", "-k", min=1, help="Number of neighbours that vote."),
) -> None:
    """Write a report on the features of a table.

    The report shows which features are important for which class, how stable this result is, which rows are unusual,
    and how much accuracy the feature weights add to a k-NN. If the target is a number, it shows how well neighbours
    predict it. A summary is printed in the terminal. The report is one file, which can be read without a network.
    """
    check_report(output, common.force, table.data)
    read = read_training(table, groups)
    from ..report import build_report

    with progress_bar() as bar:
        made = build_report(
            read.X,
            read.y.to_numpy(),
            target=str(read.y.name),
            title=table.data.name,
            groups=read.groups,
            keep=table.keep or (),
            drop=table.drop or (),
            n_neighbors=neighbors,
            target_type=read.target_type,
            random_state=common.seed,
            n_jobs=common.jobs,
            progress=bar,
        )
    notes(made.data["notes"])
    publish(made, output, common.json)


def check_report(output: Path, force: bool, *inputs: Path) -> None:
    """Refuse, before any work is done, a report file or a format that cannot be written."""
    check_output(output, force=force, inputs=inputs, formats=".html .md .json")
    lacking = [name for name in ("matplotlib", "jinja2") if find_spec(name) is None]
    if lacking and output.suffix.lower() == ".html":
        from ..exceptions import MissingDependencyError

        raise MissingDependencyError(
            f"a report in HTML needs {' and '.join(lacking)}: pip install 'weighbors[report]', or name a .md file"
        )


def publish(made: Report, output: Path, json: bool) -> None:
    """Write the report in the format of its file name, and print its summary."""
    made.save(output)
    if json:
        write_raw(f"{made.to_json(indent=1)}\n")
    else:
        say(made.summary())
    note(f"the whole report is in '{output}'")
