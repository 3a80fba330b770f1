"""``weighbors predict``: a model file and a table in, labels or numbers out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._data import check_format, check_output, read_data, write_frame
from ._errors import UsageError
from ._options import Force, Header, Json, Quiet
from ._say import note, notes, print_json, say, set_quiet, write_raw

if TYPE_CHECKING:
    import pandas as pd

    from ..classifiers import Predictions, TableModel
    from ..regressors import NumericTableModel

__all__ = ["NAME", "run"]

NAME = "predict"


def run(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="What weighbors fit wrote.")],
    data: Annotated[Path, typer.Argument(metavar="TABLE", help="Rows to predict, in any format that fit reads.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Table to write; otherwise csv on stdout.")
    ] = None,
    shares: Annotated[
        bool, typer.Option("--shares", help="Also the share of the votes for every class; not for numbers.")
    ] = False,
    header: Header = True,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict the rows of a table by a saved model.

    The predictions are labels or numbers. The output has one line per row of the table, in the same order. A missing
    column is an error. Columns that the model does not know, and categories that it has never seen, are named.
    """
    set_quiet(quiet)
    check_output(output, force=force, inputs=(model, data))
    check_format(output)
    from ..regressors import NumericTableModel, load_table_model

    loaded = load_table_model(model)
    if shares and isinstance(loaded, NumericTableModel):
        raise UsageError(f"--shares are those of classes, and '{model}' predicts a number")
    table = read_data(data, header)
    predicted = loaded.judge(table.frame)
    notes(predicted.notes)
    if isinstance(loaded, NumericTableModel):
        frame, found, line = _describe_numbers(loaded, predicted, table.frame)
    else:
        frame, found, line = _describe_labels(loaded, predicted, table.frame, shares)
    if output is not None:
        write_frame(frame, output)
    if json:
        columns = {str(name): frame[name] for name in frame.columns} if output is None else {"output": str(output)}
        print_json({"model": str(model), "rows": len(frame), **found, **columns, "notes": predicted.notes})
    elif output is None:
        write_raw(frame.to_csv(index=False, lineterminator="\n"))
    else:
        say(f"{output}: {len(frame)} rows; {line}")


def _describe_labels(
    model: TableModel, predicted: Predictions, table: pd.DataFrame, shares: bool
) -> tuple[pd.DataFrame, dict[str, Any], str]:
    """Return the table of predicted labels, what JSON says of them, and a line for the terminal.

    ``table`` is the table that was read. ``shares``: whether the table also has the shares of all classes.
    """
    from .._names import quote_name

    _note_agreement(model, predicted, table)
    frame = _frame(model, predicted, shares)
    counts = frame.iloc[:, 0].value_counts()
    found = {"target_type": "classes", "counts": {str(k): int(v) for k, v in counts.items()}}
    return frame, found, ", ".join(f"{quote_name(k)}: {v}" for k, v in counts.items())


def _describe_numbers(
    model: NumericTableModel, predicted: Predictions, table: pd.DataFrame
) -> tuple[pd.DataFrame, dict[str, Any], str]:
    """Return the table of predicted numbers, what JSON says of them, and a line for the terminal.

    ``table`` is the table that was read. If it has the target, the errors are printed.
    """
    import pandas as pd

    values = predicted.labels
    found: dict[str, Any] = {"target_type": "numeric"}
    line = "no predictions"
    if len(values):
        low, mean, high = float(values.min()), float(values.mean()), float(values.max())
        found["range"], found["mean"] = [low, high], mean
        line = f"predictions from {low:.6g} to {high:.6g}, mean {mean:.6g}"
    scores = model.score_table(table, values)
    if scores is not None:
        found["scores"] = scores
        r2 = "not defined" if scores["r2"] is None else f"{scores['r2']:.4f}"
        note(
            f"the table has the target: R² {r2}, RMSE {scores['rmse']:.6g}, MAE {scores['mae']:.6g} over "
            f"{scores['rows']} rows"
        )
    return pd.DataFrame({model.target: values}), found, line


def _frame(model: TableModel, predicted: Predictions, shares: bool) -> pd.DataFrame:
    """Return a table of the predicted labels, with the shares of all classes if ``shares`` is true."""
    import pandas as pd

    columns = {model.target: predicted.labels}
    if shares:
        columns |= {f"share of {label}": predicted.shares[:, i] for i, label in enumerate(model.classes)}
    return pd.DataFrame(columns)


def _note_agreement(model: TableModel, predicted: Predictions, frame: pd.DataFrame) -> None:
    """If the table has labels of its own, print how many of them agree with the predictions."""
    if model.target not in frame.columns:
        return
    import numpy as np

    from ..datasets.cleaning import as_categories

    own = as_categories(frame[model.target])
    if isinstance(own, str):  # no labels at all
        return
    known = own.codes >= 0
    right = np.asarray(own.astype(object)) == predicted.labels.astype(str)
    if known.any():
        agree, all_ = int((right & known).sum()), int(known.sum())
        note(f"the table has labels of its own: {agree} of {all_} agree ({agree / all_:.1%})")
