"""Which weights are larger than chance gives? Permuted labels, with the false discoveries held down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from .._checks import whole_number
from .._results import Result, table_lines
from .._typing import AnyArray, FloatArray
from ..exceptions import InvalidDataError
from ._fitting import scores_of, seed_of, seed_sequence

__all__ = ["PermutationResult", "permutation_test"]


@dataclass(frozen=True, eq=False, repr=False)
class PermutationResult(Result):
    """Weights of the features and how likely chance gives as much.

    Attributes
    ----------
    scores : ndarray of shape (n_features,)
    p_values : ndarray of shape (n_features,)
        Share of permutations, the data themselves counted as one, whose weight is at least as large.
    adjusted : ndarray of shape (n_features,)
        For the false discovery rate.
    familywise : ndarray of shape (n_features,)
        Against the largest weight of each permutation (Westfall and Young): the chance of any false
        finding.
    null_mean, null_deviation : ndarray of shape (n_features,)
    n_permutations : int
    fdr : {"bh", "by"}
    null : {"feature", "pooled"}
    scheme : str
        How labels were permuted.
    feature_names : tuple of str
    """

    scores: FloatArray
    p_values: FloatArray
    adjusted: FloatArray
    familywise: FloatArray
    null_mean: FloatArray
    null_deviation: FloatArray
    n_permutations: int
    fdr: str
    null: str
    scheme: str
    feature_names: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row per feature, the most significant first."""
        frame = pd.DataFrame(
            {
                "score": self.scores,
                "p_value": self.p_values,
                "adjusted": self.adjusted,
                "familywise": self.familywise,
                "null_mean": self.null_mean,
                "null_deviation": self.null_deviation,
            },
            index=pd.Index(self.feature_names, name="feature"),
        )
        return frame.sort_values(["p_value", "score"], ascending=[True, False], kind="stable")

    def discoveries(self, rate: float = 0.05) -> list[str]:
        """Names of the features found at this false discovery rate, the most significant first."""
        frame = self.frame()
        return [str(name) for name in frame.index[frame["adjusted"] <= rate]]

    def _lines(self) -> list[str]:
        least = 1 / (self.n_permutations * (len(self.scores) if self.null == "pooled" else 1) + 1)
        rule = {"bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli"}[self.fdr]
        return [
            f"Permutation test of {len(self.scores)} features: {len(self.discoveries())} found at a false discovery "
            f"rate of 5 % ({rule})",
            f"  {self.n_permutations} permutations, {self.scheme}; null: {self.null}; smallest possible p {least:.2g}",
            *table_lines(self.frame().head(10)[["score", "p_value", "adjusted", "familywise"]]),
        ]


def _scheme(y: AnyArray, groups: Any) -> tuple[str, AnyArray | None, bool]:
    """How labels may be exchanged: over rows, over whole groups, or within groups."""
    if groups is None:
        return "labels exchanged between rows", None, False
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    labels_of = pd.Series(y).groupby(codes).nunique()
    if (labels_of == 1).all():
        return "labels exchanged between whole groups", codes, True
    return "labels exchanged within groups", codes, False


def _permuted(y: AnyArray, codes: AnyArray | None, whole: bool, random: np.random.Generator) -> AnyArray:
    if codes is None:
        return np.asarray(random.permutation(y))
    if whole:
        first = np.unique(codes, return_index=True)[1]
        return np.asarray(random.permutation(y[first]))[codes]
    out = y.copy()
    for group in range(codes.max() + 1):
        rows = np.flatnonzero(codes == group)
        out[rows] = random.permutation(y[rows])
    return out


def _null_scores(
    weigher: Any, X: Any, y: AnyArray, codes: AnyArray | None, whole: bool, child: np.random.SeedSequence
) -> FloatArray:
    labels = _permuted(y, codes, whole, np.random.default_rng(child))
    return scores_of(weigher, X, labels, np.arange(len(y)), seed_of(child.spawn(1)[0]))


