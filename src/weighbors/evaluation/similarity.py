"""Stability of selections if features can stand in for each other (Sechidis et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._display.results import number
from .._typing import BoolArray, FloatArray
from ..exceptions import InvalidDataError
from .selections import check_selections
from .stability import Stability

#: Differences of similarities below this are rounding errors.
_ROUNDING = 1e-9


class SimilarityStability(Stability):
    """Sechidis' stability of a set of runs. It has the attributes and methods of `Stability`."""

    def _lines(self) -> list[str]:
        value = f"{self.stability:.4f}, standard error {number(self.standard_error)}"
        size = f"{self.n_runs} runs, {number(self.mean_size)} of {self.n_features} features on average"
        return [f"Stability with similarity (Sechidis) {value}; {size}{self.reason and '; ' + self.reason}"]


@dataclass(frozen=True, eq=False)
class SimilaritySums:
    """A similarity C between features, in the form that the stability needs.

    Attributes
    ----------
    factor : sparse or dense matrix with n_features rows, or None
        The similarity C itself, or the membership in groups G, for which C = G Gᵀ.
    grouped : bool
        Whether ``factor`` is the membership in groups.
    off_diagonal : float
        Sum of the similarities of all ordered pairs of two different features.
    """

    factor: Any
    grouped: bool
    off_diagonal: float

    def products(self, matrix: BoolArray) -> FloatArray:
        """Return Z C Zᵀ for selections Z: how similar the selections of each pair of runs are."""
        z = matrix.astype(np.float64)
        if not self.grouped:
            return np.asarray((self.factor @ z.T).T @ z.T)
        # The number of selected features of each group: two selections agree in a group by the product of both.
        counts = np.asarray((self.factor.T @ z.T).T)
        return counts @ counts.T


def read_similarity(similarity: Any, n_features: int) -> SimilaritySums:
    """Check a similarity matrix or a vector of group numbers, and return its `SimilaritySums`.

    ``similarity`` may also be the result of `redundancy_groups`, which has ``groups``, or a `SimilaritySums`.
    """
    if isinstance(similarity, SimilaritySums):
        return similarity
    similarity = getattr(similarity, "groups", similarity)
    if sparse.issparse(similarity):
        return _matrix_sums(similarity.tocsr().astype(np.float64), n_features)
    values = np.asarray(getattr(similarity, "to_numpy", lambda: similarity)())
    if values.ndim == 1:
        return _group_sums(values, n_features)
    if values.dtype.kind not in "fiub":
        raise InvalidDataError(f"similarity must hold numbers; got {values.dtype}")
    return _matrix_sums(values.astype(np.float64), n_features)


def _group_sums(groups: Any, n_features: int) -> SimilaritySums:
    """Return the sums for group numbers: features of the same group have similarity 1, all others 0."""
    if len(groups) != n_features:
        raise InvalidDataError(f"groups of features need one number per feature ({n_features}); got {len(groups)}")
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    shape = (n_features, len(sizes))
    member = sparse.csr_array((np.ones(n_features), (np.arange(n_features), codes)), shape=shape)
    return SimilaritySums(member, True, float(np.square(sizes.astype(np.float64)).sum() - n_features))


def _matrix_sums(matrix: Any, n_features: int) -> SimilaritySums:
    """Return the sums for a similarity matrix. Raise InvalidDataError if it is none."""
    if matrix.shape != (n_features, n_features):
        raise InvalidDataError(
            f"similarity must be a matrix of {n_features} × {n_features} features, or one group number per feature; "
            f"got shape {matrix.shape}"
        )
    values = matrix.data if sparse.issparse(matrix) else matrix
    if values.size and not (np.isfinite(values).all() and values.min() >= 0 and values.max() <= 1 + _ROUNDING):
        raise InvalidDataError("similarities must lie between 0 and 1; use absolute values of correlations")
    if np.abs(matrix.diagonal() - 1).max() > _ROUNDING:
        raise InvalidDataError("the similarity of a feature with itself must be 1: the diagonal holds other values")
    if abs(matrix - matrix.T).max() > _ROUNDING:
        raise InvalidDataError("similarity must be symmetric; got different values for (a, b) and (b, a)")
    return SimilaritySums(matrix, False, float(matrix.sum() - n_features))


