"""Runs of a selection curve: rank features by training rows, and score the best ones on the rows left out.

Then the table of all runs of a weigher: mean scores, intervals and stability.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import t as student
from sklearn.utils import _safe_indexing
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._random import integer_seed
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError, WeighborsWarning
from ..models import WeightedKNeighborsClassifier, WeightedKNeighborsRegressor
from ..weighers.redundancy import FeatureGroups
from .folds import Split
from .model_features import clone_with_seed, fit_scored_model, inner_models
from .selection_result import SelectionRun, mean_scores, selection_matrix
from .similarity import SimilaritySums, read_similarity, similarity_stability
from .stability import nogueira_stability


@dataclass(frozen=True, eq=False)
class CurveTask:
    """A fold to be measured: labels, rows, number of the repetition or shuffle, and whether labels are shuffled."""

    y: AnyArray
    fold: Split
    part: int
    shuffled: bool


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


def measure_run(table: CurveTable, weigher: Any, task: CurveTask, child: np.random.SeedSequence) -> SelectionRun:
    """Rank the features by the training rows, and score the lists on the test rows. ``child`` is the seed of the run.

    If the labels are shuffled, warnings are not given again, and a run whose training rows have lost all classes but
    one has no result: its order is empty.
    """
    y, fold = task.y, task.fold
    with warnings.catch_warnings():
        if task.shuffled:
            warnings.simplefilter("ignore", WeighborsWarning)
            if len(np.unique(y[fold[0]])) < 2:
                none = np.zeros(len(table.sizes), dtype=bool)
                nothing = np.full(len(table.sizes), np.nan)
                return SelectionRun(np.zeros(0, dtype=np.int32), none, nothing, task.part, True)
        rank_seed, model_seed = child.spawn(2)
        run = rank_on(table, weigher, y, fold[0], rank_seed)
        scores = table.score_lists(run.order, y, fold, integer_seed(model_seed))
    return SelectionRun(run.order[: int(table.sizes[-1])], run.tied, scores, task.part, task.shuffled)


def summarize_runs(
    name: str, table: CurveTable, runs: list[SelectionRun], groups: IndexArray | None, *, ratio: float, level: float
) -> pd.DataFrame:
    """Return the rows of the table of one weigher.

    ``groups`` are the features that stand in for each other, ``ratio`` is the number of test rows over the number of
    training rows, and ``level`` is that of the intervals.
    """
    similarity = None if groups is None else read_similarity(groups, table.X.shape[1])
    real = [run for run in runs if not run.shuffled]
    shuffled = [run for run in runs if run.shuffled and len(run.order)]
    scores = np.array([run.scores for run in real])
    if np.isnan(scores).any():
        raise InvalidDataError(
            "the score of a fold is NaN, as R² is for a single row. Use fewer folds, or another scoring"
        )
    score, error = mean_scores(scores, ratio)
    margin = float(student.ppf((1 + level) / 2, max(len(scores) - 1, 1))) * error
    stability = _mean_stability(real, table, similarity)
    chance = _mean_stability(shuffled, table, similarity)
    means = _part_means(shuffled, len(table.sizes))
    return pd.DataFrame(
        {
            "weigher": name,
            "size": table.sizes,
            "score": score,
            "standard_error": error,
            "low": score - margin,
            "high": np.minimum(score + margin, table.largest),
            "stability": stability[0],
            "stability_error": stability[1],
            "stand_in_stability": stability[2],
            "stand_in_error": stability[3],
            "tied": np.mean([run.tied for run in real], axis=0),
            "shuffled_score": means.mean(axis=0),
            "shuffled_largest": means.max(axis=0),
            "shuffled_stability": chance[0],
        }
    )


def _by_part(runs: list[SelectionRun]) -> list[list[SelectionRun]]:
    """Return the runs of each repetition or shuffle, in the order of their numbers."""
    return [[run for run in runs if run.part == part] for part in sorted({run.part for run in runs})]


def _part_means(runs: list[SelectionRun], n_sizes: int) -> FloatArray:
    """Return the mean scores of each shuffle, of shape (n_shuffles, n_sizes); one row of NaN without shuffles."""
    if not runs:
        return np.full((1, n_sizes), np.nan)
    return np.array([np.mean([run.scores for run in part], axis=0) for part in _by_part(runs)])


def _mean_stability(runs: list[SelectionRun], table: CurveTable, similarity: SimilaritySums | None) -> FloatArray:
    """Return Φ, its standard error, Φ with stand-ins, and its standard error, of shape (4, n_sizes).

    The runs of one repetition are compared with each other, and repetitions are averaged.
    """
    several = [part for part in _by_part(runs) if len(part) > 1]
    out = np.full((4, len(table.sizes)), np.nan)
    if not several:
        return out
    for place, size in enumerate(table.sizes.tolist()):
        each = np.array([_stabilities(part, size, table.X.shape[1], similarity) for part in several])
        out[[0, 2], place] = each[:, [0, 2]].mean(axis=0)
        # The variance of an average of r repetitions is the sum of their variances divided by r squared.
        out[[1, 3], place] = np.sqrt(each[:, [1, 3]].sum(axis=0)) / len(several)
    return out


def _stabilities(runs: list[SelectionRun], size: int, d: int, similarity: SimilaritySums | None) -> tuple[float, ...]:
    """Return Φ and its variance, and Φ with stand-ins and its variance, of the ``size`` best of ``d`` features."""
    matrix = selection_matrix(runs, size, d)
    plain = nogueira_stability(matrix)
    if similarity is None:
        return plain.stability, plain.variance, np.nan, np.nan
    like = similarity_stability(matrix, similarity)
    return plain.stability, plain.variance, like.stability, like.variance
