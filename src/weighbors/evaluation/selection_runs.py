"""Runs of a selection curve: rank features by training rows, and score the best ones on the rows left out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._random import integer_seed
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError, WeighborsWarning
from ..models import WeightedKNeighborsClassifier, WeightedKNeighborsRegressor
from ..weighers.redundancy import FeatureGroups
from .folds import Split
from .model_features import clone_with_seed, fit_scored_model, inner_models


@dataclass(frozen=True, eq=False)
class SelectionRun:
    """What one run found.

    Attributes
    ----------
    order : ndarray of int
        Features from the best to the worst. Features without a score, or that another one stands in for, are left out.
    tied : bool ndarray of shape (n_sizes,)
        Whether the last feature that is selected and the next one have equal scores, so that chance decides.
    scores : ndarray of shape (n_sizes,)
        Scores on the rows left out, one per number of features. NaN if the run could not be scored.
    """

    order: IndexArray
    tied: BoolArray
    scores: FloatArray


@dataclass(frozen=True, eq=False)
class CurveTable:
    """A table, and how lists of its features are scored.

    Attributes
    ----------
    X : array, sparse matrix or DataFrame of shape (n, p)
        The table as it was given. Weighers and a given estimator are fitted to it.
    rows : ndarray or sparse matrix of shape (n, p)
        The same table, coded for the k-NN.
    nominal : bool ndarray of shape (p,)
        Mask of the columns that hold categories.
    sizes : ndarray of int
        Numbers of features.
    estimator : estimator or None
        What predicts from the selected features. None: the 5 nearest neighbours.
    scorer : callable
        A scorer of scikit-learn.
    numeric : bool
        Whether the target is numeric.
    largest : float
        The largest possible score, if it is known: 1 for accuracy and R².
    """

    X: Any
    rows: Any
    nominal: BoolArray
    sizes: IndexArray
    estimator: Any
    scorer: Any
    numeric: bool
    largest: float

    def score_lists(self, order: IndexArray, y: AnyArray, fold: Split, seed: int) -> FloatArray:
        """Return the score of the best features of ``order`` on the test rows, for every number of features.

        ``y`` is the target, ``fold`` has the training and the test rows, and ``seed`` is for the estimator.
        """
        train, test = fold
        parts = self._knn_parts(fold) if self.estimator is None else [_safe_indexing(self.X, rows) for rows in fold]
        found = np.empty(len(self.sizes))
        done: dict[int, float] = {}  # a run may have fewer features than asked for, and then lists are the same
        for place, size in enumerate(np.minimum(self.sizes, len(order)).tolist()):
            if size not in done:
                chosen = order[:size]
                model = (
                    self._knn(chosen, len(train)) if self.estimator is None else clone_with_seed(self.estimator, seed)
                )
                own, other = (_safe_indexing(part, chosen, axis=1) for part in parts)
                done[size] = float(self.scorer(model.fit(own, y[train]), other, y[test]))
            found[place] = done[size]
        return found

    def _knn(self, chosen: IndexArray, n_train: int) -> Any:
        """Return the default estimator for some columns: the 5 nearest neighbours, or fewer if there are fewer rows."""
        kind = WeightedKNeighborsRegressor if self.numeric else WeightedKNeighborsClassifier
        nominal = self.nominal[chosen]
        return kind(min(5, n_train), categorical_features=nominal if nominal.any() else None)

    def _knn_parts(self, fold: Split) -> list[Any]:
        """Return the training and the test rows with numbers divided by the standard deviation of the training rows.

        The mean is not subtracted, since it does not change distances, and sparse rows stay sparse.
        """
        factor = _inverse_deviations(self.rows[fold[0]])
        factor[self.nominal] = 1.0
        if sparse.issparse(self.rows):
            return [sparse.csr_array(self.rows[rows] @ sparse.diags_array(factor)) for rows in fold]
        return [self.rows[rows] * factor for rows in fold]


def _inverse_deviations(rows: Any) -> FloatArray:
    """Return one over the standard deviation of each column, without regard to missing values; 0 if it is constant."""
    if sparse.issparse(rows):
        deviation = np.sqrt(mean_variance_axis(sparse.csr_matrix(rows), axis=0)[1])
        largest = abs(rows).max(axis=0).toarray().ravel()
    else:
        known = ~np.isnan(rows)
        count = np.maximum(known.sum(axis=0), 1)
        mean = np.where(known, rows, 0.0).sum(axis=0) / count
        deviation = np.sqrt(np.square(np.where(known, rows - mean, 0.0)).sum(axis=0) / count)
        largest = np.abs(np.where(known, rows, 0.0)).max(axis=0)
    # A deviation that is only a rounding error would blow up a constant column.
    varied = deviation > 1e-12 * largest
    inverse: FloatArray = np.where(varied, 1.0 / np.where(varied, deviation, 1.0), 0.0)
    return inverse


def rank_features(model: Any, scores: FloatArray, random: np.random.Generator) -> tuple[IndexArray, FloatArray]:
    """Return the features from the best to the worst, and their scores in this order.

    Features with equal scores are put in random order. If columns decided, features without any relevance would be
    chosen in the same order in every run, which looks stable. A feature whose score is NaN is left out for
    the same reason. If the weigher drops features that others stand in for, they are left out, too; if it selects
    whole groups, the features of a group follow each other.
    """
    chance = random.permutation(len(scores))
    weigher = next((one for one in inner_models(model) if hasattr(one, "feature_groups_")), None)
    if weigher is None:
        order = np.lexsort((chance, -scores))
        return _ranked(order, scores)
    groups = FeatureGroups(weigher.feature_groups_, 0.0, None)
    usable = np.where(np.isnan(scores), -np.inf, scores)
    best = groups.best_members(usable)
    if weigher.redundancy == "drop":
        kept = np.zeros(len(scores), dtype=bool)
        kept[best] = True
        return _ranked(np.lexsort((chance, -scores)), np.where(kept, scores, np.nan))
    of_group = usable[best][groups.groups]
    return _ranked(np.lexsort((chance, -usable, chance[best][groups.groups], -of_group)), scores)


def _ranked(order: IndexArray, scores: FloatArray) -> tuple[IndexArray, FloatArray]:
    """Leave the features out of ``order`` whose score is NaN, and return the others with their scores."""
    order = order[~np.isnan(scores[order])]
    if not len(order):
        raise InvalidDataError("the weigher gives NaN for all features: is there a feature that is not constant?")
    return order, scores[order]


def rank_on(table: CurveTable, weigher: Any, y: AnyArray, train: IndexArray, child: Any) -> SelectionRun:
    """Rank the features by the rows ``train``, and return a run without scores. ``child`` is the seed of the run."""
    fit_seed, tie_seed = child.spawn(2)
    model, scores = fit_scored_model(weigher, table.X, y, train, integer_seed(fit_seed))
    order, ranked = rank_features(model, scores, np.random.default_rng(tie_seed))
    # Beyond the last ranked feature nothing is left to tie with.
    following = np.r_[ranked, np.nan]
    places = np.minimum(table.sizes, len(ranked))
    tied: BoolArray = (following[places] == following[places - 1]) & (table.sizes < len(ranked))
    return SelectionRun(order.astype(np.int32), tied, np.full(len(table.sizes), np.nan))


def measure_run(
    table: CurveTable, weigher: Any, y: AnyArray, fold: Split, child: np.random.SeedSequence, shuffled: bool
) -> SelectionRun:
    """Rank the features by the training rows, and score the lists on the test rows.

    ``child`` is the seed of the run. ``shuffled`` says whether the labels were permuted. Warnings are then not given
    again, and a run whose training rows have lost all classes but one has no result.
    """
    with warnings.catch_warnings():
        if shuffled:
            warnings.simplefilter("ignore", WeighborsWarning)
            if len(np.unique(y[fold[0]])) < 2:
                none = np.zeros(len(table.sizes), dtype=bool)
                return SelectionRun(np.zeros(0, dtype=np.int32), none, np.full(len(table.sizes), np.nan))
        rank_seed, model_seed = child.spawn(2)
        run = rank_on(table, weigher, y, fold[0], rank_seed)
        scores = table.score_lists(run.order, y, fold, integer_seed(model_seed))
    longest = int(table.sizes[-1])
    return SelectionRun(run.order[:longest], run.tied, scores)
