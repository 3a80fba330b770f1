"""K* for numeric targets: the mean target of the training rows, weighted by their transformation probabilities."""

from __future__ import annotations

from typing import Any

from .._typing import FloatArray
from ..classifiers.kstar import BaseKStar
from .lazy import LazyRegressor

__all__ = ["KStarRegressor"]


class KStarRegressor(BaseKStar, LazyRegressor):
    """K* for numeric targets, as Weka's KStar.

    Nearness is the probability that random steps change one row into another. The probability of each training row is
    that of `KStar`. The prediction is the mean target of the training rows, weighted by their probabilities.

    Parameters
    ----------
    blend : float, default=20
        Per cent of the training rows that count in a feature, in addition to the rows nearest to the query. Values
        near 0 give the nearest neighbour, values near 100 give the mean of all rows.
    missing : {"average", "farthest"}, default="average"
        Probability of a training value that is missing. "average": the mean probability of the known values.
        "farthest": the smallest probability of a known value.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
    handle_unknown : {"different", "error"}, default="different"
        What happens if a query has a category that was not in the training data. "different": the feature has no
        effect on this query. "error": an error is raised.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if ``X`` had column names.
    n_samples_fit_ : int

    See Also
    --------
    KStar : The same for classes. Its notes say how missing values and ``sample_weight`` count, and how it differs from
        Weka.

    References
    ----------
    .. [1] J. G. Cleary, L. E. Trigg, "K*: an instance-based learner using an entropic distance
       measure", ICML (1995) 108-114.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weighbors import KStarRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(KStarRegressor(80).fit(X[::2], y[::2]).score(X[1::2], y[1::2]), 3)
    0.366
    """

    def predict(self, X: Any) -> FloatArray:
        """Return the mean target of the training rows, weighted by their probabilities.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        return self._run(self._means, X)

    def _means(self, queries: FloatArray) -> FloatArray:
        """Return the weighted mean target of all stored rows, for each query."""
        chance = self._chances(queries)
        mean: FloatArray = (chance * self._targets.scaled).sum(axis=1) / chance.sum(axis=1)
        return self._targets.restore(mean)
