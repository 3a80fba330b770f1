"""Small models for numeric targets that LWL fits to each query: a decision stump, and a linear function.

The weights of the rows are a matrix of shape (n_rows, n_queries), as in `weighbors.classifiers.local_models`.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .._ranges import scale_columns
from .._typing import BoolArray, FloatArray, IndexArray
from ..classifiers.local_models import NOTHING, BaseStump, Column
from ..engine.references import column_ranges
from .lazy import ScaledTargets

__all__ = ["LocalLinear", "NumericStump"]


class NumericStump(BaseStump):
    """A decision stump for numbers: the test that leaves the smallest squared error. A branch predicts its mean.

    The table of a branch has two sums: of the weights w, and of w·r. The residual r of a row is its target minus the
    mean of the query's rows, divided by their standard deviation. Then tests are compared on the scale on which
    `BaseStump` compares entropies, and no digits are lost if the targets of a neighbourhood hardly differ.

    Parameters
    ----------
    rows, nominal
        As in `BaseStump`.
    targets : ScaledTargets
    """

    def __init__(self, rows: FloatArray, nominal: BoolArray, targets: ScaledTargets) -> None:
        self.targets = targets
        super().__init__(rows, nominal, 2)

    def _make_cells(self, position: IndexArray, n_positions: int) -> sparse.csr_matrix:
        n = len(position)
        return sparse.csr_matrix((np.ones(n), (position, np.arange(n))), shape=(n_positions, n))

    def _sums(self, column: Column, W: FloatArray) -> FloatArray:
        # W holds w and w·r side by side, of shape (n, 2 · n_queries).
        sums = (column.cells @ W).reshape(column.cells.shape[0], 2, -1)
        return sums.transpose(1, 0, 2)

    @staticmethod
    def _impurity(table: FloatArray) -> FloatArray:
        # Σ w r² − (Σ w r)²/Σ w, without the first term: its sum over the branches is the same for all tests.
        weight, residual = table
        return -np.divide(residual * residual, weight, out=np.zeros_like(residual), where=weight > NOTHING)

    @staticmethod
    def _weight(table: FloatArray) -> FloatArray:
        weight: FloatArray = table[0]
        return weight

    def predict(self, W: FloatArray, queries: FloatArray) -> FloatArray:
        """Return the mean target in the branch that each query belongs to, of shape (n_queries,).

        ``W`` holds the row weights, of shape (n, n_queries). If no row is in the branch, the mean of all rows is
        returned.
        """
        y = self.targets.scaled
        # Sparse products sum in the order of the rows, so that rounding does not depend on the number of queries.
        every = sparse.csr_matrix(np.ones((1, len(y))))
        weight = (every @ W)[0]
        mean = (every @ (W * y[:, None]))[0] / weight
        residual = y[:, None] - mean
        deviation = np.sqrt((every @ (W * residual**2))[0] / weight)
        np.divide(residual, deviation, out=residual, where=deviation > 0)
        branch, _ = self._branches(np.concatenate([W, W * residual], axis=1), weight, queries)
        # A branch without weight, up to rounding, has no information. The mean of all residuals is 0.
        share, total = branch.T
        local = np.divide(total, share, out=np.zeros_like(total), where=share > NOTHING)
        return self.targets.restore(mean + deviation * local)


class LocalLinear:
    """A linear function, fitted by weighted least squares with a small ridge.

    Numbers are scaled by their column ranges. A categorical feature has one column per category, with values 0 and 1.
    A missing cell is replaced by the weighted mean of its column, over the rows that count for the query. The slopes b
    and the intercept minimise Σ w (y − intercept − b·z)² + ridge · Σ w · b·b.

    Parameters
    ----------
    rows : ndarray of shape (n, M)
        The training rows.
    nominal : bool ndarray of shape (M,)
        Which features are categorical.
    targets : ScaledTargets
    ridge : float
        If it is 0, the shortest of all vectors of slopes with the least squared error is used.
    """

    def __init__(self, rows: FloatArray, nominal: BoolArray, targets: ScaledTargets, ridge: float) -> None:
        self.nominal, self.targets, self.ridge = nominal, targets, ridge
        low, high, _ = column_ranges(rows)
        self.low, self.span = low.astype(np.float64), high.astype(np.float64) - low.astype(np.float64)
        self.categories = {j: np.unique(rows[~np.isnan(rows[:, j]), j]) for j in np.flatnonzero(nominal).tolist()}
        self.table = self._expand(rows)
        self.cells = 4 * self.table.size

    def _expand(self, rows: FloatArray) -> FloatArray:
        """Return scaled numbers, followed by one column per category. A missing cell is NaN in all its columns."""
        numeric = ~self.nominal
        parts = [scale_columns(rows[:, numeric], self.low[numeric], self.span[numeric])]
        for j, values in self.categories.items():
            column = rows[:, [j]]
            parts.append(np.where(np.isnan(column), np.nan, column == values))
        return np.concatenate(parts, axis=1)

    def predict(self, W: FloatArray, queries: FloatArray) -> FloatArray:
        """Return the value of each query's linear function at the query, of shape (n_queries,).

        ``W`` holds the row weights, of shape (n, n_queries).
        """
        expanded = self._expand(queries)
        values = np.array([self._solve(w, z) for w, z in zip(np.ascontiguousarray(W.T), expanded, strict=True)])
        return self.targets.restore(values)

    def _solve(self, w: FloatArray, query: FloatArray) -> float:
        """Fit the linear function of one query, and return its value there. ``w`` are the weights of the rows."""
        rows = np.flatnonzero(w)
        w, z, y = w[rows], self.table[rows], self.targets.scaled[rows]
        known = ~np.isnan(z)
        z = np.where(known, z, 0.0)
        known_weight = w @ known
        # A column without any known value is 0 everywhere, and gets no slope.
        mean = np.divide(w @ z, known_weight, out=np.zeros(len(query)), where=known_weight > 0)
        z = np.where(known, z - mean, 0.0)
        center = float(w @ y / w.sum())
        root = np.sqrt(w)
        # The singular values tell which directions the rows determine. The ridge leaves the others at slope 0.
        U, s, Vt = np.linalg.svd(root[:, None] * z, full_matrices=False)
        least = s.max(initial=0.0) * np.finfo(np.float64).eps * max(z.shape)
        inverse = np.divide(s, s * s + self.ridge * w.sum(), out=np.zeros_like(s), where=s > least)
        slopes = Vt.T @ (inverse * (U.T @ (root * (y - center))))
        return center + float(np.where(np.isnan(query), 0.0, query - mean) @ slopes)
