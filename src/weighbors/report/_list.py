"""The list of a report: features that half samples find again, the features that stand in for them, and its score."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._random import integer_seed
from .._typing import AnyArray, FloatArray, IndexArray
from ..evaluation import RedundancyGroups, StabilitySelection, redundancy_groups
from ..evaluation.folds import Split
from ..exceptions import InvalidDataError
from ..models import WeightedKNeighborsClassifier, WeightedKNeighborsRegressor
from ..weighers import ScoreWeigher
from ._data import ReportData, range_scaled
from ._effort import Effort
from ._measure import OnStep, quiet, score_labels
from ._measure_numbers import number_scores

TARGET_FDR = 0.1
#: Stand-ins are sought among the listed features and the next best ones, at least this many together. To compare all
#: pairs of 25 000 features takes minutes.
COMPARED = 500


@dataclass(frozen=True)
class ListResults:
    """The list of features, with its score on rows left out.

    Attributes
    ----------
    selection : StabilitySelection or None
        The selection from all rows. None if it could not be made.
    reason : str
        Why there is no list.
    order : ndarray of shape (M,)
        Column numbers, the best of the list first.
    groups : RedundancyGroups or None
        Groups of the first columns of ``order``.
    compared : ndarray
        The columns that ``groups`` is about.
    scores : dict of measure to ndarray
        Scores of a k-NN with the listed features alone, one for each of the first folds. In each fold the list is made
        from the training rows. Empty if it could not be made.
    sizes : list of int
        Lengths of the lists of the folds.
    """

    selection: StabilitySelection | None
    reason: str = ""
    order: IndexArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    groups: RedundancyGroups | None = None
    compared: IndexArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    scores: dict[str, FloatArray] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)


def measure_list(
    table: ReportData,
    effort: Effort,
    folds: list[Split],
    *,
    k: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None,
    progress: OnStep,
) -> ListResults:
    """Select features on all rows, find what stands in for them, and score the lists of the folds on rows left out.

    ``folds`` are those of the first repetition, and ``k`` is the number of neighbours.
    """
    if not effort.pairs:
        return ListResults(None, "it was not asked for")
    before = effort.steps - 1 - (effort.folds + 1)
    seeds = [integer_seed(child) for child in seed.spawn(2 + len(folds))]
    progress(before, effort.steps, "the list")
    try:
        selection = _select(table, effort.pairs, effort, seeds[0], n_jobs)
    except InvalidDataError as error:
        for place in range(effort.folds):
            progress(before + 1 + place, effort.steps, "the list")
        return ListResults(None, str(error))
    # As in the table of the estimator: many features have the score 0, and their shares and weights order them.
    order = np.lexsort((-selection.feature_weights_, -selection.shares_, -selection.scores_, ~selection.support_))
    compared = np.sort(order[: max(COMPARED, int(selection.support_.sum()))])
    with quiet():
        groups = redundancy_groups(
            table.rows[:, compared],
            categorical_features=np.flatnonzero(table.nominal[compared]).tolist() or None,
            random_state=seeds[1],
            n_jobs=n_jobs,
        )
    found, sizes = [], []
    for place, (fold, own) in enumerate(zip(folds, seeds[2:], strict=True)):
        progress(before + 1 + place, effort.steps, "the list")
        size, score = _score_fold(table, fold, effort, own, k, n_jobs)
        sizes.append(size)
        found.append(score)
    usable = all(size >= 0 for size in sizes)
    scores = {name: np.array([one[name] for one in found]) for name in found[0]} if usable and found else {}
    return ListResults(selection, "", order, groups, compared, scores, sizes if usable else [])


def _select(table: ReportData, pairs: int, effort: Effort, seed: int, n_jobs: int | None) -> StabilitySelection:
    """Return a fitted selection with the default weigher, the F-statistic, and ``pairs`` pairs of half samples."""
    # The default weigher, told which columns are categories: the rows hold their codes.
    weigher = ScoreWeigher(offset="auto", categorical_features=table.categorical_features)
    selection = StabilitySelection(
        weigher,
        pairs,
        target_fdr=TARGET_FDR,
        n_permutations=effort.list_permutations,
        target_type="numeric" if table.numeric else "classes",
        random_state=seed,
        n_jobs=n_jobs,
    )
    with quiet():
        return selection.fit(table.rows, table.y, groups=table.groups)


def _score_fold(
    table: ReportData, fold: Split, effort: Effort, seed: int, k: int, n_jobs: int | None
) -> tuple[int, dict[str, float]]:
    """Return the length of the list of a fold, and the scores of a k-NN with these features on its test part.

    The list is made from the training rows alone. The length is −1 if no list can be made. An empty list predicts the
    most frequent class, or the mean. ``k`` is the number of neighbours.
    """
    train, test = fold
    try:
        chosen = np.flatnonzero(_select(table.take(train), effort.fold_pairs, effort, seed, n_jobs).support_)
    except InvalidDataError:
        return -1, {}
    own, truth = table.y[train], table.y[test]
    if len(chosen):
        # A list of few categories has many neighbours at the same distance, of which a k-NN takes the first rows. A
        # random order of the rows lets the order of the table decide nothing: it often has the classes one by one.
        shuffled = np.random.default_rng(seed).permutation(train)
        predicted = _predict(table, (shuffled, test), chosen, k, n_jobs)
    else:
        predicted = np.full(len(test), _guess(table, own))
    return len(chosen), (number_scores if table.numeric else score_labels)(truth, predicted, own)


def _guess(table: ReportData, own: AnyArray) -> Any:
    """Return what is predicted without features: the mean of the targets ``own``, or the most frequent class."""
    return own.mean() if table.numeric else np.argmax(np.bincount(own))


def _predict(table: ReportData, fold: Split, chosen: IndexArray, k: int, n_jobs: int | None) -> AnyArray:
    """Return the predictions of a k-NN without weights for the test part, from the columns ``chosen`` alone."""
    train, test = fold
    nominal = table.nominal[chosen]
    rows, queries = range_scaled(table.rows[np.ix_(train, chosen)], nominal, table.rows[np.ix_(test, chosen)])
    kind = WeightedKNeighborsRegressor if table.numeric else WeightedKNeighborsClassifier
    with quiet():
        model = kind(k, None, categorical_features=np.flatnonzero(nominal).tolist() or None, n_jobs=n_jobs)
        return np.asarray(model.fit(rows, table.y[train]).predict(queries))
