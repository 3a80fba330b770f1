"""``weighbors predict``: a model file and a table in, labels out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._data import check_format, check_output, read_data, write_frame
from ._options import Force, Header, Json, Quiet
from ._say import note, notes, print_json, say, set_quiet, write_raw

if TYPE_CHECKING:
    import pandas as pd

    from ..classifiers import Predictions, TableModel

__all__ = ["NAME", "run"]

NAME = "predict"


def run(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="What weighbors fit wrote.")],
    data: Annotated[Path, typer.Argument(metavar="TABLE", help="Rows to label, in any format that fit reads.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Table to write; otherwise csv on stdout.")
    ] = None,
    shares: Annotated[bool, typer.Option("--shares", help="Also the share of the votes for every class.")] = False,
    header: Header = True,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Label the rows of a table by a saved model.

    The output has one line per row of the table, in the same order. A missing column is an error. Columns that the
    model does not know, and categories that it has never seen, are named.
    """
    set_quiet(quiet)
    check_output(output, force=force, inputs=(model, data))
    check_format(output)
    from ..classifiers import TableModel

    loaded = TableModel.load(model)
    table = read_data(data, header)
    predicted = loaded.judge(table.frame)
    notes(predicted.notes)
    _note_agreement(loaded, predicted, table.frame)
    frame = _frame(loaded, predicted, shares)
    if output is not None:
        write_frame(frame, output)
    if json:
        counts = frame.iloc[:, 0].value_counts()
        description = {"model": str(model), "rows": len(frame), "counts": {str(k): int(v) for k, v in counts.items()}}
        columns = {str(name): frame[name] for name in frame.columns} if output is None else {"output": str(output)}
        print_json({**description, **columns, "notes": predicted.notes})
    elif output is None:
        write_raw(frame.to_csv(index=False, lineterminator="\n"))
    else:
        from .._names import quote_name

        counts = frame.iloc[:, 0].value_counts()
        say(f"{output}: {len(frame)} rows; " + ", ".join(f"{quote_name(k)}: {v}" for k, v in counts.items()))


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
