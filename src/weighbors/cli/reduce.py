"""``weighbors reduce``: read a table, and write its most useful rows and columns."""

from __future__ import annotations

import sys
import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._checkpoints import prepare_checkpoint
from ._data import check_format, check_output, is_numeric, read_data, split_labels, write_frame
from ._errors import UsageError
from ._estimators import check_known_tasks
from ._options import Data, Drop, Force, Header, Jobs, Json, Keep, Quiet, Seed, Target, TargetKind, TargetType
from ._say import notes, on_terminal, print_json, say, set_quiet

if TYPE_CHECKING:
    import pandas as pd

    from ..tables import CleanTable
    from ..weighers import EvolutionaryWeigher

NAME = "reduce"


class Objective(StrEnum):
    """Whether the search has one goal or several."""

    SINGLE = "single"
    PARETO = "pareto"


class SelectorName(StrEnum):
    """The classical instance selectors."""

    FCNN = "fcnn"
    IB2 = "ib2"
    IB3 = "ib3"
    DROP3 = "drop3"
    DROP5 = "drop5"
    ICF = "icf"
    HMNEI = "hmnei"


#: The classes of the selectors.
SELECTOR_CLASSES = {name: name.value.upper() for name in SelectorName}


def run(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Table to write.")],
    target: Target = None,
    target_type: TargetType = TargetKind.AUTO,
    tasks: Annotated[
        str | None,
        typer.Option(
            help="Tasks of the search, joined by +: IS and FS select instances and features, IW and FW weight them.",
            show_default="IS",
        ),
    ] = None,
    selector: Annotated[
        SelectorName | None,
        typer.Option(help="Select rows by a classical instance selector instead of a search. It needs classes."),
    ] = None,
    fitness: Annotated[
        str | None,
        typer.Option(
            metavar="SCORE",
            help="Score to maximise: accuracy; g_mean for classes of unequal size; balanced_accuracy, f1_macro and "
            "other scores of predicted labels, with the names of scikit-learn. For a numeric target: r2, "
            "neg_mean_absolute_error, ...",
            show_default="accuracy, or r2 for a numeric target",
        ),
    ] = None,
    objective: Annotated[
        Objective,
        typer.Option(
            help="pareto optimises score and size as two goals, and keeps the trade-off with the best fitness."
        ),
    ] = Objective.SINGLE,
    undersample: Annotated[
        bool,
        typer.Option(
            "--undersample", help="First draw the same number of rows from each class: the size of the smallest class."
        ),
    ] = False,
    evaluations: Annotated[
        int, typer.Option(min=1, help="Number of evaluations after which the search ends.")
    ] = 10_000,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit", metavar="SECONDS", help="Time after which the search ends, if it is not finished before."
        ),
    ] = None,
    population: Annotated[
        int, typer.Option(min=4, help="Number of individuals in the population of the search.")
    ] = 100,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a search that was interrupted.")] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File for the state of the search. By default it is beside the output, and is deleted at the end.",
        ),
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
    """Reduce a table to its most useful rows and columns.

    An evolutionary search selects the rows from which a nearest neighbour predicts the target best. With --tasks IS+FS
    it also selects columns: the table becomes smaller, and the predictions are less accurate. The selected cells are
    written as they were read. Ctrl-C stops the search and saves its state. --resume continues it, and the result is the
    same as without the interruption.
    """
    set_quiet(quiet)
    wanted = _check_tasks(tasks or "IS")
    if time_limit is not None and not time_limit > 0:
        raise UsageError(f"--time-limit must be a number of seconds above 0; got {time_limit:g}")
    if selector is not None:
        searching = {
            "--tasks": tasks is not None,
            "--fitness": fitness is not None,
            "--objective": objective is not Objective.SINGLE,
            "--undersample": undersample,
            "--time-limit": time_limit is not None,
            "--resume": resume,
            "--checkpoint": checkpoint is not None,
        }
        _refuse_search_options([name for name, given in searching.items() if given])
    check_format(output)
    check_output(output, force=force, inputs=(data,))
    place = prepare_checkpoint(
        checkpoint,
        output.with_name(output.name + ".search"),
        "search",
        resume=resume,
        force=force,
        others=(data, output),
    )
    table = read_data(data, header)
    X, y = split_labels(table, target, target_type.value)
    from ..exceptions import InterruptedSearchWarning
    from ..tables import TableScaler, clean_table
    from ..weighers import EvolutionaryWeigher

    score = _check_fitness(fitness, is_numeric(y))
    if is_numeric(y) and (undersample or selector is not None):
        option = "--undersample" if undersample else f"--selector {selector}"
        raise UsageError(f"{option} needs classes, and the target is a number: leave it out")
    clean = clean_table(X, keep=keep or (), drop=drop or ())
    notes([*map(str, clean.left_out), *clean.notes])
    if selector is not None:
        kept = _select_rows(selector, clean.X, y, jobs)
        columns = tuple(str(name) for name in clean.X.columns)
        write_frame(_select_cells(table.cells(), X.index[kept], columns, str(y.name)), output)
        if json:
            print_json({"target_type": "classes", **_describe_selected(selector, clean, X, X.index[kept], output)})
        else:
            size = f"{len(kept)} of {len(X)} rows, {len(columns)} of {X.shape[1]} features"
            say(f"{output}: {size}, by {SELECTOR_CLASSES[selector]}; no score was measured")
        return
    warnings.simplefilter("ignore", InterruptedSearchWarning)  # _check_end reports it together with what to do
    search = EvolutionaryWeigher(
        wanted,
        score,
        target_type="numeric" if is_numeric(y) else "classes",
        objective=objective.value,
        undersample=undersample,
        # A search needs at least one evaluation per individual of its first population.
        population_size=min(population, evaluations),
        max_evaluations=evaluations,
        checkpoint=place,
        callback=None if time_limit is None else lambda progress: progress.seconds >= time_limit,
        verbose=on_terminal(),
        random_state=seed,
        n_jobs=jobs,
    ).fit(TableScaler.learn(clean.X).scale(clean.X), y.to_numpy())
    _check_end(search, evaluations, place)
    rows, columns = X.index[search.sample_indices_], clean.X.columns[search.feature_support_].map(str)
    write_frame(_select_cells(table.cells(), rows, tuple(columns), str(y.name)), output)
    # The default checkpoint is only for interrupted searches. One that the user named stays.
    if checkpoint is None:
        place.unlink(missing_ok=True)
    counts = y.value_counts()
    drawn = int(counts.min()) * len(counts) if undersample else len(y)
    measured = "all rows" if drawn == len(y) else f"the {drawn} rows that were drawn"
    measured_on = (
        f"measured on {measured}, each predicted by the nearest other row that is kept. The search has maximised it "
        "there: expect less of new rows"
    )
    if json:
        result = _describe_result(search, clean, X.shape, rows, output)
        print_json({**result, "measured_on": measured_on})
        return
    say(f"{output}: {len(rows)} of {len(X)} rows, {len(columns)} of {X.shape[1]} features")
    say(f"{score} {search.performance_:.3f}, {measured_on}")


