"""What a report measures: every figure comes from here, none is made up later."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..classifiers import WeightedKNeighborsClassifier
from ..evaluation import StabilityCurve, kuncheva_curve
from ..evaluation._fitting import Fold, folds_of
from ..exceptions import InvalidDataError, WeighborsWarning
from ..weighers import MBIW, ClassRelief, ReliefF, RepresentativeIntervals
from ..weights import Weights
from ._table import Table, range_scaled

__all__ = ["METHODS", "Effort", "Folds", "Progress", "Whole", "effort_for", "measure_folds", "measure_whole", "sampled"]

METHODS = ("no weights", "feature weights", "feature and instance weights")
RELIEF_NEIGHBORS = 10
Progress = Callable[[int, int, str], Any]


@dataclass(frozen=True)
class Effort:
    """How much is measured: rows at most, repetitions of the folds, shuffles of the labels."""

    rows: int
    repeats: int
    shuffles: int
    folds: int

    @property
    def steps(self) -> int:
        """Fits of all folds, of the shuffled labels and their folds, and of the whole table."""
        return self.repeats * self.folds + self.folds + self.shuffles + 1


def effort_for(table: Table) -> Effort:
    """Effort that ends within a minute on two cores; by sizes alone, so that it is the same everywhere.

    The folds are at most 5, and no more than the second largest class has rows, so that every
    training part holds two classes.
    """
    rows = 3000 if len(table.classes) <= 10 else 2000
    n, M = min(table.n, rows), table.n_features
    holes, nominal = int(np.isnan(table.rows).any(axis=0).sum()), int(table.nominal.sum())
    # about the seconds of one step
    cost = 1e-10 * n * n * M + 1.5e-7 * n * M + 5e-5 * holes * len(table.classes) + 1.5e-3 * nominal
    repeats, shuffles = (5, 19) if cost < 0.3 else (3, 19) if cost < 0.8 else (2, 0)
    return Effort(rows, repeats, shuffles, int(min(5, np.sort(_units(table))[-2])))


def _units(table: Table) -> IndexArray:
    """What folds can part of each class: its rows, or the groups it is in."""
    if table.groups is None:
        return table.counts
    return np.array([len(np.unique(table.groups[table.codes == c])) for c in range(len(table.classes))])


def sampled(table: Table, most: int, rng: np.random.Generator) -> tuple[Table, IndexArray]:
    """The table, or a random sample of ``most`` of its rows in which classes keep their shares.

    Every class keeps at least two of its rows, where it has them.
    """
    if table.n <= most:
        return table, np.arange(table.n)
    wanted = np.maximum(np.minimum(table.counts, 2), np.floor(table.counts * most / table.n).astype(np.int64))
    drawn = [
        rng.choice(np.flatnonzero(table.codes == c), size=int(number), replace=False) for c, number in enumerate(wanted)
    ]
    rows = np.sort(np.concatenate(drawn))
    return table.take(rows), rows


@dataclass(frozen=True)
class Folds:
    """What the folds gave.

    Attributes
    ----------
    weights : ndarray of shape (n_runs, M)
        ReliefF's weights, learned from the training part of each fold.
    repetition : ndarray of shape (n_runs,)
    accuracy, balanced : dict of method to ndarray of shape (n_runs,)
        On the test parts; "most frequent class" besides the methods.
    curve : StabilityCurve or None
        None with one feature.
    shuffled : StabilityCurve or None
        The same for shuffled labels.
    limit : float or None
        The largest weight any feature got in any shuffle of the labels, learned from as many rows.
    """

    weights: FloatArray
    repetition: IndexArray
    accuracy: dict[str, FloatArray]
    balanced: dict[str, FloatArray]
    curve: StabilityCurve | None
    shuffled: StabilityCurve | None
    limit: float | None

    @property
    def mean(self) -> FloatArray:
        """Mean weight of each feature over the runs."""
        return self.weights.mean(axis=0)


def measure_folds(
    table: Table, effort: Effort, *, k: int, seed: np.random.SeedSequence, n_jobs: int | None, progress: Progress
) -> Folds:
    """Learn weights in the training part of every fold, and test k-NN with and without them on the rest."""
    fold_seed, shuffle_seed = seed.spawn(2)
    repetitions = _folds(table.codes, table.groups, effort, effort.repeats, fold_seed)
    runs = [(r, fold) for r, repetition in enumerate(repetitions) for fold in repetition]
    weights, accuracy, balanced = [], [], []
    for done, (_, fold) in enumerate(runs):
        progress(done, effort.steps, "cross-validation")
        weight, predicted = _one_fold(table, fold, k=k, n_jobs=n_jobs)
        weights.append(weight)
        truth = table.codes[fold[1]]
        accuracy.append({name: float(np.mean(label == truth)) for name, label in predicted.items()})
        balanced.append({name: mean_recall(truth, label) for name, label in predicted.items()})
    part = np.array([r for r, _ in runs])
    shuffled, limit = _shuffled(
        table, effort, shuffle_seed, n_jobs, lambda i: progress(len(runs) + i, effort.steps, "shuffled labels")
    )
    return Folds(
        np.array(weights),
        part,
        {name: np.array([row[name] for row in accuracy]) for name in accuracy[0]},
        {name: np.array([row[name] for row in balanced]) for name in balanced[0]},
        _curve(np.array(weights), part),
        shuffled,
        limit,
    )


def _folds(codes: IndexArray, groups: Any, effort: Effort, repeats: int, seed: Any) -> list[list[Fold]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than folds; the report says so
        found = folds_of(effort.folds, np.zeros((len(codes), 1)), codes, groups, n_repeats=repeats, seeds=seed)
    if any(len(np.unique(codes[train])) < 2 for repetition in found for train, _ in repetition):
        raise InvalidDataError(
            "kept together, the groups leave a training part with one class only. Give more groups, each class in "
            "several of them, or none"
        )
    return found


def _curve(weights: FloatArray, part: IndexArray) -> StabilityCurve | None:
    """Stability for at most 60 sizes, from 1 to all but one, or to 1000."""
    d = weights.shape[1]
    if d < 2:
        return None
    sizes = np.unique(np.round(np.geomspace(1, min(d - 1, 1000), 60)).astype(int))
    return kuncheva_curve(weights, sizes, repetition=part)


def _relief(table: Table, rows: FloatArray, codes: IndexArray, n_jobs: int | None) -> ReliefF:
    with _quiet():
        model: ReliefF = ReliefF(RELIEF_NEIGHBORS, categorical_features=table.categorical_features, n_jobs=n_jobs).fit(
            rows, codes
        )
    return model


def _knn(table: Table, rows: FloatArray, codes: IndexArray, weights: Weights | None, k: int, n_jobs: int | None) -> Any:
    with _quiet():
        return WeightedKNeighborsClassifier(
            k, weights, categorical_features=table.categorical_features, n_jobs=n_jobs
        ).fit(rows, codes)


def _with_votes(relief: ReliefF, table: Table, rows: FloatArray, codes: IndexArray, n_jobs: int | None) -> Weights:
    """Feature weights, and MBIW's instance weights as votes."""
    with _quiet():
        mbiw = MBIW(categorical_features=table.categorical_features, n_jobs=n_jobs).fit(rows, codes)
    return Weights(feature_weights=relief.weights_.feature_weights, votes=mbiw.weights_.votes)


