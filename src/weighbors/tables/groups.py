"""Check groups of rows: samples of one patient, or measurements of one machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray
from ..exceptions import InvalidDataError
from .frames import as_vector


def check_groups(groups: Any, n: int) -> AnyArray:
    """Return the group of each of ``n`` rows as a vector that can be sorted. Raise InvalidDataError if it is none.

    Groups of mixed types, which cannot be sorted, are numbered in the order of their first rows.

    Examples
    --------
    >>> check_groups(["a", "b", "a"], 3)
    array(['a', 'b', 'a'], dtype='<U1')
    >>> check_groups(np.array(["a", 2, "a"], dtype=object), 3)
    array([0, 1, 0])
    """
    import pandas as pd

    try:
        values = np.asarray(as_vector(groups))
    except ValueError as error:  # lists of different lengths
        raise InvalidDataError("groups must be one value for each row, not lists of different lengths") from error
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidDataError(f"groups must be a vector with one value for each row; got shape {values.shape}")
    if len(values) != n:
        raise InvalidDataError(
            f"Found input variables with inconsistent numbers of samples: there are {n} rows and {len(values)} groups"
        )
    try:
        codes = pd.factorize(values)[0]  # a missing group gets -1
    except TypeError as error:
        raise InvalidDataError("groups must be numbers or texts, not lists or other objects") from error
    if (codes < 0).any():
        raise InvalidDataError(
            f"{np.count_nonzero(codes < 0)} rows belong to no group (missing value). Give each a group of its own, or "
            "drop these rows"
        )
    try:
        np.unique(values)
    except TypeError:
        return np.asarray(codes)
    return values
