"""Model files, which several commands read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..classifiers import TableClassifier
    from ..regressors import TableRegressor

__all__ = ["load_model"]


def load_model(path: Path) -> TableClassifier | TableRegressor:
    """Return the model in a file that ``weighbors fit`` or ``save`` wrote, also one of version 0.1.

    Raises
    ------
    ModelFileError
        If the file is damaged, was changed, or is something else.
    """
    from ..classifiers import TableClassifier
    from ..classifiers.table_file import is_old_file, kind_in_file
    from ..regressors import NumericTableModel, TableRegressor, load_table_model

    if is_old_file(path):
        numeric = isinstance(load_table_model(path), NumericTableModel)
    else:
        numeric = kind_in_file(path) == "TableRegressor"  # if it is no model, load says what is wrong
    return TableRegressor.load(path) if numeric else TableClassifier.load(path)