def _one_fold(table: Table, fold: Fold, *, k: int, n_jobs: int | None) -> tuple[FloatArray, dict[str, AnyArray]]:
    train, test = fold
    codes = table.codes[train]
    rows, queries = range_scaled(table.rows[train], table.nominal, table.rows[test])
    relief = _relief(table, rows, codes, n_jobs)
    votes = _with_votes(relief, table, rows, codes, n_jobs)
    predicted: dict[str, AnyArray] = {}
    for name, weights in zip(METHODS, (None, relief.weights_, votes), strict=True):
        with _quiet():
            predicted[name] = _knn(table, rows, codes, weights, k, n_jobs).predict(queries)
    predicted["most frequent class"] = np.full(len(test), np.argmax(np.bincount(codes)))
    return relief.feature_weights_, predicted


def mean_recall(truth: AnyArray, predicted: AnyArray) -> float:
    """Mean over the classes that are there of the share of their rows that is found.

    Examples
    --------
    >>> mean_recall(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 0]))
    0.3333333333333333
    """
    return float(np.mean([np.mean(predicted[truth == c] == c) for c in np.unique(truth)]))


def _shuffled(
    table: Table, effort: Effort, seed: np.random.SeedSequence, n_jobs: int | None, progress: Callable[[int], Any]
) -> tuple[StabilityCurve | None, float | None]:
    """Stability and the largest weight where labels mean nothing."""
    first, second = seed.spawn(2)
    rng = np.random.default_rng(first)
    codes = rng.permutation(table.codes)
    trains = [train for train, _ in _folds(codes, None, effort, 1, second)[0]]
    weights, largest = [], []
    for done, train in enumerate(trains):
        progress(done)
        weights.append(_relief(table, table.rows[train], codes[train], n_jobs).feature_weights_)
    for done in range(effort.shuffles):
        progress(effort.folds + done)
        train = trains[done % len(trains)]  # weights depend on the number of rows: take as many as the folds
        largest.append(_relief(table, table.rows[train], rng.permutation(codes[train]), n_jobs).feature_weights_.max())
    curve = _curve(np.array(weights), np.zeros(len(weights), dtype=np.int64))
    return curve, float(max(largest)) if largest else None


