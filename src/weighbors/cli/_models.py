"""Model files, which several commands read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from ..models import TableClassifier, TableRegressor


def load_model(path: Path) -> TableClassifier | TableRegressor:
    """Return the model in a file that ``weighbors fit`` or ``save`` wrote.

    Raises
    ------
    ModelFileError
        If the file is damaged, was changed, or is not a model file.
    """
    from ..models import TableClassifier, TableRegressor
    from ..models.table_file import kind_in_file

    # If the file is not a model file, the load function of the classifier raises the error.
    return TableRegressor.load(path) if kind_in_file(path) == "TableRegressor" else TableClassifier.load(path)


def split_target(table: pd.DataFrame, target: str | None) -> tuple[pd.Series | None, pd.DataFrame]:
    """Return the target of a table, if it has one, and the other columns. ``target`` is its name in fit."""
    if target is None or target not in table.columns:
        return None, table
    return table[target], table.drop(columns=target)
