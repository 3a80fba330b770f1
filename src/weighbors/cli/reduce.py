"""``weighbors reduce``: read a table, and write its most useful rows and columns."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from ._data import TABLES, TrainingTable, check_output, describe_left_out, read_training, write_frame
from ._errors import UsageError
from ._estimators import check_known_tasks
from ._options import LearningOptions, TableOptions
from ._say import on_terminal, print_json, say

if TYPE_CHECKING:
    import pandas as pd

    from ..tables import CleanTable
    from ..weighers import EvolutionaryWeigher

NAME = "reduce"


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The options of the search, which classical instance selectors do not have."""

    tasks: str | None = typer.Option(
        None,
        help="Tasks of the search, joined by +: IS and FS select instances and features, IW and FW weight them.",
        show_default="IS",
    )
    fitness: str | None = typer.Option(
        None,
        metavar="SCORE",
        help="Score to maximise: accuracy; g_mean for classes of unequal size; balanced_accuracy, f1_macro and "
        "other scores of predicted labels, with the names of scikit-learn. For a numeric target: r2, "
        "neg_mean_absolute_error, ...",
        show_default="accuracy, or r2 for a numeric target",
    )
    objective: Literal["single", "pareto"] = typer.Option(
        "single", help="pareto optimises score and size as two goals, and keeps the trade-off with the best fitness."
    )
    undersample: bool = typer.Option(
        False,
        "--undersample",
        help="First draw the same number of rows from each class: the size of the smallest class.",
    )
    time_limit: float | None = typer.Option(
        None, metavar="SECONDS", help="Time after which the search ends, if it is not finished before."
    )
    resume: bool = typer.Option(False, "--resume", help="Continue a search that was interrupted.")
    checkpoint: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="File for the state of the search. By default it is beside the output, and is deleted at the end.",
    )
    evaluations: int = typer.Option(10_000, min=1, help="Number of evaluations after which the search ends.")
    population: int = typer.Option(100, min=4, help="Number of individuals in the population of the search.")

    def check(self, selector: str | None) -> None:
        """Raise `UsageError` if an option cannot be used, or was given together with ``--selector``."""
        if not {"IS", "FS"} & set(check_known_tasks(self.tasks or "IS").split("+")):
            raise UsageError(f"--tasks {self.tasks} selects neither rows nor columns: add IS or FS")
        if self.time_limit is not None and not self.time_limit > 0:
            raise UsageError(f"--time-limit must be a number of seconds above 0; got {self.time_limit:g}")
        names = ("tasks", "fitness", "objective", "undersample", "time_limit", "resume", "checkpoint")
        given = [name for name in names if getattr(self, name) not in (None, False, "single")]
        if selector is not None and given:
            options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise UsageError(
                f"{options} are options of the search, and --selector runs no search: leave out one of them"
            )


def run(
    table: TableOptions,
    options: SearchOptions,
    common: LearningOptions,
    output: Path = typer.Option(..., "--output", "-o", metavar="FILE", help="Table to write."),
    selector: Literal["fcnn", "ib2", "ib3", "drop3", "drop5", "icf", "hmnei"] | None = typer.Option(
        None, help="Select rows by a classical instance selector instead of a search. It needs classes."
    ),
) -> None:
    """Reduce a table to its most useful rows and columns.

    An evolutionary search selects the rows from which a nearest neighbour predicts the target best. With --tasks IS+FS
    it also selects columns: the table becomes smaller, and the predictions are less accurate. The selected cells are
    written as they were read. Ctrl-C stops the search and saves its state. --resume continues it, and the result is the
    same as without the interruption.
    """
    options.check(selector)
    check_output(output, force=common.force, inputs=(table.data,), formats=TABLES)
    place = _prepare_checkpoint(options, common.force, table.data, output)
    read = read_training(table)
    if read.numeric and (options.undersample or selector is not None):
        option = "--undersample" if options.undersample else f"--selector {selector}"
        raise UsageError(f"{option} needs classes, and the target is a number: leave it out")
    score = _check_fitness(options.fitness, read.numeric)
    clean = read.clean(table)
    from ..tables import TableEncoder

    scaled = TableEncoder.learn(clean.X, "range").scale(clean.X)
    if selector is not None:
        kept, columns = _select_rows(selector, scaled, read.y, common.jobs), clean.X.columns
        found: dict[str, Any] = {"selector": selector}
        lines = f", by {selector.upper()}; no score was measured"
    else:
        search = _run_search(options, common, scaled, read, score, place)
        kept, columns = search.sample_indices_, clean.X.columns[search.feature_support_]
        measured_on = _describe_measured(options, read.y)
        found = {**_describe_search(search, clean), "measured_on": measured_on}
        lines = f"\n{score} {search.performance_:.3f}, {measured_on}"
    rows, names = read.X.index[kept], [str(name) for name in columns]
    # The cells are written as they are in the file, and the target keeps its position.
    cells = read.table.cells()
    wanted = {*names, str(read.y.name)}
    write_frame(cells.loc[rows, [name for name in cells.columns if name in wanted]], output)
    # The default checkpoint is only for interrupted searches. One that the user named stays.
    if selector is None and options.checkpoint is None:
        place.unlink(missing_ok=True)
    if common.json:
        first = {"selector": found.pop("selector")} if selector else {}
        print_json(
            {
                "target_type": read.target_type,
                "output": str(output),
                **first,
                "rows": {"of": len(read.X), "kept": len(rows), "numbers": rows},
                "features": {"of": read.X.shape[1], "kept": len(names), "names": names},
                "left_out": describe_left_out(clean.left_out),
                **found,
            }
        )
        return
    say(f"{output}: {len(rows)} of {len(read.X)} rows, {len(names)} of {read.X.shape[1]} features{lines}")