def _refuse_search_options(given: list[str]) -> None:
    """Raise `UsageError` if options of a search were given together with ``--selector``."""
    if given:
        raise UsageError(
            f"{', '.join(given)} are options of the search, and --selector runs no search: leave out one of them"
        )


def _select_rows(selector: SelectorName, X: pd.DataFrame, y: pd.Series, jobs: int | None) -> Any:
    """Return the positions of the rows that an instance selector keeps. Numbers are scaled to lie between 0 and 1."""
    from .. import weighers
    from ..tables import TableScaler

    model = getattr(weighers, SELECTOR_CLASSES[selector])(n_jobs=jobs)
    return model.fit(TableScaler.learn(X).scale(X), y.to_numpy()).sample_indices_


def _describe_selected(
    selector: SelectorName, clean: CleanTable, X: pd.DataFrame, rows: pd.Index, output: Path
) -> dict[str, Any]:
    """Describe what an instance selector kept, for JSON output. ``rows`` are the kept row numbers."""
    return {
        "output": str(output),
        "selector": selector.value,
        "rows": {"of": len(X), "kept": len(rows), "numbers": rows},
        "features": {"of": X.shape[1], "kept": clean.X.shape[1], "names": list(clean.X.columns)},
        "left_out": [{"name": column.name, "reason": column.reason} for column in clean.left_out],
    }


def _check_fitness(fitness: str | None, numeric: bool) -> str:
    """Return the score to maximise. Raise `UsageError` if it is unknown, or not one of this type of target.

    ``numeric``: whether the target is a number. None means the accuracy, or R².
    """
    from ..weighers.evolution.fitness import NUMBER_SCORES, SCORES

    known = list(NUMBER_SCORES if numeric else SCORES)
    score = fitness or ("r2" if numeric else "accuracy")
    if score not in known:
        scope = " for a numeric target" if numeric else ""
        raise UsageError(f"--fitness takes one of {', '.join(known)}{scope}; got '{score}'")
    return score


def _check_tasks(tasks: str) -> str:
    """Return the tasks in capitals. Raise `UsageError` if a task is unknown or repeated, or if none selects."""
    known = check_known_tasks(tasks)
    if not {"IS", "FS"} & set(known.split("+")):
        raise UsageError(f"--tasks {tasks} selects neither rows nor columns: add IS or FS")
    return known


def _check_end(search: EvolutionaryWeigher, evaluations: int, place: Path) -> None:
    """If the search was interrupted, print where it is kept. No table is written then."""
    if search.stop_reason_ == "interrupted":
        sys.stderr.write("\n" if on_terminal() else "")  # below the bar
        raise KeyboardInterrupt(
            f"interrupted after {search.n_evaluations_} of {evaluations} evaluations. The search is saved in "
            f"'{place}'; the same command with --resume continues it"
        )


def _select_cells(cells: pd.DataFrame, rows: pd.Index, columns: tuple[str, ...], target: str) -> pd.DataFrame:
    """Select the kept rows and columns as they were written in the file; the target keeps its position.

    ``cells`` are all cells of the file, as text; ``columns`` are the names of the kept features.
    """
    wanted = {*columns, target}
    return cells.loc[rows, [name for name in cells.columns if name in wanted]]


def _describe_result(
    search: EvolutionaryWeigher, clean: CleanTable, shape: tuple[int, int], rows: pd.Index, output: Path
) -> dict[str, Any]:
    """Describe the reduced table for JSON output.

    ``shape`` is the size of the table before the reduction, and ``rows`` are the kept row numbers.
    """
    features = [str(name) for name in clean.X.columns]
    kept = [name for name, used in zip(features, search.feature_support_, strict=True) if used]
    return {
        "target_type": search.target_type_,
        "output": str(output),
        "rows": {"of": shape[0], "kept": len(rows), "numbers": rows},
        "features": {"of": shape[1], "kept": len(kept), "names": kept},
        "left_out": [{"name": column.name, "reason": column.reason} for column in clean.left_out],
        "fitness": search.fitness_,
        "performance": search.performance_,
        "reduction": search.reduction_,
        "evaluations": search.n_evaluations_,
        "stopped_by": "time_limit" if search.stop_reason_ == "callback" else search.stop_reason_,
        "feature_weights": dict(zip(features, search.feature_weights_.tolist(), strict=True)),
    }
