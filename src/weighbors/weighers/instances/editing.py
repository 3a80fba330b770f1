"""Wilson's editing (ENN), with which DROP3 and ICF begin."""

from __future__ import annotations

import numpy as np

from ..._typing import BoolArray
from .rows import LabelledRows, majority


def edit_rows(table: LabelledRows, k: int) -> BoolArray:
    """Return which rows have the class of the majority of their k nearest other rows.

    Of classes with equally many votes, the first in the order of codes wins. If there are fewer than k other rows, all
    of them vote.

    References
    ----------
    .. [1] D. L. Wilson, "Asymptotic properties of nearest neighbor rules using edited data", IEEE Transactions on
       Systems, Man, and Cybernetics 2, 1972.

    Examples
    --------
    >>> table = LabelledRows(np.array([[0.0], [1.0], [1.2], [2.0]]), np.array([0, 0, 1, 0]), 2)
    >>> edit_rows(table, 1)
    array([ True, False, False, False])
    """
    every = np.arange(table.n)
    _, row = table.nearest(every, every, min(k, table.n - 1))
    kept: BoolArray = majority(np.where(row < 0, -1, table.codes[row]), table.n_classes) == table.codes
    return kept
