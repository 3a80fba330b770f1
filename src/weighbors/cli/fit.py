"""``weighbors fit``: read a table, and write a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._data import check_output, is_numeric, read_data, split_labels
from ._estimators import (
    FitOptions,
    ModelName,
    ScaleName,
    Strategy,
    Votes,
    Weigher,
    check_options,
    make_table_estimator,
)
from ._options import Data, Drop, Force, Header, Jobs, Json, Keep, Quiet, Seed, Target, TargetKind, TargetType
from ._say import note, notes, print_json, say, set_quiet

if TYPE_CHECKING:
    import pandas as pd

    from ._cross_validation import CrossValidated

NAME = "fit"


def run(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Model file to write.")],
    target: Target = None,
    target_type: TargetType = TargetKind.AUTO,
    model: Annotated[
        ModelName | None,
        typer.Option(
            help="Type of the model: learned votes, k-NN with a weigher, WIB-K (classes only), or a lazy learner.",
            show_default="votes; knn if --weigher, --neighbors, --votes or --select is given",
        ),
    ] = None,
    weigher: Annotated[
        Weigher | None,
        typer.Option(
            help="Method that learns the feature weights of knn and votes. For a numeric target, relieff is RReliefF.",
            show_default="relieff for knn; votes learns its own weights",
        ),
    ] = None,
    neighbors: Annotated[
        int | None,
        typer.Option(
            "--neighbors",
            "-k",
            min=1,
            help="Number of neighbours that vote.",
            show_default="5; votes choose it",
        ),
    ] = None,
    votes: Annotated[
        Votes | None,
        typer.Option(help="Votes of knn: all equal, or larger for near neighbours.", show_default="uniform"),
    ] = None,
    scale: Annotated[
        ScaleName | None, typer.Option(help="Scaling of numeric columns.", show_default="range; standard for votes")
    ] = None,
    select: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Use only the N features with the largest weights.")
    ] = None,
    strategy: Annotated[
        Strategy | None, typer.Option(help="How simbambiw uses the weights of the rows.", show_default="order")
    ] = None,
    tasks: Annotated[
        str | None, typer.Option(help="Tasks of --weigher evolution: IS, FS, IW, FW joined by +.", show_default="IS+FW")
    ] = None,
    evaluations: Annotated[
        int | None, typer.Option(min=1, help="Number of evaluations of --weigher evolution.", show_default="10000")
    ] = None,
    folds: Annotated[
        int, typer.Option(min=0, help="Number of folds of the cross-validated score; 0 for no score.")
    ] = 5,
    keep: Keep = None,
    drop: Drop = None,
    row_names: Annotated[
        bool, typer.Option("--row-names/--no-row-names", help="Whether the model file has the names of the rows.")
    ] = True,
    header: Header = True,
    seed: Seed = 0,
    jobs: Jobs = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn from a table and save a model.

    The model predicts classes or a number. By default it has learned votes, which had the highest mean accuracy in our
    study. Numbers are scaled. Categories and missing values need no preparation. Columns that cannot be used, such as
    identifiers, are left out and named. The model file contains no code. The commands weighbors predict and weighbors
    explain read it.
    """
    set_quiet(quiet)
    # Learned votes have no --votes, and choose weights and neighbours themselves. Who gives one of these means a k-NN.
    of_knn = (weigher, neighbors, votes, select, strategy, tasks, evaluations)
    default = ModelName.VOTES if all(option is None for option in of_knn) else ModelName.KNN
    options = FitOptions(
        model or default, weigher, neighbors, votes, scale, select, strategy, tasks, evaluations, seed=seed, jobs=jobs
    )
    check_options(options)
    check_output(output, force=force, inputs=(data,))
    X, y = split_labels(read_data(data, header), target, target_type.value)
    from ..exceptions import InvalidDataError

    if options.n_neighbors is not None and options.n_neighbors > len(X):
        raise InvalidDataError(
            f"--neighbors is {options.n_neighbors}, but the table has only {len(X)} rows: give a smaller number"
        )
    unfitted = make_table_estimator(options, numeric=is_numeric(y), keep=keep or [], drop=drop or [])
    fitted = unfitted.fit(X, y)
    notes([*map(str, fitted.left_out_), *fitted.notes_])
    fitted.save(output, row_names=row_names)
    score = _score(fitted, X, y, folds, seed)
    if json:
        print_json(_describe_result(fitted, options, y, score, output))
    else:
        _print(fitted, options, y, score, output)


def _score(model: Any, X: pd.DataFrame, y: pd.Series, folds: int, seed: int) -> CrossValidated | None:
    """Return the cross-validated score, or None if it is not wanted or not possible. A note gives the reason."""
    if not folds:
        return None
    from ..exceptions import WeighborsError
    from ._cross_validation import cross_validate

    try:
        found: CrossValidated = cross_validate(model, X, y, folds, seed, numeric=is_numeric(y))
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


def _describe_result(
    model: Any, options: FitOptions, y: pd.Series, score: CrossValidated | None, output: Path
) -> dict[str, Any]:
    """Describe a model for JSON output. ``y`` is the target of the training rows."""
    weights = _feature_weights(model)
    return {
        "model": str(output),
        "target": y.name,
        "rows": len(y),
        "features": list(model._training_table().columns.columns),
        **_describe_target(y),
        "settings": options.settings(),
        "left_out": [{"name": column.name, "reason": column.reason} for column in model.left_out_],
        "notes": model.notes_,
        "weights": {} if weights is None else weights.to_dict(),
        "cross_validation": None if score is None else score._asdict(),
    }


def _describe_target(y: pd.Series) -> dict[str, Any]:
    """Describe the target for JSON output: its type, and the classes or the range of the numbers."""
    if is_numeric(y):
        return {"target_type": "numeric", "range": [y.min(), y.max()], "mean": y.mean()}
    counts = y.value_counts().sort_index()
    return {"target_type": "classes", "classes": {str(label): int(n) for label, n in counts.items()}}


def _print(model: Any, options: FitOptions, y: pd.Series, score: CrossValidated | None, output: Path) -> None:
    """Print a model, its heaviest features, and its score."""
    from .._names import quote_name

    targets = f"targets {y.min():.6g} to {y.max():.6g}" if is_numeric(y) else f"{y.nunique()} classes"
    shape = f"{len(y)} rows, {len(model._training_table().columns.columns)} features, {targets}"
    say(f"{output}: {type(model).__name__} of {quote_name(str(y.name))}: {shape}; {options.describe()}")
    weights = _feature_weights(model)
    if weights is not None and (weights == weights.iloc[0, 0]).all(axis=None):
        say("all features have the same weight")
    elif weights is not None:
        weights = weights.head(10)
        names = [quote_name(str(name)) for name in weights.index]
        width = max(map(len, names))
        columns = "" if weights.shape[1] == 1 else f" ({', '.join(quote_name(str(one)) for one in weights.columns)})"
        say(f"heaviest features{columns}")
        for name, row in zip(names, weights.to_numpy(dtype=float), strict=True):
            say(f"  {name:<{width}}  " + "  ".join(f"{weight:.4f}" for weight in row))
    if score is not None:
        say(str(score))
