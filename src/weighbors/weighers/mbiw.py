"""Margin-based instance weights (MBIW): instances with unusual margins count less (paper 000)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from .._parallel.threads import effective_n_jobs
from .._typing import BoolArray, FloatArray, IndexArray
from .._validation import TakesTables
from ..engine.pairs import distance_sums
from ..weights import Weights, fingerprint
from .base import check_table, warn_of_few_neighbors
from .neighbors import find_neighbors
from .rows import Instances, TrainingRows, refuse_dense


def margin_vectors(instances: TrainingRows, n_neighbors: int | None = 1) -> Any:
    """Return the margin vector x′ = |x − m(x)| − |x − h(x)| of each row that is asked for.

    The result has shape (n, n_features) and is float64. m(x) is the nearest miss and h(x) the nearest hit.

    With several neighbours it is the mean over the ``n_neighbors`` nearest hits, and over the nearest misses of all
    other classes together; None means all hits and misses. An instance without hits has no hit term. The result is
    CSR if the rows are sparse and complete and ``n_neighbors`` is a number.
    """
    shape = (len(instances.asked), instances.n_features)
    as_sparse = instances.sparse and instances.plain and n_neighbors is not None
    if not as_sparse and isinstance(instances, Instances):
        refuse_dense(instances.rows, "MBIW over all hits and misses, or with missing values,")
    if n_neighbors is None:
        return _margins_to_all(instances)
    out = sparse.csr_matrix(shape) if as_sparse else np.zeros(shape)
    for found in find_neighbors(instances, n_neighbors, ties="index"):
        own, at = instances.codes[found.query], np.searchsorted(instances.asked, found.query)
        hit = np.arange(found.row.shape[1])[None, :] == own[:, None]
        # paper 000: the differences to the misses are added, those to the hits subtracted.
        for sign, mask in ((-1.0, hit), (1.0, ~hit)):
            distance = np.where(mask[:, :, None], found.distance, np.inf).reshape(len(own), -1)
            row = found.row.reshape(len(own), -1)
            # Misses come from several classes, so they are merged by distance, with ties by row number.
            order = np.lexsort((row, distance), axis=-1)[:, :n_neighbors]
            known = np.isfinite(np.take_along_axis(distance, order, axis=-1))
            row = np.take_along_axis(row, order, axis=-1)
            # The mean is over the neighbours that exist: a small class may have fewer than were asked for.
            share = known / np.maximum(known.sum(axis=1, keepdims=True), 1)
            for slot in range(row.shape[1]):
                part = sign * share[:, slot]
                # A selection matrix adds rows at their places and keeps the result sparse.
                if as_sparse:
                    place = (part, (at, np.arange(len(part))))
                    pairs = instances.differences(found.query, row[:, slot])
                    out = out + sparse.csr_matrix(place, shape=(shape[0], len(part))) @ pairs
                    continue
                # In parts whose differences stay in the cache.
                for some in np.array_split(np.arange(len(part)), max(1, len(part) * shape[1] // instances.cells)):
                    pairs = instances.differences(found.query[some], row[some, slot])
                    out[at[some]] += part[some, None] * pairs
    return out


def _margins_to_all(instances: TrainingRows) -> FloatArray:
    """Return, for each feature, the mean difference to all misses less the mean difference to all hits."""
    asked = instances.asked
    out = np.zeros((len(asked), instances.n_features))
    counts = np.bincount(instances.codes, minlength=instances.n_classes)
    codes = instances.codes[asked]
    hits, misses = (counts - 1)[codes], (instances.n - counts)[codes]
    for j in range(instances.n_features):
        # The shape is (n_classes, n). A row is among the hits, but its difference to itself is 0.
        sums = instances.class_difference_sums(j)[:, asked]
        own = sums[codes, np.arange(len(asked))]
        out[:, j] = (sums.sum(axis=0) - own) / np.maximum(misses, 1) - own / np.maximum(hits, 1)
    return out


def instance_weights(margins: Any, n_jobs: int = 1) -> FloatArray:
    """Return the instance weights ω from the margin vectors (paper 000, eq. 2). They sum to 1.

    ω is proportional to 1 / (mean distance to the other margin vectors).

    If all margin vectors are equal, all distances are 0 and the weights are equal.
    """
    rows = margins if sparse.issparse(margins) else np.ascontiguousarray(margins, dtype=np.float64)
    return inverse_weights(distance_sums(rows, n_jobs))


def inverse_weights(sums: FloatArray) -> FloatArray:
    """Return the instance weights ω from the sum of the distances of each margin vector to the others."""
    n = len(sums)
    mean = sums / max(n - 1, 1)
    if not (mean > 0).all():
        return np.full(n, 1.0 / n)
    inverse = 1.0 / mean
    weights: FloatArray = inverse / inverse.sum()
    return weights


def mbiw(
    X: Any,
    codes: IndexArray,
    n_classes: int,
    nominal: BoolArray,
    *,
    n_neighbors: int | None = 1,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the margin-based instance weights of coded rows.

    Parameters
    ----------
    X : array or CSR of shape (n, M)
    codes : ndarray of shape (n,)
        Class of each row.
    n_classes : int
    nominal : bool ndarray of shape (M,)
    n_neighbors : int or None
        Hits and misses per instance; None: all.
    n_jobs : int or None

    Returns
    -------
    ndarray of shape (n,)
        They sum to 1.
    """
    instances = Instances(X, codes, n_classes, nominal, scaled=False, p=2, n_jobs=n_jobs)
    return instance_weights(margin_vectors(instances, n_neighbors), effective_n_jobs(n_jobs))


