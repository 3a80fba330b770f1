"""``weighbors reduce``: a table in, the rows and columns worth keeping out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._errors import UsageError
from ._options import Data, Drop, Force, Header, Jobs, Json, Keep, Quiet, Seed, Target
from ._say import emit, notes, on_terminal, quietly, say
from ._tables import check_format, check_output, labelled, opened, write_frame

if TYPE_CHECKING:
    import pandas as pd

    from ..datasets import CleanTable
    from ..weighers import EvolutionaryWeigher

__all__ = ["NAME", "run"]

NAME = "reduce"
TASKS = ("IS", "FS", "IW", "FW")


class Fitness(StrEnum):
    """What the search maximises, besides what it leaves out."""

    ACCURACY = "accuracy"
    G_MEAN = "g_mean"


def run(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Table to write.")],
    target: Target = None,
    tasks: Annotated[
        str, typer.Option(help="IS and FS select instances and features; IW and FW weigh them meanwhile.")
    ] = "IS+FS",
    fitness: Annotated[Fitness, typer.Option(help="g_mean for classes of unequal size.")] = Fitness.ACCURACY,
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

    An evolutionary search looks for those that tell the classes apart. What is kept is written as it was
    read. Ctrl-C keeps the search; --resume goes on with it, to the same result.
    """
    quietly(quiet)
    wanted = _checked_tasks(tasks)
    check_format(output)
    check_output(output, force=force, inputs=(data,))
    kept = output.with_name(output.name + ".search") if checkpoint is None else checkpoint
    _check_checkpoint(kept, resume, force)
    table = opened(data, header)
    X, y = labelled(table, target)
    from ..datasets import TableScaler, clean_table
    from ..weighers import EvolutionaryWeigher

    clean = clean_table(X, keep=keep or (), drop=drop or ())
    notes([*map(str, clean.left_out), *clean.notes])
    search = EvolutionaryWeigher(
        wanted,
        fitness.value,
        population_size=min(population, evaluations),
        max_evaluations=evaluations,
        checkpoint=kept,
        resume=resume,
        verbose=on_terminal(),
        random_state=seed,
        n_jobs=jobs,
    ).fit(TableScaler.learn(clean.X).scale(clean.X), y.to_numpy())
    if search.stop_reason_ == "interrupted":
        raise KeyboardInterrupt(
            f"interrupted after {search.n_evaluations_} of {evaluations} evaluations. The search is kept in '{kept}'; "
            "the same command with --resume goes on"
        )
    columns = [name for name, kept_ in zip(clean.X.columns, search.feature_support_, strict=True) if kept_]
    rows = X.index[search.sample_indices_]
    write_frame(_reduced(table.cells(), rows, columns, str(y.name)), output)
    if checkpoint is None:
        kept.unlink(missing_ok=True)
    told = _told(search, clean, X, columns, rows, output)
    if json:
        emit(told)
    else:
        kept_part = f"{len(rows)} of {len(X)} rows, {len(columns)} of {X.shape[1]} features"
        say(f"{output}: {kept_part}; {fitness.value} of the nearest neighbour on all rows {search.performance_:.3f}")


def _checked_tasks(tasks: str) -> str:
    parts = [part.strip().upper() for part in tasks.split("+")]
    strange = [part for part in parts if part not in TASKS]
    if strange or len(set(parts)) < len(parts):
        raise UsageError(f"--tasks joins some of {', '.join(TASKS)} by +, each once, as in IS+FS; got '{tasks}'")
    if not {"IS", "FS"} & set(parts):
        raise UsageError(f"--tasks {tasks} selects nothing, so nothing would be reduced: add IS or FS")
    return "+".join(parts)


def _check_checkpoint(path: Path, resume: bool, force: bool) -> None:
    """A search that is there already goes on, or is thrown away when asked to."""
    if path.is_dir():
        raise UsageError(f"'{path}' is a directory; name a file for the search")
    if not path.exists() or resume:
        return
    if not force:
        raise UsageError(f"'{path}' keeps a search that is not finished: --resume goes on with it, --force begins anew")
    path.unlink()


def _reduced(cells: pd.DataFrame, rows: Any, columns: list[str], target: str) -> pd.DataFrame:
    """Kept rows and columns in the order and the writing of the table, the target where it was."""
    wanted = set(columns) | {target}
    return cells.loc[rows, [name for name in cells.columns if name in wanted]]


def _told(
    search: EvolutionaryWeigher, clean: CleanTable, X: pd.DataFrame, columns: list[str], rows: Any, output: Path
) -> dict[str, Any]:
    return {
        "output": str(output),
        "rows": {"of": len(X), "kept": len(rows), "numbers": rows},
        "features": {"of": X.shape[1], "kept": len(columns), "names": columns},
        "left_out": [{"name": column.name, "reason": column.reason} for column in clean.left_out],
        "fitness": search.fitness_,
        "performance": search.performance_,
        "reduction": search.reduction_,
        "evaluations": search.n_evaluations_,
        "stopped_by": search.stop_reason_,
        "feature_weights": dict(zip(clean.X.columns, search.feature_weights_.tolist(), strict=True)),
    }
