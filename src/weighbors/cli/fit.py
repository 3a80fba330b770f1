"""``weighbors fit``: read a table, and write a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ._data import TrainingTable, check_output, describe_left_out, read_training
from ._estimators import ModelOptions, make_model
from ._options import LearningOptions, TableOptions
from ._say import note, notes, print_json, say, say_columns

if TYPE_CHECKING:
    import pandas as pd

    from ._cross_validation import CrossValidated

NAME = "fit"


def run(
    table: TableOptions,
    options: ModelOptions,
    common: LearningOptions,
    output: Path = typer.Option(..., "--output", "-o", metavar="FILE", help="Model file to write."),
    folds: int = typer.Option(5, min=0, help="Number of folds of the cross-validated score; 0 for no score."),
    row_names: bool = typer.Option(
        True, "--row-names/--no-row-names", help="Whether the model file has the names of the rows."
    ),
) -> None:
    """Learn from a table and save a model.

    The model predicts classes or a number. By default it has learned votes, which had the highest mean accuracy in our
    study. Numbers are scaled. Categories and missing values need no preparation. Columns that cannot be used, such as
    identifiers, are left out and named. The model file contains no code. The commands weighbors predict and weighbors
    explain read it.
    """
    options.check()
    check_output(output, force=common.force, inputs=(table.data,))
    read = read_training(table)
    from ..exceptions import InvalidDataError

    if options.n_neighbors is not None and options.n_neighbors > len(read.X):
        raise InvalidDataError(
            f"--neighbors is {options.n_neighbors}, but the table has only {len(read.X)} rows: give a smaller number"
        )
    model = make_model(options, table, common, numeric=read.numeric).fit(read.X, read.y)
    notes([*map(str, model.left_out_), *model.notes_])
    model.save(output, row_names=row_names)
    score = _score(model, read, folds, common.seed)
    weights = _feature_weights(model)
    features = list(model._table.columns)
    if common.json:
        print_json(
            {
                "model": str(output),
                "target": read.y.name,
                "rows": len(read.y),
                "features": features,
                **_describe_target(read),
                "settings": options.settings(common.seed),
                "left_out": describe_left_out(model.left_out_),
                "notes": model.notes_,
                "weights": {} if weights is None else weights.to_dict(),
                "cross_validation": None if score is None else score._asdict(),
            }
        )
        return
    from .._names import quote_name

    y = read.y
    targets = f"targets {y.min():.6g} to {y.max():.6g}" if read.numeric else f"{y.nunique()} classes"
    shape = f"{len(y)} rows, {len(features)} features, {targets}"
    say(f"{output}: {type(model).__name__} of {quote_name(str(y.name))}: {shape}; {options.describe()}")
    _print_weights(weights)
    if score is not None:
        say(str(score))


def _score(model: Any, read: TrainingTable, folds: int, seed: int) -> CrossValidated | None:
    """Return the cross-validated score, or None if it is not wanted or not possible. A note gives the reason."""
    if not folds:
        return None
    from ..exceptions import WeighborsError
    from ._cross_validation import cross_validate

    try:
        found: CrossValidated = cross_validate(model, read.X, read.y, folds, seed, numeric=read.numeric)
    except WeighborsError as problem:
        note(f"there is no cross-validated score: {problem}")
        return None
    return found


def _feature_weights(model: Any) -> pd.DataFrame | None:
    """Return the weights with one row per feature, the largest first, or None if the model has none."""
    import numpy as np

    weights = getattr(model.estimator_, "weights_", None)
    if weights is None or weights.kind not in ("feature", "class"):
        return None
    frame: pd.DataFrame = weights.frame().drop(columns="kept", errors="ignore")
    order = np.argsort(-frame.to_numpy(dtype=float).max(axis=1), kind="stable")
    return frame.iloc[order].rename_axis("feature")


def _describe_target(read: TrainingTable) -> dict[str, Any]:
    """Describe the target for JSON output: its type, and the classes or the range of the numbers."""
    y = read.y
    if read.numeric:
        return {"target_type": "numeric", "range": [y.min(), y.max()], "mean": y.mean()}
    counts = y.value_counts().sort_index()
    return {"target_type": "classes", "classes": {str(label): int(n) for label, n in counts.items()}}


def _print_weights(weights: pd.DataFrame | None) -> None:
    """Print the ten features with the largest weights."""
    from .._names import quote_name

    if weights is None:
        return
    if (weights == weights.iloc[0, 0]).all(axis=None):
        say("all features have the same weight")
        return
    weights = weights.head(10)
    columns = "" if weights.shape[1] == 1 else f" ({', '.join(quote_name(str(one)) for one in weights.columns)})"
    say(f"heaviest features{columns}")
    lines = zip(weights.index, weights.to_numpy(dtype=float), strict=True)
    say_columns([[f"  {quote_name(str(name))}", *(f"{weight:.4f}" for weight in row)] for name, row in lines])