@dataclass(eq=False, repr=False)
class MBIW(TakesTables, BaseEstimator):
    """Weigh instances by how usual their margins are.

    Each instance becomes the vector of its differences to its nearest miss less those to its
    nearest hit. Instances whose vectors lie far from the others are outlying and get little
    weight. The weights multiply votes in a k-NN.

    Parameters
    ----------
    n_neighbors : int or "all", default=1
        Hits and misses per instance.
    categorical_features : "from_dtype", None, or list of names, numbers or bools, default="from_dtype"
        Columns that differ by 0 or 1.
    n_jobs : int, optional
        Threads. Results do not depend on it.

    Attributes
    ----------
    instance_weights_ : ndarray of shape (n_samples,)
        Weights of the instances, which sum to 1.
    weights_ : Weights
        The same weights as ``votes``, multiplied by N, so that their mean is 1.
    classes_ : ndarray of shape (n_classes,)

    References
    ----------
    .. [1] Y. Han, L. Yu, "A variance reduction framework for stable feature selection", ICDM 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import MBIW
    >>> X, y = load_iris(return_X_y=True)
    >>> MBIW().fit(X, y).instance_weights_.argmin()  # the most outlying flower
    np.int64(15)
    """

    n_neighbors: int | str = 1
    _: KW_ONLY
    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None

    _needs_scaled_columns: ClassVar[bool] = True  # wide columns would decide the distances
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"})],
        "categorical_features": [StrOptions({"from_dtype"}), None, "array-like"],
        "n_jobs": [None, Integral],
    }

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> MBIW:
        """Weigh the instances.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        X, target, coder = check_table(self, X, y)
        codes, self.classes_ = target.codes, target.classes
        warn_of_few_neighbors(self.classes_, codes, self.n_neighbors, misses="together")
        k = None if self.n_neighbors == "all" else int(self.n_neighbors)
        self.instance_weights_ = mbiw(
            X, codes, len(self.classes_), coder.nominal_of(X), n_neighbors=k, n_jobs=self.n_jobs
        )
        votes = self.instance_weights_ * len(self.instance_weights_)
        self.weights_ = Weights(votes=votes, n_samples=X.shape[0], fingerprint=fingerprint(X))
        return self
