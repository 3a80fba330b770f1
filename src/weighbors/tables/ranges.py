"""Two ways to scale columns by their range: factors for the columns, and scaled rows."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray


def invert_ranges(span: FloatArray) -> FloatArray:
    """Return 1 / range of each column, and 0 for columns that hold a single value.

    ``span`` holds the ranges. A range that is too small gives infinity.

    Examples
    --------
    >>> invert_ranges(np.array([4.0, 0.0]))
    array([0.25, 0.  ])
    """
    with np.errstate(over="ignore"):
        return np.divide(1.0, span, out=np.zeros(len(span)), where=span > 0)


def scale_columns(rows: FloatArray, low: FloatArray, span: FloatArray) -> FloatArray:
    """Scale columns so that their range becomes 0 to 1. If a range is 0, only ``low`` is subtracted.

    Parameters
    ----------
    rows : ndarray of shape (n, M)
    low, span : ndarrays of shape (M,)
        Smallest value of each column, and its range.

    Examples
    --------
    >>> scale_columns(np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([1.0, 5.0]), np.array([4.0, 0.0]))
    array([[0. , 0. ],
           [0.5, 0. ]])
    """
    scaled: FloatArray = (rows - low) / np.where(span > 0, span, 1.0)
    return scaled
