"""Measurements of a report: weights, scores, stability and tests are computed here."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._parallel.blas import one_blas_thread
from .._random import integer_seed
from .._typing import AnyArray, FloatArray, IndexArray
from ..evaluation import PermutationResult, StabilityCurve, kuncheva_curve, permutation_test
from ..evaluation.folds import Split, make_folds
from ..exceptions import InvalidDataError, WeighborsWarning
from ..models import LearnedVotesClassifier, WeightedKNeighborsClassifier
from ..weighers import MBIW, ClassRelief, ReliefF, RepresentativeIntervals, RReliefF
from ..weights import Weights
from ._data import ReportData, range_scaled
from ._effort import MOST_VOTERS, Effort
from ._measure_numbers import NUMBER_METHODS, WholeNumbers, measure_whole_numbers, number_scores, predict_numbers

METHODS = ("no weights", "feature weights", "feature and instance weights", "learned votes")
RELIEF_NEIGHBORS = 10
OnStep = Callable[[int, int, str], Any]


@dataclass(frozen=True)
class FoldResults:
    """Weights and scores of all folds. A run is one fold of one repetition.

    Attributes
    ----------
    weights : ndarray of shape (n_runs, M)
        ReliefF's weights (RReliefF's for a numeric target), learned from the training part of each fold.
    repetition : ndarray of shape (n_runs,)
        Number of the repetition of each run.
    scores : dict of measure to dict of method to ndarray of shape (n_runs,)
        Scores on the test parts. For classes "accuracy" and "balanced accuracy", for each of `METHODS` and for "most
        frequent class". For a numeric target "r2", "rmse" and "mae", for each of `NUMBER_METHODS` and for "mean".
    curve : StabilityCurve or None
        Stability of the selected features. None if there is only one feature.
    shuffled : StabilityCurve or None
        The stability curve for shuffled labels. None if there is only one feature.
    same : dict of str to str
        Methods whose predictions are those of an earlier method in every fold, with the name of the earlier one.
    first : list of (train, test)
        The folds of the first repetition.
    """

    weights: FloatArray
    repetition: IndexArray
    scores: dict[str, dict[str, FloatArray]]
    curve: StabilityCurve | None
    shuffled: StabilityCurve | None
    same: dict[str, str] = field(default_factory=dict)
    first: list[Split] = field(default_factory=list)

    @property
    def mean(self) -> FloatArray:
        """Mean weight of each feature over the runs."""
        return self.weights.mean(axis=0)


def measure_folds(
    table: ReportData, effort: Effort, *, k: int, seed: np.random.SeedSequence, n_jobs: int | None, progress: OnStep
) -> FoldResults:
    """Learn weights in the training part of each fold, and score the k-NN with and without weights on the test part.

    ``k`` is the number of neighbours. ``progress`` is called with the steps done, all steps, and the current work.
    """
    fold_seed, shuffle_seed = seed.spawn(2)
    repetitions = _folds(table.y, table.groups, effort, effort.repeats, fold_seed, numeric=table.numeric)
    runs = [(r, fold) for r, repetition in enumerate(repetitions) for fold in repetition]
    weights, scores, predictions = [], [], []
    for done, (_, fold) in enumerate(runs):
        progress(done, effort.steps, "cross-validation")
        weight, predicted = _one_fold(table, fold, k=k, n_jobs=n_jobs)
        weights.append(weight)
        predictions.append(predicted)
        truth, own = table.y[fold[1]], table.y[fold[0]]
        score = number_scores if table.numeric else score_labels
        scores.append({name: score(truth, found, own) for name, found in predicted.items()})
    part = np.array([r for r, _ in runs])
    shuffled = _measure_shuffled(
        table, effort, shuffle_seed, n_jobs, lambda i: progress(len(runs) + i, effort.steps, "shuffled labels")
    )
    measures = next(iter(scores[0].values()))
    return FoldResults(
        np.array(weights),
        part,
        {one: {name: np.array([run[name][one] for run in scores]) for name in scores[0]} for one in measures},
        _curve(np.array(weights), part),
        shuffled,
        find_same_methods(predictions, NUMBER_METHODS if table.numeric else METHODS),
        repetitions[0],
    )


def find_same_methods(predictions: Sequence[Mapping[str, AnyArray]], methods: Sequence[str]) -> dict[str, str]:
    """Return the methods that predict the same as an earlier one of ``methods`` in every run, with the earlier one.

    ``predictions`` holds the predictions of each run by method.

    Examples
    --------
    >>> runs = [{"a": np.array([0, 1]), "b": np.array([0, 1]), "c": np.array([1, 1])}]
    >>> find_same_methods(runs, ["a", "b", "c"])
    {'b': 'a'}
    """
    same: dict[str, str] = {}
    for place, name in enumerate(methods):
        for earlier in methods[:place]:
            if earlier not in same and all(np.array_equal(run[name], run[earlier]) for run in predictions):
                same[name] = earlier
                break
    return same


def score_labels(truth: AnyArray, predicted: AnyArray, train: AnyArray) -> dict[str, float]:
    """Return the scores of predicted labels. ``train``, the labels of the training rows, is not needed."""
    return {"accuracy": float(np.mean(predicted == truth)), "balanced accuracy": mean_recall(truth, predicted)}


def _folds(
    y: AnyArray, groups: Any, effort: Effort, repeats: int, seed: Any, *, numeric: bool = False
) -> list[list[Split]]:
    """Return the folds of each repetition. Raise `InvalidDataError` if a training part has only one class.

    ``effort`` has the number of folds, ``repeats`` is the number of repetitions, and rows of one of the ``groups`` stay
    together.

    ``y`` are the class numbers of the rows, or their targets if ``numeric``, and ``seed`` is a seed sequence.
    """
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # the warning says that a class has fewer rows than folds; the report mentions small classes
        # Folds depend on the labels only, so the table is a placeholder.
        found = make_folds(
            effort.folds, np.zeros((len(y), 1)), y, groups, n_repeats=repeats, seeds=seed, numeric=numeric
        )
    if any(len(np.unique(y[train])) < 2 for repetition in found for train, _ in repetition):
        lacking = "one value of the target" if numeric else "one class"
        raise InvalidDataError(
            f"kept together, the groups leave a training part with {lacking} only. Give more groups, each class in "
            "several of them, or none"
        )
    return found


def _curve(weights: FloatArray, part: IndexArray) -> StabilityCurve | None:
    """Return the stability curve, or None if there is only one feature.

    It has at most 60 sizes, from 1 to the number of features minus 1, but at most 1000. ``weights`` are the weights of
    each run, and ``part`` is the repetition of each run.
    """
    d = weights.shape[1]
    if d < 2:
        return None
    # Equal steps on a log scale: stability changes fast for few features and slowly for many.
    sizes = np.unique(np.round(np.geomspace(1, min(d - 1, 1000), 60)).astype(int))
    return kuncheva_curve(weights, sizes, repetition=part)


def _fit_relief(table: ReportData, rows: FloatArray, y: AnyArray, n_jobs: int | None) -> ReliefF | RReliefF:
    """Return ReliefF, fitted to ``rows`` with the class numbers ``y``, or RReliefF with the numeric target ``y``.

    ``table`` is used only to know which columns are categorical, and what the target is.
    """
    kind = RReliefF if table.numeric else ReliefF
    with quiet():
        model: ReliefF | RReliefF = kind(
            RELIEF_NEIGHBORS, categorical_features=table.categorical_features, n_jobs=n_jobs
        ).fit(rows, y)
    return model


def _fit_knn(
    table: ReportData, rows: FloatArray, codes: IndexArray, weights: Weights | None, k: int, n_jobs: int | None
) -> Any:
    """Return a k-NN, fitted to ``rows`` with the class numbers ``codes``. If ``weights`` is None, it has no weights.

    ``table`` is used only to know which columns are categorical.
    """
    with quiet():
        return WeightedKNeighborsClassifier(
            k, weights, categorical_features=table.categorical_features, n_jobs=n_jobs
        ).fit(rows, codes)


def _add_instance_votes(
    relief: ReliefF | RReliefF, table: ReportData, rows: FloatArray, codes: IndexArray, n_jobs: int | None
) -> Weights:
    """Return the feature weights of ReliefF combined with the instance weights of MBIW, which multiply the votes.

    MBIW is fitted to ``rows`` with the class numbers ``codes``. ``table`` is used only to know which columns are
    categorical.
    """
    with quiet():
        mbiw = MBIW(categorical_features=table.categorical_features, n_jobs=n_jobs).fit(rows, codes)
    return Weights(feature_weights=relief.weights_.feature_weights, votes=mbiw.weights_.votes)


def _one_fold(table: ReportData, fold: Split, *, k: int, n_jobs: int | None) -> tuple[FloatArray, dict[str, AnyArray]]:
    """Learn weights in the training part of a fold, and predict its test part with every method.

    Return the weights of ReliefF, and the predictions by method. ``k`` is the number of neighbours.
    """
    train, test = fold
    codes = table.codes[train]
    # Test rows are scaled by the column ranges of the training rows, because they must not influence the model.
    rows, queries = range_scaled(table.rows[train], table.nominal, table.rows[test])
    relief = _fit_relief(table, rows, table.y[train], n_jobs)
    if table.numeric:
        with quiet():
            found = predict_numbers(table, relief.weights_, rows, table.y[train], queries, k, n_jobs)
        return relief.feature_weights_, found
    votes = _add_instance_votes(relief, table, rows, codes, n_jobs)
    predicted: dict[str, AnyArray] = {}
    for name, weights in zip(METHODS[:3], (None, relief.weights_, votes), strict=True):
        with quiet():
            predicted[name] = _fit_knn(table, rows, codes, weights, k, n_jobs).predict(queries)
    predicted[METHODS[3]] = _predict_by_votes(table, rows, codes, queries, n_jobs)
    # The baseline that every model must beat.
    predicted["most frequent class"] = np.full(len(test), np.argmax(np.bincount(codes)))
    return relief.feature_weights_, predicted


def _predict_by_votes(
    table: ReportData, rows: FloatArray, codes: IndexArray, queries: FloatArray, n_jobs: int | None
) -> AnyArray:
    """Return the class numbers that learned votes predict for the ``queries``.

    They are learned from ``rows`` with the class numbers ``codes``, of at most `MOST_VOTERS` rows. ``table`` is used
    only to know which columns are categorical.
    """
    chosen = _spread_rows(codes, MOST_VOTERS)
    # Feature weights of its own would be learned by cross-validation, which takes many times as long.
    model = LearnedVotesClassifier(
        None, None, categorical_features=table.categorical_features, random_state=0, n_jobs=n_jobs
    )
    with quiet(), one_blas_thread():  # the systems of equations are small
        return np.asarray(model.fit(rows[chosen], codes[chosen]).predict(queries))


def _spread_rows(codes: IndexArray, most: int) -> IndexArray:
    """Return the numbers of at most ``most`` rows, evenly spread over the rows of each class, sorted.

    Even steps need no random numbers. They follow the order of the rows, so a table whose order repeats in that step
    would be sampled unevenly.

    Examples
    --------
    >>> _spread_rows(np.array([0, 0, 0, 0, 1, 1]), 3)
    array([0, 2, 4])
    """
    if len(codes) <= most:
        return np.arange(len(codes))
    by_class = np.argsort(codes, kind="stable")
    # Even steps through the rows in the order of their classes keep the shares of the classes.
    return np.sort(by_class[np.floor(np.arange(most) * len(codes) / most).astype(np.int64)])


def mean_recall(truth: AnyArray, predicted: AnyArray) -> float:
    """Return the balanced accuracy: the mean recall of the classes that occur in ``truth``.

    Examples
    --------
    >>> mean_recall(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 0]))
    0.3333333333333333
    """
    return float(np.mean([np.mean(predicted[truth == c] == c) for c in np.unique(truth)]))


def _measure_shuffled(
    table: ReportData, effort: Effort, seed: np.random.SeedSequence, n_jobs: int | None, progress: Callable[[int], Any]
) -> StabilityCurve | None:
    """Return the stability curve for shuffled labels. Each repetition has labels and folds of its own.

    ``effort`` has the numbers of folds and repetitions, ``seed`` is a seed sequence, and ``n_jobs`` is the number of
    threads.

    It is None if there is only one feature. ``progress`` is called with the number of the fold.
    """
    weights: list[FloatArray] = []
    for child in seed.spawn(effort.shuffles):
        # Separate seeds for the labels and the folds keep each of them the same if the other one changes.
        first, second = child.spawn(2)
        y = np.random.default_rng(first).permutation(table.y)
        # Shuffled labels have no groups: a label is exchanged between any two rows.
        for train, _ in _folds(y, None, effort, 1, second, numeric=table.numeric)[0]:
            progress(len(weights))
            weights.append(_fit_relief(table, table.rows[train], y[train], n_jobs).feature_weights_)
    return _curve(np.array(weights), np.repeat(np.arange(effort.shuffles), effort.folds))


def measure_chance(
    table: ReportData, effort: Effort, *, seed: np.random.SeedSequence, n_jobs: int | None, progress: OnStep
) -> PermutationResult | None:
    """Test the weights of ReliefF on all rows against permuted labels.

    Return None if ``effort.permutations`` is 0, because the test would take too long.
    """
    if not effort.permutations:
        return None
    before = (effort.repeats + effort.shuffles) * effort.folds
    fits = itertools.count(before)

    def weigh(rows: FloatArray, y: AnyArray) -> FloatArray:
        """Return the weights of ReliefF, and report the progress."""
        progress(next(fits), effort.steps, "permutation test")
        return _fit_relief(table, rows, y, n_jobs).feature_weights_

    return permutation_test(
        weigh,
        table.rows,
        table.y,
        n_permutations=effort.permutations,
        groups=table.groups,
        target_type="numeric" if table.numeric else "classes",
        random_state=integer_seed(seed),
    )


@dataclass(frozen=True)
class WholeTableResults:
    """Results computed from all rows together. They describe this table, and are not estimates for new rows."""

    class_weights: FloatArray  # (K, M)
    correlations: FloatArray  # (K,)
    agreement: float
    agreement_reasons: dict[Any, str]
    omega: FloatArray  # (n,), mean 1
    own_share: FloatArray  # (n,), share of the neighbours' votes for the class of the row
    predicted: IndexArray  # (n,), class predicted by leave-one-out k-NN
    intervals: Any  # DataFrame or None
    interval_columns: IndexArray
    n_neighbors: int = 5  # number of neighbours of the leave-one-out k-NN


def measure_all_rows(
    table: ReportData, order: IndexArray, *, k: int, n_jobs: int | None, most_intervals: int
) -> WholeTableResults | WholeNumbers:
    """Compute what is found with all rows together, for classes or for a numeric target.

    The parameters are as in `measure_whole`.
    """
    if not table.numeric:
        return measure_whole(table, order, k=k, n_jobs=n_jobs, most_intervals=most_intervals)
    relief = _fit_relief(table, table.scaled, table.y, n_jobs)
    with quiet():
        return measure_whole_numbers(table, relief.weights_, k=k, n_jobs=n_jobs)


def measure_whole(
    table: ReportData, order: IndexArray, *, k: int, n_jobs: int | None, most_intervals: int
) -> WholeTableResults:
    """Compute from all rows: weights per class, instance weights, leave-one-out k-NN predictions, and intervals.

    ``order`` holds the column numbers, most important first. ``k`` is the number of neighbours. Representative
    intervals are computed only for discrete columns, and for at most ``most_intervals`` of these.
    """
    rows, codes = table.scaled, table.codes
    relief = _fit_relief(table, rows, codes, n_jobs)
    options: dict[str, Any] = {"categorical_features": table.categorical_features, "n_jobs": n_jobs}
    with quiet():
        per_class = ClassRelief(RELIEF_NEIGHBORS, **options).fit(rows, codes)
        omega = MBIW(**options).fit(rows, codes).weights_.votes
        knn = _fit_knn(table, rows, codes, relief.weights_, min(k, table.n - 1), n_jobs)
        # Without queries, the k-NN predicts its own training rows, each without itself (leave-one-out).
        share = knn.predict_proba(None)
    # Intervals are defined only for discrete features. The most important discrete features are shown.
    columns = order[np.isin(order, table.discrete())][:most_intervals]
    return WholeTableResults(
        per_class.class_feature_weights_,
        per_class.class_correlations_,
        per_class.agreement_,
        per_class.agreement_reasons_,
        omega,
        share[np.arange(len(codes)), codes],
        share.argmax(axis=1),
        _intervals(table, columns),
        columns,
        min(k, table.n - 1),
    )


def _intervals(table: ReportData, columns: IndexArray) -> Any:
    """Return the representative intervals of the given columns, or None if ``columns`` is empty."""
    if not len(columns):
        return None
    with quiet():
        return RepresentativeIntervals().fit(table.frame(columns), table.classes[table.codes]).intervals_


class quiet(warnings.catch_warnings):  # noqa: N801 - reads as a verb
    """Ignore the warnings of this library, because the report mentions their reasons in its text."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.simplefilter("ignore", WeighborsWarning)
        return entered