@dataclass(frozen=True)
class Whole:
    """What all rows together gave: nothing of it is an estimate for new rows."""

    class_weights: FloatArray  # (K, M)
    correlations: FloatArray  # (K,)
    agreement: float
    agreement_reasons: dict[Any, str]
    omega: FloatArray  # (n,), mean 1
    own_share: FloatArray  # (n,), votes of an instance's neighbours for its own class
    predicted: IndexArray  # (n,), left out of its own neighbours
    intervals: Any  # DataFrame or None
    interval_columns: IndexArray


def measure_whole(table: Table, order: IndexArray, *, k: int, n_jobs: int | None, most_intervals: int) -> Whole:
    """Weights of all rows: per class, of instances, of intervals; ``order`` puts the features."""
    rows, codes = table.scaled, table.codes
    relief = _relief(table, rows, codes, n_jobs)
    options: dict[str, Any] = {"categorical_features": table.categorical_features, "n_jobs": n_jobs}
    with _quiet():
        per_class = ClassRelief(RELIEF_NEIGHBORS, **options).fit(rows, codes)
        omega = MBIW(**options).fit(rows, codes).weights_.votes
        knn = _knn(table, rows, codes, relief.weights_, min(k, table.n - 1), n_jobs)
        share = knn.predict_proba(None)
    columns = order[np.isin(order, table.discrete())][:most_intervals]
    return Whole(
        per_class.class_feature_weights_,
        per_class.class_correlations_,
        per_class.agreement_,
        per_class.agreement_reasons_,
        omega,
        share[np.arange(len(codes)), codes],
        share.argmax(axis=1),
        _intervals(table, columns),
        columns,
    )


def _intervals(table: Table, columns: IndexArray) -> Any:
    if not len(columns):
        return None
    with _quiet():
        return RepresentativeIntervals().fit(table.frame(columns), table.classes[table.codes]).intervals_


class _quiet(warnings.catch_warnings):  # noqa: N801 - reads as a verb
    """Leave out this library's warnings: the report says in words what they say."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.simplefilter("ignore", WeighborsWarning)
        return entered