def permutation_test(
    weigher: Any,
    X: Any,
    y: Any,
    *,
    n_permutations: int = 200,
    groups: Any = None,
    fdr: str = "bh",
    null: str = "feature",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> PermutationResult:
    """p-values for any weigher's weights, by fitting it again to permuted labels.

    Parameters
    ----------
    weigher : estimator or callable
        As in `stability_curve`.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    n_permutations : int, default=200
    groups : array-like of shape (n_samples,), optional
        Rows that belong together (the samples of one patient). Where each group has one label, labels
        are exchanged between whole groups; otherwise within groups.
    fdr : {"bh", "by"}, default="bh"
        Benjamini and Hochberg's adjustment, or Benjamini and Yekutieli's for any dependence.
    null : {"feature", "pooled"}, default="feature"
        Compare a weight with the permuted weights of the same feature, or of all features. Pooling gives
        small p-values from few permutations, but only holds where weights of irrelevant features are
        on one scale.
    random_state : int, RandomState or None, default=0
    n_jobs : int or None, default=None
        Permutations at a time. Results do not depend on it.

    Returns
    -------
    PermutationResult

    References
    ----------
    .. [1] B. Phipson, G. K. Smyth, "Permutation p-values should never be zero", SAGMB 9, 2010.
    .. [2] Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate", JRSS B 57, 1995.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from weighbors import ReliefF
    >>> from weighbors.evaluation import permutation_test
    >>> X, y = make_classification(
    ...     120, 8, n_informative=2, n_redundant=0, n_clusters_per_class=1, shuffle=False, random_state=0
    ... )
    >>> permutation_test(ReliefF(), X, y, n_permutations=99).discoveries()
    ['x1', 'x0']
    """
    from joblib import Parallel, delayed

    n_permutations = whole_number(n_permutations, "n_permutations")
    if fdr not in ("bh", "by"):
        raise InvalidDataError(f"fdr must be 'bh' or 'by'; got {fdr!r}")
    if null not in ("feature", "pooled"):
        raise InvalidDataError(f"null must be 'feature' or 'pooled'; got {null!r}")
    y = column_or_1d(y)
    names = tuple(str(name) for name in X.columns) if hasattr(X, "columns") else None
    X = X if hasattr(X, "shape") else np.asarray(X)
    check_consistent_length(X, y, groups)
    scheme, codes, whole = _scheme(y, groups)
    own, *children = seed_sequence(random_state).spawn(n_permutations + 1)
    scores = scores_of(weigher, X, y, np.arange(len(y)), seed_of(own))
    permuted = np.array(
        Parallel(n_jobs=n_jobs)(delayed(_null_scores)(weigher, X, y, codes, whole, child) for child in children)
    )
    p_values, familywise = _p_values(scores, permuted, null)
    adjusted = np.asarray(false_discovery_control(p_values, method=fdr))
    names = names or tuple(f"x{j}" for j in range(len(scores)))
    centre, spread = permuted.mean(axis=0), permuted.std(axis=0)
    return PermutationResult(
        scores, p_values, adjusted, familywise, centre, spread, n_permutations, fdr, null, scheme, names
    )


def _p_values(scores: FloatArray, permuted: FloatArray, null: str) -> tuple[FloatArray, FloatArray]:
    """Share of the null at or above each score, the data counted as one; alone and against the largest."""
    reach = scores - 1e-12 * np.abs(scores)  # equal but for rounding is equal
    largest = permuted.max(axis=1)
    familywise = (1 + (largest[:, None] >= reach).sum(axis=0)) / (1 + len(permuted))
    if null == "feature":
        return (1 + (permuted >= reach).sum(axis=0)) / (1 + len(permuted)), familywise
    pool = np.sort(permuted, axis=None)
    at_least = len(pool) - np.searchsorted(pool, reach, side="left")
    return (1 + at_least) / (1 + len(pool)), familywise
