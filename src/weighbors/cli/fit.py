"""``weighbors fit``: a table in, a model file out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._data import check_output, is_numeric, read_data, split_labels
from ._options import Data, Drop, Force, Header, Jobs, Json, Keep, Quiet, Seed, Target, TargetKind, TargetType
from ._say import notes, print_json, say, set_quiet

if TYPE_CHECKING:
    from ..classifiers import TableModel
    from ..regressors import NumericTableModel

__all__ = ["NAME", "run"]

NAME = "fit"


class Weigher(StrEnum):
    """The weighers that the command offers: the names of `weighbors.classifiers.table_model.WEIGHERS`.

    They are listed here so that the help text needs no import of the library. A test compares both lists.
    """

    NONE = "none"
    RELIEFF = "relieff"
    MULTISURF = "multisurf"
    IRELIEF = "irelief"
    CLASS_RELIEF = "class-relief"
    SIMBA = "simba"
    MBIW = "mbiw"
    SIMBAMBIW = "simbambiw"


class Votes(StrEnum):
    """How votes depend on the distance."""

    UNIFORM = "uniform"
    DISTANCE = "distance"


def run(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Model file to write.")],
    target: Target = None,
    target_type: TargetType = TargetKind.AUTO,
    weigher: Annotated[
        Weigher, typer.Option(help="What learns the weights. For a number: relieff (then RReliefF), multisurf or none.")
    ] = Weigher.RELIEFF,
    neighbors: Annotated[int, typer.Option("--neighbors", "-k", min=1, help="Neighbours that vote.")] = 5,
    votes: Annotated[Votes, typer.Option(help="Whether near neighbours count more.")] = Votes.UNIFORM,
    keep: Keep = None,
    drop: Drop = None,
    header: Header = True,
    seed: Seed = 0,
    jobs: Jobs = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn from a table and save a model.

    The model is a k-NN with learned weights, for classes or for a number. Numbers are scaled, categories and missing
    values are used as they are, and columns that cannot help are named and left out. The file contains no code. The
    command weighbors predict reads it.
    """
    set_quiet(quiet)
    check_output(output, force=force, inputs=(data,))
    X, y = split_labels(read_data(data, header), target, target_type.value)
    from ..classifiers import TableModel
    from ..exceptions import InvalidDataError
    from ..regressors import NumericTableModel

    if neighbors > len(X):
        raise InvalidDataError(
            f"{neighbors} neighbours are to vote, and the table has {len(X)} rows: lower --neighbors"
        )
    kind: type[TableModel | NumericTableModel] = NumericTableModel if is_numeric(y) else TableModel
    model = kind.learn(
        X,
        y,
        weigher=weigher.value,
        n_neighbors=neighbors,
        votes=votes.value,
        keep=keep or (),
        drop=drop or (),
        random_state=seed,
        n_jobs=jobs,
    )
    notes([*map(str, model.left_out), *model.notes])
    model.save(output)
    if json:
        print_json(_describe_result(model, output))
    else:
        _print(model, output)


def _describe_result(model: TableModel | NumericTableModel, output: Path) -> dict[str, Any]:
    """Describe a model for JSON output."""
    return {
        "model": str(output),
        "target": model.target,
        "rows": len(model.rows),
        "features": list(model.scaler.names),
        **_describe_target(model),
        "settings": model.settings,
        "left_out": [{"name": column.name, "reason": column.reason} for column in model.left_out],
        "notes": model.notes,
        "weights": model.feature_weights().to_dict(),
    }


def _describe_target(model: TableModel | NumericTableModel) -> dict[str, Any]:
    """Describe the target of a model for JSON output: its type, and the classes or the range of the numbers."""
    from ..classifiers import TableModel

    if isinstance(model, TableModel):
        counts = {str(label): int((model.codes == i).sum()) for i, label in enumerate(model.classes)}
        return {"target_type": "classes", "classes": counts}
    values = model.values
    return {"target_type": "numeric", "range": [values.min(), values.max()], "mean": values.mean()}


def _print(model: TableModel | NumericTableModel, output: Path) -> None:
    """Print a model and its heaviest features."""
    from .._names import quote_name

    say(f"{output}: {model}")
    weights = model.feature_weights().head(10)
    if model.settings["weigher"] == "none" or model.weights.kind == "none":
        return
    names = [quote_name(name) for name in weights.index]
    width = max(map(len, names))
    say("heaviest features" + ("" if weights.shape[1] == 1 else f" ({', '.join(map(quote_name, weights.columns))})"))
    for name, row in zip(names, weights.to_numpy(dtype=float), strict=True):
        say(f"  {name:<{width}}  " + "  ".join(f"{weight:.4f}" for weight in row))
