"""``weighbors demo``: write a report on built-in data, in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._options import Force, Jobs, Json, Quiet
from ._progress_bar import progress_bar
from ._say import set_quiet
from .report import check_report, publish

__all__ = ["NAME", "run"]

NAME = "demo"


def run(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Report to write: .html, .md or .json.")
    ] = Path("report.html"),
    jobs: Jobs = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a report on built-in data, in seconds.

    The data are 569 patients with a malignant or a benign breast tumour. They are part of scikit-learn.
    """
    set_quiet(quiet)
    check_report(output, force)
    from ..datasets import load_builtin
    from ..report import build_report

    data = load_builtin("breast-cancer")
    with progress_bar() as bar:
        made = build_report(
            data.X, data.y, target="diagnosis", title="Breast cancer in Wisconsin", n_jobs=jobs, progress=bar
        )
    publish(made, output, json)
