"""Compute how much each feature adds to a distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IndexArray
from .references import References


def contributions(references: References, queries: Any, rows: IndexArray) -> FloatArray:
    """Return the term of each feature in the distance: in d² for p = 2, in d for p = 1.

    Parameters
    ----------
    references : References
    queries : array or CSR of shape (n_queries, M)
    rows : ndarray of shape (n_queries, k)
        Row numbers of training rows. All must be stored in ``references``.

    Returns
    -------
    ndarray of shape (n_queries, k, M)
        Terms for all columns of the original table, 0 for columns that are not used.

    Examples
    --------
    >>> from weighbors import Weights
    >>> from weighbors.engine import build_references
    >>> stored = build_references(np.array([[0.0, 5.0], [1.0, 7.0]]), weights=Weights(feature_weights=[2.0, 1.0]))
    >>> contributions(stored, np.array([[1.0, 5.0]]), np.array([[0, 1]]))
    array([[[2., 0.],
            [0., 4.]]])
    """
    slots = np.searchsorted(references.row_of_slot, rows)
    flat = references.rows[slots.ravel()]
    flat = flat.toarray() if sparse.issparse(flat) else flat
    stored = flat.reshape(*slots.shape, references.m).astype(np.float64)
    dense = queries.toarray() if sparse.issparse(queries) else queries
    asked = references.select(dense)[:, None, :].astype(np.float64)
    numeric = np.arange(references.m) < references.n_numeric
    missing_distance = references.missing_distance.astype(np.float64)
    # A difference is NaN where a value is missing, and then counts the full range. Codes of categories have no
    # difference: they are compared.
    difference = np.abs(stored - asked)
    difference = np.where(np.isnan(difference), missing_distance, difference)
    difference = np.where(numeric, difference, np.where(stored == asked, 0.0, missing_distance))
    terms = difference**references.p
    if references.feature_weights is not None:
        terms *= references.feature_weights
    elif references.cells is not None:
        # The weights are looked up for the stored row, since weights per instance belong to it and not to the query.
        table, row = references.cells.of(slots.ravel(), references.dtype)
        terms *= table[row].reshape(terms.shape)
    if references.scales is not None:
        terms *= references.scales[slots][:, :, None]
    out = np.zeros((*slots.shape, references.n_columns))
    out[:, :, references.columns] = terms
    return out
