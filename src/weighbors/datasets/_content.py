"""The digest of a table's content, which does not depend on how its file is written."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def content_digest(frame: pd.DataFrame) -> str:
    """Return the sha256 of the cells of a table, column by column, without the column names.

    A column whose cells are all numbers is compared by the numbers: "1", "1.0" and 1.0 are the same. Other columns are
    compared by their text, without spaces at the ends. Missing cells are empty. The order of rows and columns matters.
    """
    import pandas as pd

    digest = hashlib.sha256()
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j].astype(object)
        numbers = pd.to_numeric(column, errors="coerce")
        missing = column.isna()
        if bool((numbers.notna() | missing).all()):
            # Python's own conversion: that of pandas 2 may be wrong in the last bit.
            cells = ["" if gone else repr(float(cell)) for cell, gone in zip(column, missing, strict=True)]
        else:
            cells = ["" if gone else str(cell).strip() for cell, gone in zip(column, missing, strict=True)]
        # The unit and record separators of ASCII occur in no table, so different tables give different bytes.
        digest.update(("\x1f".join(cells) + "\x1e").encode())
    return digest.hexdigest()
