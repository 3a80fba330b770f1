"""``weighbors study``: run or resume the experiment of a paper, and compare its tables with the published ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from ._data import check_directory
from ._errors import FAILED_CELLS, UsageError
from ._options import OutputOptions, check_jobs
from ._say import note, on_terminal, print_json, say

if TYPE_CHECKING:
    from ..presets import PresetResult

NAME = "study"


def run(
    common: OutputOptions,
    name: Literal["simbambiw", "class-relief", "wibk", "ifsw"] = typer.Argument(
        ..., metavar="NAME", help="Experiment: simbambiw, class-relief, wibk or ifsw."
    ),
    output: Path = typer.Option(
        ..., "--output", "-o", metavar="DIR", help="Directory of the results. It is created if it does not exist."
    ),
    data: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="Directory of the data sets. The default is the environment variable WEIGHBORS_DATA. Without a "
        "directory, the experiments run with --quick on tables that come with scikit-learn.",
    ),
    quick: bool = typer.Option(
        False, "--quick", help="Run a small version of the same protocol, in under two minutes."
    ),
    retry_failed: bool = typer.Option(False, "--retry-failed", help="Compute failed cells again."),
    jobs: int | None = typer.Option(
        None, callback=check_jobs, metavar="N", help="Number of processes; -1 for all cores."
    ),
) -> int:
    """Run the experiment of a paper, or continue it.

    The same command continues an experiment that was stopped. A cell is one method on one fold of one data set. If
    cells fail, the exit code is 4, and the tables leave out the data sets of these cells.
    """
    check_directory(data)
    without = data is None and not os.environ.get("WEIGHBORS_DATA")
    if without and not quick:
        raise UsageError(
            "name the directory of the data sets with --data, or set WEIGHBORS_DATA to it; the small version (--quick) "
            "runs without one, on tables that come with scikit-learn"
        )
    if output.exists() and not output.is_dir():
        raise UsageError(f"'{output}' is a file; name a directory for the results")
    from ..presets import run_preset

    if without:
        note("no directory of data sets is named, so that tables of scikit-learn take the place of the paper's")
    output.mkdir(parents=True, exist_ok=True)
    try:
        result = run_preset(
            name,
            output=output,
            quick=quick,
            data_home=data,
            n_jobs=jobs,
            progress=on_terminal(),
            retry_failed=retry_failed,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted; the finished cells are saved in '{output}', and the same command continues"
        ) from None
    if common.json:
        print_json(_describe_result(result))
    else:
        say(str(result))
    note(f"written to '{result.paths['made'].parent}'")
    return FAILED_CELLS if len(result.failures) else 0


def _describe_result(result: PresetResult) -> dict[str, Any]:
    """Describe the result of a preset for JSON output."""
    return {
        "made": result.made,
        "text": result.text,
        "failed": len(result.failures),
        "left_out": result.left_out,
        "tables": {key: table.to_dict("records") for key, table in result.tables.items()},
        "paths": {key: str(path) for key, path in result.paths.items()},
    }
