"""``weighbors reduce``: a table in, the rows and columns worth keeping out."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._data import check_format, check_output, is_numeric, read_data, split_labels, write_frame
from ._errors import UsageError
from ._options import Data, Drop, Force, Header, Jobs, Json, Keep, Quiet, Seed, Target, TargetKind, TargetType
from ._say import notes, on_terminal, print_json, say, set_quiet

if TYPE_CHECKING:
    import pandas as pd

    from ..datasets import CleanTable
    from ..weighers.evolution import ReducedTable

__all__ = ["NAME", "run"]

NAME = "reduce"
TASKS = ("IS", "FS", "IW", "FW")


def run(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Table to write.")],
    target: Target = None,
    target_type: TargetType = TargetKind.AUTO,
    tasks: Annotated[
        str, typer.Option(help="IS and FS select instances and features; IW and FW weigh them meanwhile.")
    ] = "IS+FS",
    fitness: Annotated[
        str | None,
        typer.Option(
            metavar="SCORE",
            help="Score to maximise: accuracy; g_mean for classes of unequal size; balanced_accuracy, f1_macro and "
            "other scores of predicted labels by scikit-learn's names. For a number: r2, neg_mean_absolute_error, ...",
            show_default="accuracy, or r2 for a number",
        ),
    ] = None,
    evaluations: Annotated[int, typer.Option(min=1, help="When the search ends.")] = 10_000,
    population: Annotated[int, typer.Option(min=4, help="Individuals of the search.")] = 100,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a search that was interrupted.")] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keeps the search; by default beside the output, until it is done."),
    ] = None,
    keep: Keep = None,
    drop: Drop = None,
    header: Header = True,
    seed: Seed = 0,
    jobs: Jobs = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Keep the rows and columns worth keeping.

    An evolutionary search looks for the rows and columns that tell the classes apart, or predict the number. Their
    cells are written as they were read. Ctrl-C stops the search and keeps it, and --resume continues it, to the same
    result.
    """
    set_quiet(quiet)
    wanted = _check_tasks(tasks)
    check_format(output)
    check_output(output, force=force, inputs=(data,))
    place = output.with_name(output.name + ".search") if checkpoint is None else checkpoint
    _check_checkpoint(place, resume, force)
    table = read_data(data, header)
    X, y = split_labels(table, target, target_type.value)
    from ..datasets import clean_table
    from ..exceptions import InterruptedSearchWarning
    from ..weighers.evolution import reduce_table

    score = _check_fitness(fitness, is_numeric(y))
    clean = clean_table(X, keep=keep or (), drop=drop or ())
    notes([*map(str, clean.left_out), *clean.notes])
    warnings.simplefilter("ignore", InterruptedSearchWarning)  # _check_end says it together with what to do
    found = reduce_table(
        clean.X,
        y.to_numpy(),
        wanted,
        fitness=score,
        target_type="numeric" if is_numeric(y) else "classes",
        # A search needs at least one evaluation per individual of its first population.
        population_size=min(population, evaluations),
        max_evaluations=evaluations,
        checkpoint=place,
        resume=resume,
        verbose=on_terminal(),
        random_state=seed,
        n_jobs=jobs,
    )
    _check_end(found, evaluations, place)
    rows = X.index[found.rows]
    write_frame(_select_cells(table.cells(), rows, found.columns, str(y.name)), output)
    # The default checkpoint is only for interrupted searches. One that the user named stays.
    if checkpoint is None:
        place.unlink(missing_ok=True)
    if json:
        kind = "numeric" if is_numeric(y) else "classes"
        print_json({"target_type": kind, **_describe_result(found, clean, X.shape, rows, output)})
        return
    kept = f"{len(rows)} of {len(X)} rows, {len(found.columns)} of {X.shape[1]} features"
    say(f"{output}: {kept}; {score} of the nearest neighbour on all rows {found.search.performance_:.3f}")


def _check_fitness(fitness: str | None, numeric: bool) -> str:
    """Return the score to maximise. Raise `UsageError` if it is unknown, or not one of this type of target.

    ``numeric``: whether the target is a number. None means the accuracy, or R².
    """
    from ..weighers.evolution.number_scores import NUMBER_SCORES
    from ..weighers.evolution.scores import SCORES

    known = list(NUMBER_SCORES if numeric else SCORES)
    score = fitness or ("r2" if numeric else "accuracy")
    if score not in known:
        scope = " for a numeric target" if numeric else ""
        raise UsageError(f"--fitness takes one of {', '.join(known)}{scope}; got '{score}'")
    return score


def _check_tasks(tasks: str) -> str:
    """Return the tasks in capitals. Raise `UsageError` if a task is unknown or repeated, or if none selects."""
    parts = [part.strip().upper() for part in tasks.split("+")]
    strange = [part for part in parts if part not in TASKS]
    if strange or len(set(parts)) < len(parts):
        raise UsageError(f"--tasks joins some of {', '.join(TASKS)} by +, each once, as in IS+FS; got '{tasks}'")
    if not {"IS", "FS"} & set(parts):
        raise UsageError(f"--tasks {tasks} selects nothing, so nothing would be reduced: add IS or FS")
    return "+".join(parts)


def _check_checkpoint(path: Path, resume: bool, force: bool) -> None:
    """Raise `UsageError` if there is an unfinished search, unless ``resume`` or ``force``. ``force`` deletes it."""
    if path.is_dir():
        raise UsageError(f"'{path}' is a directory; name a file for the search")
    if not path.exists() or resume:
        return
    if not force:
        raise UsageError(f"'{path}' keeps a search that is not finished: --resume goes on with it, --force begins anew")
    from ..weighers.evolution.lock import hold_checkpoint

    with hold_checkpoint(path):  # not that of a search that runs
        path.unlink()


def _check_end(found: ReducedTable, evaluations: int, place: Path) -> None:
    """If the search was interrupted, print where it is kept. No table is written then."""
    search = found.search
    if search.stop_reason_ == "interrupted":
        sys.stderr.write("\n" if on_terminal() else "")  # below the bar
        raise KeyboardInterrupt(
            f"interrupted after {search.n_evaluations_} of {evaluations} evaluations. The search is kept in '{place}'; "
            "the same command with --resume goes on"
        )


def _select_cells(cells: pd.DataFrame, rows: pd.Index, columns: tuple[str, ...], target: str) -> pd.DataFrame:
    """Select the kept rows and columns as they were written in the file; the target keeps its position.

    ``cells`` are all cells of the file, as text; ``columns`` are the names of the kept features.
    """
    wanted = {*columns, target}
    return cells.loc[rows, [name for name in cells.columns if name in wanted]]


def _describe_result(
    found: ReducedTable, clean: CleanTable, shape: tuple[int, int], rows: pd.Index, output: Path
) -> dict[str, Any]:
    """Describe the reduced table for JSON output.

    ``shape`` is the size of the table before the reduction, and ``rows`` are the kept row numbers.
    """
    search = found.search
    return {
        "output": str(output),
        "rows": {"of": shape[0], "kept": len(rows), "numbers": rows},
        "features": {"of": shape[1], "kept": len(found.columns), "names": found.columns},
        "left_out": [{"name": column.name, "reason": column.reason} for column in clean.left_out],
        "fitness": search.fitness_,
        "performance": search.performance_,
        "reduction": search.reduction_,
        "evaluations": search.n_evaluations_,
        "stopped_by": search.stop_reason_,
        "feature_weights": dict(zip(found.features, search.feature_weights_.tolist(), strict=True)),
    }
