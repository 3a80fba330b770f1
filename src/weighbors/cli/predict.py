"""``weighbors predict``: read a model and a table, and write predicted labels or numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ._data import TABLES, check_output, load_model, read_new_rows, split_known_target, write_frame
from ._options import FileOptions, Model, WritingOptions
from ._say import note, notes, print_json, say, write_raw

if TYPE_CHECKING:
    import pandas as pd

    from .._typing import AnyArray, FloatArray

NAME = "predict"


def run(
    model: Model,
    table: FileOptions,
    common: WritingOptions,
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="FILE", help="Table to write. Without it, csv is printed on stdout."
    ),
) -> None:
    """Predict the rows of a table with a saved model.

    The output has one line per row of the table, in the same order: the name of the row, the prediction, and the
    probability of every class. If a column of the model is missing, the command ends with an error. Notes name
    unknown columns and unknown categories, and report rows that the model was fitted to.
    """
    check_output(output, force=common.force, inputs=(model, table.data), formats=TABLES)
    loaded = load_model(model)
    truth, columns = split_known_target(loaded, read_new_rows(table, loaded))
    said = loaded.check_table(columns)
    notes(said)
    frame = loaded.predict_table(columns).reset_index(names="row")
    known = loaded.count_training_rows(columns)
    if known:
        note(f"{known} of {len(columns)} rows are training rows: they do not show how well new rows are predicted")
    found, line = (_describe_labels if hasattr(loaded, "classes_") else _describe_numbers)(frame, truth)
    if output is not None:
        write_frame(frame, output)
    if common.json:
        cells = {str(name): frame[name] for name in frame.columns} if output is None else {"output": str(output)}
        print_json({"model": str(model), "rows": len(frame), **found, **cells, "notes": said})
    elif output is None:
        write_raw(frame.to_csv(index=False, lineterminator="\n"))
    else:
        say(f"{output}: {len(frame)} rows; {line}")


def _describe_labels(frame: pd.DataFrame, truth: pd.Series | None) -> tuple[dict[str, Any], str]:
    """Describe predicted labels for JSON and in a line for the terminal. ``truth`` are the labels of the table."""
    from .._names import quote_name

    labels = frame["prediction"]
    if truth is not None:
        _note_agreement(labels.to_numpy(), truth)
    counts = labels.value_counts()
    found = {"target_type": "classes", "counts": {str(k): int(v) for k, v in counts.items()}}
    return found, ", ".join(f"{quote_name(k)}: {v}" for k, v in counts.items())


def _describe_numbers(frame: pd.DataFrame, truth: pd.Series | None) -> tuple[dict[str, Any], str]:
    """Describe predicted numbers for JSON and in a line for the terminal. Errors are printed if there is a truth.

    A model of several outputs has a column for each of them; then there are no numbers in the line.
    """
    found: dict[str, Any] = {"target_type": "numeric"}
    if "prediction" not in frame:
        return found, f"{frame.shape[1] - 1} outputs"
    values = frame["prediction"].to_numpy()
    low, mean, high = float(values.min()), float(values.mean()), float(values.max())
    found |= {"range": [low, high], "mean": mean}
    scores = None if truth is None else _score_numbers(truth, values)
    if scores is not None:
        found["scores"] = scores
        r2 = "not defined" if scores["r2"] is None else f"{scores['r2']:.4f}"
        note(
            f"the table has the target: R² {r2}, RMSE {scores['rmse']:.6g}, MAE {scores['mae']:.6g} over "
            f"{scores['rows']} rows"
        )
    return found, f"predictions from {low:.6g} to {high:.6g}, mean {mean:.6g}"


def _note_agreement(labels: AnyArray, truth: pd.Series) -> None:
    """Print how many labels of the table agree with the predictions. Rows without a label do not count."""
    import numpy as np

    from ..tables.cleaning import as_categories

    own = as_categories(truth)
    if isinstance(own, str):  # no labels at all
        return
    known = own.codes >= 0
    right = np.asarray(own.astype(object)) == labels.astype(str)
    if known.any():
        agree, all_ = int((right & known).sum()), int(known.sum())
        note(f"the table has labels: {agree} of {all_} predictions agree with them ({agree / all_:.1%})")


def _score_numbers(truth: pd.Series, predicted: FloatArray) -> dict[str, Any] | None:
    """Return ``r2``, ``rmse``, ``mae`` and ``rows`` of predictions, or None if no row has a number.

    Rows without a number are left out. R² is None for a single row and for a constant target.
    """
    import numpy as np
    import pandas as pd

    numbers = pd.to_numeric(truth.astype(object), errors="coerce").to_numpy(dtype=np.float64)
    known = np.isfinite(numbers)
    if not known.any():
        return None
    numbers, error = numbers[known], numbers[known] - predicted[known]
    total = float(np.square(numbers - numbers.mean()).sum())
    return {
        "r2": 1.0 - float(np.square(error).sum()) / total if total > 0 else None,
        "rmse": float(np.sqrt(np.square(error).mean())),
        "mae": float(np.abs(error).mean()),
        "rows": int(known.sum()),
    }
