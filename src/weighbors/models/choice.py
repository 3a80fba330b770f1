"""Choose the values of "auto" parameters of a k-NN: every candidate predicts rows that are left out.

Without a weigher, a row is predicted by all other rows. A weigher that has seen the label of a row must not be judged
on it. So there are five folds: weights are learned from four of them, and each row of the fifth is predicted by all
other rows under these weights. Neighbours are searched once per weights and p, with the largest number of neighbours.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.metadata_routing import _routing_enabled

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..engine import NeighborEngine, decide, mean_targets, tally
from ..exceptions import WeighborsWarning
from ..neighbors.checks import class_of_row
from ..neighbors.resolve import resolve_weights
from ..tables.coded import CodedTable
from ..tables.targets import Target, standardize_outputs
from ..weighers import GradientWeights, ReliefF, RReliefF
from ..weights import Weights
from .neighbor_votes import FULL, VoteKind, Voters, reaches_weight, search_until
from .training import repetition_weights, scale_repetitions

#: Parameters that may be "auto".
AUTO = ("n_neighbors", "weigher", "weights", "p")
#: Candidates, the simplest first.
N_NEIGHBORS = (1, 3, 5, 7, 9, 11, 15, 21, 31)
VOTES = ("uniform", "distance")
POWERS = (2, 1)
#: Of more rows, so many are drawn.
MOST_ROWS = 5000
#: Weights are learned in so many folds.
N_FOLDS = 5


@dataclass(frozen=True)
class KNNChoice:
    """The values that were chosen, and the table of all candidates, by rows."""

    n_neighbors: int
    weigher: Any  # not fitted
    weights: Any
    p: int
    tried: list[dict[str, Any]]


@dataclass(frozen=True)
class ClassJudge:
    """Judges candidates by the accuracy on rows left out, and then by the squared error of the vote shares."""

    codes: AnyArray  # (n,) classes of all training rows
    n_classes: int
    ties: str  # which of several classes with equal votes wins
    drawn: IndexArray  # numbers of the rows that are judged, ascending
    weight: FloatArray | None  # (n_drawn,) how much these rows count; None: alike

    columns = ("accuracy", "squared_error")  # names of the scores in the table of candidates
    n_measures = 2

    def measure(self, found: Voters) -> FloatArray:
        """Return, for each judged row, whether it was predicted as its class, and the squared error of the shares.

        The queries of ``found`` are numbers of judged rows. The result has shape (2, n).
        """
        codes, own = self.codes[found.row], self.codes[found.query]
        share = tally(codes, found.votes, self.n_classes)
        right = decide(share, codes, found.votes, self.ties) == own
        error = ((share - np.eye(self.n_classes)[own]) ** 2).sum(axis=1)
        return np.stack([right.astype(np.float64), error])

    def score(self, measures: FloatArray) -> tuple[float, ...]:
        """Return the accuracy and the mean squared error. ``measures`` are those of all judged rows."""
        accuracy, squared = (float(np.average(values, weights=self.weight)) for values in measures)
        return accuracy, squared

    def rank(self, score: tuple[float, ...]) -> tuple[float, ...]:
        """Return what candidates are ordered by, the best first. Differences by rounding do not count."""
        accuracy, squared = (0.0 if np.isnan(value) else round(value, 12) for value in score)
        return -accuracy, squared


@dataclass(frozen=True)
class NumberJudge:
    """Judges candidates by R² on rows left out, averaged over the outputs."""

    scaled: FloatArray  # (n, n_outputs) standardised targets of all training rows
    spread: FloatArray  # (n_outputs,) standard deviations of the targets
    varying: BoolArray  # (n_outputs,) outputs that are not constant
    drawn: IndexArray  # as in `ClassJudge`
    weight: FloatArray | None

    columns = ("r2", "squared_error")

    @property
    def n_measures(self) -> int:
        """One measure per output."""
        return len(self.spread)

    def measure(self, found: Voters) -> FloatArray:
        """Return the squared errors of judged rows, in units of the variance of each output: shape (n_outputs, n)."""
        error: FloatArray = (mean_targets(self.scaled, found.row, found.votes) - self.scaled[found.query]) ** 2
        return error.T

    def score(self, measures: FloatArray) -> tuple[float, ...]:
        """Return R² and the mean squared error, both averaged over outputs. Constant outputs have no R²."""
        error = np.array([np.average(values, weights=self.weight) for values in measures])
        r2 = float(1 - error[self.varying].mean()) if self.varying.any() else float("nan")
        with np.errstate(over="ignore"):
            return r2, float((error * self.spread**2).mean())

    def rank(self, score: tuple[float, ...]) -> tuple[float, ...]:
        """Return what candidates are ordered by, the best first. Differences by rounding do not count."""
        return (0.0 if np.isnan(score[0]) else -round(score[0], 12),)


def make_judge(target: Target, ties: str, drawn: IndexArray, weight: FloatArray | None) -> ClassJudge | NumberJudge:
    """Return the judge for a target. ``ties`` says which of several classes with equal votes wins."""
    if target.numbers is None:
        return ClassJudge(target.codes, len(target.classes), ties, drawn, weight)
    Y = target.numbers.reshape(len(target.numbers), -1)
    # Targets are standardised by the judged rows, so that squares of extreme ones stay finite.
    _, center, spread = standardize_outputs(Y[drawn], weight)
    varying = (Y[drawn] != Y[drawn][:1]).any(axis=0)
    return NumberJudge((Y - center) / spread, spread, varying, drawn, weight)


def make_folds(target: Target, drawn: IndexArray) -> list[tuple[IndexArray, IndexArray]]:
    """Return (train, test) positions in ``drawn`` of the folds in which weights are learned. They are always the same.

    If a class has enough rows, every fold has its part of each class.
    """
    codes = target.codes[drawn]
    if target.numbers is not None or np.bincount(codes).max() < N_FOLDS:
        return list(KFold(min(N_FOLDS, len(codes)), shuffle=True, random_state=0).split(codes))
    with warnings.catch_warnings():  # scikit-learn warns of classes that are not in every fold
        warnings.simplefilter("ignore", UserWarning)
        return list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(codes, codes))


class _Part(NamedTuple):
    """Rows that are judged together, because their neighbours are searched under the same weights."""

    rows: IndexArray  # numbers of the judged rows
    weights: Weights
    among: IndexArray | None  # numbers of the rows that can be neighbours; None: all but the row itself


def draw_judged_rows(n: int) -> IndexArray:
    """Return the numbers of the rows that are left out: all of them, or 5000 drawn ones. The draw is always the same.

    Examples
    --------
    >>> draw_judged_rows(3), len(draw_judged_rows(6000))
    (array([0, 1, 2]), 5000)
    """
    if n <= MOST_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MOST_ROWS, replace=False))


def use_values(model: Any, **values: Any) -> Any:
    """Return a shallow copy of the estimator with other values of parameters. The estimator stays as it is."""
    copied = copy(model)
    for name, value in values.items():
        setattr(copied, name, value)
    return copied


def choose_values(model: Any, table: CodedTable, known: Weights | None) -> KNNChoice:
    """Judge all candidates for the parameters that are "auto", and return the best one, of equal ones the simplest.

    The rows count by ``sample_weight`` and ``class_weight``.

    Parameters
    ----------
    model : BaseKNeighbors
        At least one of its parameters is "auto". The others are used as they are.
    table : CodedTable
    known : Weights or None
        Weights that are known already. None: the weigher learns them.
    """
    repetition = repetition_weights(table.codes, table.classes, table.given_weight, model.class_weight)
    powers = POWERS if is_auto(model.p) else (int(model.p),)
    kinds = VOTES if is_auto(model.weights) else (model.weights,)
    counts = _fitting_counts(table, known, repetition) if is_auto(model.n_neighbors) else (int(model.n_neighbors),)
    settings = list(product(counts, kinds))
    drawn = draw_judged_rows(len(table))
    judge = make_judge(table.target, model.vote_ties, drawn, None if repetition is None else repetition[drawn])
    candidates: list[tuple[int, Any, Any, int]] = []
    tried: list[dict[str, Any]] = []
    scores: list[tuple[float, ...]] = []
    learned: dict[int, list[_Part]] = {}
    with warnings.catch_warnings():
        # What a fold lacks is no fault of the table. The fit of the chosen weigher to all rows gives its own warnings.
        warnings.simplefilter("ignore", WeighborsWarning)
        for by_power in _weigher_candidates(model, table.target, powers):
            for p, weigher in by_power.items():
                name = "none" if weigher is None else type(weigher).__name__
                if id(weigher) not in learned:
                    learned[id(weigher)] = _learn_parts(model, table, weigher, known, drawn, max(counts))
                measures = _measure(model, table, p, settings, learned[id(weigher)], judge, repetition)
                for (k, kind), measured in zip(settings, measures, strict=True):
                    score = judge.score(measured) if measured.shape[1] else (np.nan,) * len(judge.columns)
                    candidates.append((k, weigher, kind, p))
                    scores.append(score)
                    values = {"weigher": name, "p": p, "n_neighbors": k, "weights": kind}
                    tried.append({**values, **dict(zip(judge.columns, score, strict=True)), "chosen": False})
    best = min(range(len(scores)), key=lambda i: (*judge.rank(scores[i]), i))
    tried[best]["chosen"] = True
    return KNNChoice(*candidates[best], tried)


def is_auto(value: Any) -> bool:
    """Return whether a parameter is "auto". It may be an array, which compares by elements."""
    return isinstance(value, str) and value == "auto"


def _fitting_counts(table: CodedTable, known: Weights | None, repetition: FloatArray | None) -> tuple[int, ...]:
    """Return the candidates for ``n_neighbors`` that every row has, itself left out. At least 1 is one of them."""
    n = len(table)
    stored = np.arange(n)
    if known is not None and known.instance_mask is not None:
        stored = np.flatnonzero(known.instance_mask)
    fitting = []
    for k in N_NEIGHBORS:
        counted = np.ones(n) if repetition is None else scale_repetitions(repetition, stored, k)
        if counted[stored].sum() - counted[stored].max() >= k * FULL:
            fitting.append(k)
    return tuple(fitting) or N_NEIGHBORS[:1]


def _varies(target: Target) -> bool:
    """Return whether labels or numbers differ. Otherwise no weigher learns from them."""
    values = target.codes if target.numbers is None else target.numbers
    return bool(len(values)) and bool((values != values[:1]).any())


def _weigher_candidates(model: Any, target: Target, powers: tuple[int, ...]) -> Iterator[dict[int, Any]]:
    """Yield the weighers to try, the simplest first. Each is a dict by p, since weights may depend on p.

    ``powers`` are the candidates for p.
    """
    if not is_auto(model.weigher):
        yield dict.fromkeys(powers, model.weigher)
        return
    yield dict.fromkeys(powers, None)
    one_target = target.numbers is None or target.numbers.reshape(len(target.numbers), -1).shape[1] == 1
    if not (one_target and _varies(target)):
        return
    relief = ReliefF(n_jobs=model.n_jobs) if target.numbers is None else RReliefF(n_jobs=model.n_jobs)
    yield dict.fromkeys(powers, _ask_for_weights(relief))
    gradient = {p: GradientWeights(0.5, p=p, max_rows=500, random_state=0, n_jobs=model.n_jobs) for p in powers}
    yield {p: _ask_for_weights(weigher) for p, weigher in gradient.items()}


def _ask_for_weights(weigher: Any) -> Any:
    """Return the weigher. With metadata routing, it requests ``sample_weight``, since the user cannot say so."""
    return weigher.set_fit_request(sample_weight=True) if _routing_enabled() else weigher


def _learn_parts(
    model: Any, table: CodedTable, weigher: Any, known: Weights | None, drawn: IndexArray, k: int
) -> list[_Part]:
    """Return the judged rows in parts, each with weights that were learned without the targets of its rows.

    Parameters
    ----------
    model : BaseKNeighbors
    table : CodedTable
    weigher : None, Weights or weigher
    known : Weights or None
        As in `choose_values`.
    drawn : ndarray of int
        The rows to judge.
    k : int
        The largest number of neighbours, by which small repetition weights are scaled for the weigher.
    """
    if known is not None or weigher is None:
        return [_Part(drawn, Weights() if known is None else known, None)]
    model = use_values(model, weigher=weigher)
    parts = []
    for train, test in make_folds(table.target, drawn) if len(drawn) > 1 else []:
        learning, judged = table.take(drawn[train]), drawn[test]
        if not _varies(learning.target):  # no weigher learns from one class or one number
            parts.append(_Part(judged, Weights(), None))
            continue
        if learning.given_weight is not None:
            scaled = scale_repetitions(learning.given_weight, np.arange(len(learning)), k)
            learning = replace(learning, given_weight=scaled)
        _, weights = resolve_weights(model, learning)
        # Only rows that the weights know can be neighbours, where weights belong to rows or to classes.
        unknown = weights.classes is not None and len(np.unique(learning.codes)) < len(np.unique(table.codes))
        parts.append(_Part(judged, weights, drawn[train] if weights.instance_bound or unknown else None))
    return parts


def _measure(
    model: Any,
    table: CodedTable,
    p: int,
    settings: list[tuple[int, Any]],
    parts: list[_Part],
    judge: ClassJudge | NumberJudge,
    repetition: FloatArray | None,
) -> FloatArray:
    """Predict the judged rows with every setting, and return the measures of the predictions.

    Parameters
    ----------
    model : BaseKNeighbors
    table : CodedTable
    p : {1, 2}
    settings : list of (n_neighbors, weights)
    parts : list of _Part
        From `_learn_parts`.
    judge : ClassJudge or NumberJudge
    repetition : ndarray of shape (n,), or None
        Repetition weights of all rows.

    Returns
    -------
    ndarray of shape (n_settings, n_measures, n_judged)
    """
    if len(table) < 2:  # There is nothing to predict a row by.
        return np.zeros((len(settings), judge.n_measures, 0))
    measures = np.zeros((len(settings), judge.n_measures, len(judge.drawn)))
    kinds = [VoteKind(k, by_distance, table.shape[1] ** (1 / p)) for k, by_distance in settings]
    for part in parts:
        among = np.arange(len(table)) if part.among is None else part.among
        engine = NeighborEngine(
            table.rows if part.among is None else table.rows[among],
            weights=part.weights,
            p=p,
            nominal=table.nominal if table.nominal.any() else None,
            class_of_row=class_of_row(part.weights, table.classes, table.codes[among]),
            backend=model.backend,
            n_jobs=model.n_jobs,
        )
        scaled: dict[int, FloatArray] = {}
        if repetition is not None:
            scaled = {k: scale_repetitions(repetition[among], engine.stored_rows, k) for k, _ in settings}

        def enough(
            _: FloatArray, row: IndexArray, scaled: dict[int, FloatArray] = scaled
        ) -> BoolArray:  # for every number of votes
            return np.all([reaches_weight(weight[row], k) for k, weight in scaled.items()], axis=0)

        found_lists = search_until(
            engine,
            table.rows[part.rows],
            max(k for k, _ in settings),
            enough if scaled else None,
            own=part.rows if part.among is None else None,
        )
        omega = part.weights.votes
        for found in found_lists:
            judged = part.rows[found.query]
            at = np.searchsorted(judge.drawn, judged)
            for number, kind in enumerate(kinds):
                # Without repetition weights, the k first ones vote. With them, shares beyond k are 0.
                width = slice(None) if scaled else slice(kind.k)
                row = found.row[:, width]
                votes = kind.votes(
                    found.distance[:, width],
                    scaled[kind.k][row] if scaled else None,
                    None if omega is None else omega[row],
                )
                voters = Voters(judged, found.distance[:, width], among[row], votes)
                measures[number][:, at] = judge.measure(voters)
    return measures