def _select_rows(selector: str, X: pd.DataFrame, y: pd.Series, jobs: int | None) -> Any:
    """Return the positions of the rows that an instance selector keeps. ``X`` are scaled features."""
    from .. import weighers

    return getattr(weighers, selector.upper())(n_jobs=jobs).fit(X, y.to_numpy()).sample_indices_


def _run_search(
    options: SearchOptions, common: LearningOptions, X: pd.DataFrame, read: TrainingTable, score: str, place: Path
) -> EvolutionaryWeigher:
    """Return the finished search on the scaled features ``X``. Its state is kept in the file ``place``.

    If it is interrupted, say where it is kept. No table is written then.
    """
    from ..exceptions import InterruptedSearchWarning
    from ..weighers import EvolutionaryWeigher

    limit = options.time_limit
    warnings.simplefilter("ignore", InterruptedSearchWarning)  # reported below, together with what to do
    search = EvolutionaryWeigher(
        check_known_tasks(options.tasks or "IS"),
        score,
        target_type=read.target_type,
        objective=options.objective,
        undersample=options.undersample,
        # A search needs at least one evaluation per individual of its first population.
        population_size=min(options.population, options.evaluations),
        max_evaluations=options.evaluations,
        checkpoint=place,
        callback=None if limit is None else lambda progress: progress.seconds >= limit,
        verbose=on_terminal(),
        random_state=common.seed,
        n_jobs=common.jobs,
    ).fit(X, read.y.to_numpy())
    if search.stop_reason_ == "interrupted":
        sys.stderr.write("\n" if on_terminal() else "")  # below the bar
        raise KeyboardInterrupt(
            f"interrupted after {search.n_evaluations_} of {options.evaluations} evaluations. The search is saved in "
            f"'{place}'; the same command with --resume continues it"
        )
    return search


def _prepare_checkpoint(options: SearchOptions, force: bool, data: Path, output: Path) -> Path:
    """Return the path of the checkpoint, at which a search can begin or continue.

    With ``force`` and without ``--resume`` an old checkpoint is deleted. Raise `UsageError` if the path cannot be used,
    or if there is an unfinished search and neither of the two options.
    """
    path = options.checkpoint or output.with_name(output.name + ".search")
    if path.is_dir():
        raise UsageError(f"'{path}' is a directory; name a file for the search")
    if any(path.resolve() == one.resolve() for one in (data, output)):
        raise UsageError(f"'{path}' is the table or the output; name another file as --checkpoint")
    if not path.exists() or options.resume:
        return path
    if not force:
        raise UsageError(f"'{path}' has a search that is not finished: --resume continues it, --force starts again")
    from ..weighers.evolution.checkpoint import hold_checkpoint

    with hold_checkpoint(path):  # not that of a run that is active
        path.unlink()
    return path


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


def _describe_measured(options: SearchOptions, y: pd.Series) -> str:
    """Return on which rows the score was measured."""
    counts = y.value_counts()
    drawn = int(counts.min()) * len(counts) if options.undersample else len(y)
    measured = "all rows" if drawn == len(y) else f"the {drawn} rows that were drawn"
    return (
        f"measured on {measured}, each predicted by the nearest other row that is kept. The search has maximised it "
        "there: expect less of new rows"
    )


def _describe_search(search: EvolutionaryWeigher, clean: CleanTable) -> dict[str, Any]:
    """Describe the search for JSON output."""
    return {
        "fitness": search.fitness_,
        "performance": search.performance_,
        "reduction": search.reduction_,
        "evaluations": search.n_evaluations_,
        "stopped_by": "time_limit" if search.stop_reason_ == "callback" else search.stop_reason_,
        "feature_weights": dict(zip(map(str, clean.X.columns), search.feature_weights_.tolist(), strict=True)),
    }
