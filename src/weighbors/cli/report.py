"""``weighbors report``: which features matter, for which class, how stable that is, and how much accuracy they add."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._data import check_output, is_numeric, read_data, split_groups, split_labels
from ._errors import UsageError
from ._options import Data, Drop, Force, Groups, Header, Jobs, Json, Keep, Quiet, Seed, Target, TargetKind, TargetType
from ._progress_bar import progress_bar
from ._say import note, notes, say, set_quiet, write_raw

if TYPE_CHECKING:
    from ..report import Report

NAME = "report"
FORMATS = (".html", ".md", ".json")


def run(
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Report to write: .html, .md or .json.")
    ] = Path("report.html"),
    target: Target = None,
    target_type: TargetType = TargetKind.AUTO,
    groups: Groups = None,
    neighbors: Annotated[int, typer.Option("--neighbors", "-k", min=1, help="Number of neighbours that vote.")] = 5,
    keep: Keep = None,
    drop: Drop = None,
    header: Header = True,
    seed: Seed = 0,
    jobs: Jobs = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a report on the features of a table.

    The report shows which features are important for which class, how stable this result is, which rows are unusual,
    and how much accuracy the feature weights add to a k-NN. If the target is a number, it shows how well neighbours
    predict it. A summary is printed in the terminal. The report is one file, which can be read without a network.
    """
    set_quiet(quiet)
    check_report(output, force, data)
    X, y = split_labels(read_data(data, header), target, target_type.value)
    X, together = split_groups(X, groups)
    from ..report import build_report

    with progress_bar() as bar:
        made = build_report(
            X,
            y.to_numpy(),
            target=str(y.name),
            title=data.name,
            groups=together,
            keep=keep or (),
            drop=drop or (),
            n_neighbors=neighbors,
            target_type="numeric" if is_numeric(y) else "classes",
            random_state=seed,
            n_jobs=jobs,
            progress=bar,
        )
    notes(made.data["notes"])
    publish(made, output, json)


def check_report(output: Path, force: bool, *inputs: Path) -> None:
    """Refuse, before any work is done, a report file or a format that cannot be written."""
    if output.suffix.lower() not in FORMATS:
        raise UsageError(f"'{output}' should end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    check_output(output, force=force, inputs=inputs)
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