def stability_of_products(products: FloatArray, sizes: FloatArray, d: int, off_diagonal: float) -> FloatArray:
    """Return the stability of all runs, and then the stabilities without run 1, without run 2, and so on.

    Parameters
    ----------
    products : ndarray of shape (n_runs, n_runs)
        Z C Zᵀ, from `SimilaritySums.products`.
    sizes : ndarray of shape (n_runs,)
        Number of features that each run selects.
    d : int
        Number of features.
    off_diagonal : float
        As in `SimilaritySums`.

    Returns
    -------
    ndarray of shape (n_runs + 1,)
        NaN where the stability is not defined.
    """
    runs = len(products)
    # Everything is a sum over runs or pairs of runs, so that leaving a run out subtracts its part of each sum.
    left = np.r_[runs, np.full(runs, runs - 1.0)]
    own = np.r_[0.0, np.diag(products)]
    diagonal = np.trace(products) - own
    pairs = products.sum() - np.r_[0.0, 2 * products.sum(axis=1)] + own
    mean = (sizes.sum() - np.r_[0.0, sizes]) / left
    mean_square = (np.square(sizes).sum() - np.r_[0.0, np.square(sizes)]) / left
    with np.errstate(divide="ignore", invalid="ignore"):
        # tr(C S), with S the sample covariance of the selections.
        spread = (diagonal - pairs / left) / (left - 1)
        # tr(C Σ₀): variances and covariances of features that are selected at random in runs of these sizes.
        variance = mean / d * (1 - mean / d)
        covariance = (mean_square - mean) / (d * (d - 1)) - mean**2 / d**2 if d > 1 else np.zeros_like(mean)
        chance = d * variance + off_diagonal * covariance
        # Without variation by chance there is nothing to compare with: all features are selected, or all are alike.
        return np.where(chance > _ROUNDING * d * np.maximum(variance, 1e-300), 1 - spread / chance, np.nan)


def similarity_stability(selections: Any, similarity: Any, n_features: int | None = None) -> SimilarityStability:
    """Compute Sechidis' stability, for which a similar feature counts as partly the same one.

    Φ_C = 1 − tr(C S) / tr(C Σ₀), where C is the similarity of the features, S is the sample covariance of the
    selections over the runs, and Σ₀ is their covariance if features were selected at random in runs of the same sizes.
    If features are similar to themselves only (C = I), Φ_C is Nogueira's Φ.

    Parameters
    ----------
    selections : bool array-like of shape (n_runs, n_features), or list of sets
    similarity : array-like or sparse matrix of shape (n_features, n_features), array-like of shape (n_features,), \
or RedundancyGroups
        A symmetric matrix with values from 0 to 1 and a diagonal of 1. Or one group number per feature: features of
        the same group have similarity 1, all others 0.
    n_features : int, optional
        Needed with sets.

    Returns
    -------
    SimilarityStability
        The stability. Its variance is estimated by the jackknife over runs, and is NaN for two runs.

    Notes
    -----
    Φ_C is at most 1 if C is positive semidefinite. Group numbers always are. Correlations whose small values
    were set to 0 need not be, and then Φ_C may be larger than 1.

    References
    ----------
    .. [1] K. Sechidis, K. Papangelou, S. Nogueira, J. Weatherall, G. Brown, "On the stability of feature selection in
       the presence of feature correlations", ECML PKDD 2019.

    Examples
    --------
    Features 0 and 1 are copies of each other. Each run selects one of them.

    >>> runs = [{0, 2}, {1, 2}, {0, 2}, {1, 2}]
    >>> similarity_stability(runs, [0, 0, 1, 2, 3], n_features=5)
    Stability with similarity (Sechidis) 1.0000, standard error 0; 4 runs, 2 of 5 features on average
    >>> from weighbors.evaluation import nogueira_stability
    >>> round(float(nogueira_stability(runs, n_features=5)), 4)
    0.4444
    """
    matrix = check_selections(selections, n_features)
    runs, d = matrix.shape
    sums = read_similarity(similarity, d)
    sizes = matrix.sum(axis=1).astype(np.float64)
    found = stability_of_products(sums.products(matrix), sizes, d, sums.off_diagonal)
    phi, each = float(found[0]), found[1:]
    reason = ""
    if np.isnan(phi):
        reason = "not defined: selections at random would not differ either (no or all features are selected, or all "
        reason += "features stand in for each other)"
    variance = float((runs - 1) / runs * np.square(each - each.mean()).sum()) if runs > 2 else float("nan")
    return SimilarityStability(phi, variance, runs, d, float(sizes.mean()), reason)
