"""Class-dependent RELIEF: one vector of feature weights per class (paper 001)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray, IndexArray
from ..engine import NeighborEngine
from ..exceptions import InvalidDataError
from ..tables.coded import CodedTable
from ..tables.labels import known_codes
from ..weights import Weights
from .base import metric_weights
from .neighbors import Neighbors
from .relief import NeighborWeigher, relief, score
from .rows import Instances


def agreement(class_weights: FloatArray) -> tuple[FloatArray, dict[int, str]]:
    """Return the Pearson correlation of each w_c with their sum, and the reason for each correlation that is NaN."""
    whole = class_weights.sum(axis=0)
    out, reasons = np.full(len(class_weights), np.nan), {}
    for c, row in enumerate(class_weights):
        if len(row) < 2 or np.ptp(row) == 0 or np.ptp(whole) == 0:
            which = "the class's weights are" if len(row) > 1 and np.ptp(row) == 0 else "RELIEF's weights are"
            reasons[c] = "there is one feature" if len(row) < 2 else f"{which} constant"
        else:
            out[c] = np.corrcoef(row, whole)[0, 1]
    return out, reasons


def class_margins(
    X: Any,
    codes: IndexArray,
    n_classes: int,
    weights: FloatArray,
    k: int,
    *,
    rows: IndexArray | None = None,
    **search: Any,
) -> FloatArray:
    """Return the margin θ_c of each class.

    θ_c sums, over the instances of class c, the distances to the k nearest misses of each other class less those to the
    k nearest hits.

    Distances are sqrt(Σ w_i (x_i − z_i)²); the paper prints the exponent −1/2. Hits and misses are measured under the
    same vector.

    Parameters
    ----------
    X : array or CSR of shape (n, M)
    codes : ndarray of shape (n,)
        Class of each row.
    n_classes : int
    weights : ndarray of shape (1, M) or (n_classes, M)
        One vector for all classes, or one each; negative entries count 0.
    k : int
    rows : ndarray of int, optional
        The instances over which the sum goes, by default all. A sum over some instances of a class is scaled to the
        size of the class.
    **search
        Further arguments of `NeighborEngine`, such as ``nominal``, the columns that differ by 0 or 1.
    """
    rows = np.arange(len(codes)) if rows is None else rows
    # With one vector for all classes, one search of all rows is enough.
    classes_of = [range(n_classes)] if len(weights) == 1 else [[c] for c in range(n_classes)]
    margins = np.zeros(n_classes)
    for vector, classes in zip(weights, classes_of, strict=True):
        a = metric_weights(vector, np.ones(len(vector), dtype=bool))
        engine = NeighborEngine(
            X, weights=Weights(feature_weights=a), groups=codes, n_groups=n_classes, backend="scan", **search
        )
        some = rows[np.isin(codes[rows], classes)]
        distance, _ = engine.search(X[some], k, own_row=some, grouped=True)
        near = np.where(np.isfinite(distance), distance, 0.0).astype(np.float64).sum(axis=2)
        for c in classes:
            members = codes[some] == c
            total = near[members].sum(axis=0)
            # ``total`` has hits in the column of the own class and misses in the others. If only some rows were
            # searched, their sum is scaled to the size of the class.
            margins[c] = (total.sum() - 2 * total[c]) * (np.count_nonzero(codes == c) / max(1, members.sum()))
    return margins


@dataclass(eq=False, repr=False)
class ClassRelief(NeighborWeigher):
    """Class-dependent RELIEF: find out which features matter for which class, and whether the classes agree.

    Each class gets its part w_c of RELIEF's sum; Σ_c w_c is RELIEF. Where a w_c hardly correlates
    with RELIEF, the classes disagree on which features matter, and the paper finds such tasks
    harder.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours per class.
    n_features_to_select : int, float below 1 or None, default=None
        How many features, or which share of them, `transform` keeps. None: all.
    credit : {"instance", "neighbor"}, default="instance"
        Which class a term belongs to: that of the instance, as the paper prints it, or that of the
        neighbour, which reproduces the paper's figures (with ``n_neighbors=1, skip_zero=True``).
    skip_zero : bool, default=False
        Leave out neighbours at distance 0.
    ranking : {"sum", "variance"}, default="sum"
        Whether features are ranked by RELIEF's weights, or by the w_c with the largest variance, as in the paper's
        cdRelief. ``feature_weights_`` is that vector.
    ties, categorical_features, n_jobs
        As in `Relief`.

    Attributes
    ----------
    class_feature_weights_ : ndarray of shape (n_classes, n_features)
    class_correlations_ : ndarray of shape (n_classes,)
        Pearson correlation of each w_c with RELIEF.
    agreement_ : float
        The largest of these correlations (the paper's "max corr"), or NaN if none is defined.
    agreement_reasons_ : dict
        The reason for each class whose correlation is NaN.
    feature_weights_, weights_, support_, classes_
        As in `Relief`.

    References
    ----------
    .. [1] E. Marchiori, "Class dependent feature weighting and K-nearest neighbor classification",
       PRIB 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import ClassRelief
    >>> X, y = load_iris(return_X_y=True)
    >>> w = ClassRelief(n_neighbors=5).fit(X, y)
    >>> w.class_feature_weights_.shape
    (3, 4)
    >>> round(w.agreement_, 2)
    1.0
    """

    _: KW_ONLY
    credit: str = "instance"
    skip_zero: bool = False
    ranking: str = "sum"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborWeigher._parameter_constraints,
        "credit": [StrOptions({"instance", "neighbor"})],
        "skip_zero": ["boolean"],
        "ranking": [StrOptions({"sum", "variance"})],
    }

    def score_targets(self, rows: Instances, targets: Sequence[CodedTable]) -> list[FloatArray]:
        """Return the ranked vector for each target. The attributes are those of the last target."""

        def class_of_term(near: Neighbors, target: CodedTable) -> IndexArray:
            """Return the class to which each term is added: w_c as paper 001 prints it, or as its figures show it."""
            of_instance: IndexArray = target.codes[near.query][:, None, None]
            return of_instance if self.credit == "instance" else np.arange(target.n_groups)[:, None]

        weights, classes = [], targets[-1].classes
        for per_class, _ in score(
            rows,
            targets,
            relief,
            self.n_neighbors,
            ties=self.ties,
            skip_zero=self.skip_zero,
            output_row=class_of_term,
            n_outputs=len(classes),
        ):
            weights.append(
                per_class.sum(axis=0) if self.ranking == "sum" else per_class[np.argmax(per_class.var(axis=1))]
            )
        self.class_feature_weights_ = per_class
        self.class_correlations_, reasons = agreement(per_class)
        self.agreement_reasons_ = {classes[c]: why for c, why in reasons.items()}
        known = self.class_correlations_[~np.isnan(self.class_correlations_)]
        self.agreement_ = float(known.max()) if len(known) else float("nan")
        return weights

    def class_margins(self, X: Any, y: Any) -> FloatArray:
        """θ_c of each class on the given rows, each measured under its own w_c's positive part.

        The distance is that of ``fit``: categories differ by 0 or 1, and a missing value is at the full
        range that its column has in these rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            The columns that were fitted.
        y : array-like of shape (n_samples,)
            Labels among ``classes_``, each of which must occur.

        Returns
        -------
        ndarray of shape (n_classes,)

        Raises
        ------
        InvalidDataError
            Where X has other columns than in fit, or y has other labels, lacks a class, or is of another
            length.
        """
        check_is_fitted(self)
        # The rows are compared with each other: categories that fit has not seen must differ from each
        # other too, so a copy of the coder learns them.
        rows = deepcopy(self._coder).extend(self, X)
        codes = known_codes(y, self.classes_)
        if len(codes) != rows.shape[0]:
            raise InvalidDataError(f"one label per row is needed: X has {rows.shape[0]} rows and y {len(codes)} labels")
        lacking = np.setdiff1d(np.arange(len(self.classes_)), codes)
        if len(lacking):
            raise InvalidDataError(
                f"y lacks the classes {self.classes_[lacking].tolist()[:5]}: margins are measured between all classes "
                "of fit. Give rows of each of them"
            )
        return class_margins(
            rows,
            codes,
            len(self.classes_),
            self.class_feature_weights_,
            self.n_neighbors,
            nominal=self._coder.nominal,
            n_jobs=self.n_jobs,
        )
