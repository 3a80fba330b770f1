"""Choose the values of "auto" parameters of a k-NN: every candidate predicts rows that are left out.

Without a weigher, a row is predicted by all other rows. A weigher that has seen the label of a row must not be judged
on it. So there are five folds: weights are learned from four of them, and each row of the fifth is predicted by all
other rows under these weights. Neighbours are searched once per weights and p, with the largest number of neighbours.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import _routing_enabled

from .._typing import FloatArray, IndexArray
from ..engine import NeighborEngine, combine_votes, distance_votes, mass_votes
from ..exceptions import WeighborsWarning
from ..neighbors.checks import class_of_row
from ..neighbors.resolve import resolve_weights
from ..weighers import GradientWeights
from ..weights import Weights
from .learning import PreparedRows
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
_BATCH_CELLS = 2_000_000  # how many neighbours are in memory at the same time
_FULL = 1 - 1e-12  # a sum of repetition weights can miss k by its last bits


@dataclass(frozen=True)
class KNNChoice:
    """The values that were chosen, and the table of all candidates, by columns."""

    n_neighbors: int
    weigher: Any  # not fitted
    weights: Any
    p: int
    tried: dict[str, list[Any]]


class Judge(Protocol):
    """How candidates are judged by the rows left out: what differs between classes and numbers."""

    drawn: IndexArray  # numbers of the rows that are judged, ascending
    columns: tuple[str, ...]  # names of the scores in the table of candidates
    n_measures: int

    def measure(self, judged: IndexArray, row: IndexArray, votes: FloatArray | None) -> FloatArray:
        """Return the measures of rows, shape (n_measures, n), by their neighbours and the votes of these."""

    def score(self, measures: FloatArray) -> tuple[float, ...]:
        """Return the scores of a candidate, by the measures of all judged rows."""

    def rank(self, score: tuple[float, ...]) -> tuple[float, ...]:
        """Return the key by which candidates are sorted, the best first."""

    def folds(self) -> list[tuple[IndexArray, IndexArray]]:
        """Return (train, test) positions in ``drawn`` of the folds in which weights are learned. There are 2 rows."""

    def weighers(self, powers: tuple[int, ...], n_jobs: int | None) -> list[dict[int, Any]]:
        """Return the weighers that are candidates, the simplest first: by p, since weights may depend on p."""


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


def choose_values(model: Any, rows: PreparedRows) -> KNNChoice:
    """Judge all candidates for the parameters that are "auto", and return the best one, of equal ones the simplest.

    The rows count by ``sample_weight`` and ``class_weight``.

    Parameters
    ----------
    model : LocalKNeighbors
        At least one of its parameters is "auto". The others are used as they are. It makes the judge.
    rows : PreparedRows
    """
    repetition = repetition_weights(rows.training.codes, rows.classes, rows.training.sample_weight, model._class_weight)
    powers = POWERS if is_auto(model.p) else (int(model.p),)
    kinds = VOTES if is_auto(model.weights) else (model.weights,)
    counts = _fitting_counts(rows, repetition) if is_auto(model.n_neighbors) else (int(model.n_neighbors),)
    settings = list(product(counts, kinds))
    drawn = draw_judged_rows(len(rows.training.codes))
    judge: Judge = model._make_judge(rows, drawn, None if repetition is None else repetition[drawn])
    candidates: list[tuple[int, Any, Any, int]] = []
    columns: dict[str, list[Any]] = {name: [] for name in ("weigher", "p", "n_neighbors", "weights")}
    scores: list[tuple[float, ...]] = []
    learned: dict[int, list[_Part]] = {}
    with warnings.catch_warnings():
        # What a fold lacks is no fault of the table. The fit of the chosen weigher to all rows gives its own warnings.
        warnings.simplefilter("ignore", WeighborsWarning)
        for by_power in _weigher_candidates(model, rows, judge, powers):
            for p, weigher in by_power.items():
                if id(weigher) not in learned:
                    learned[id(weigher)] = _learn_parts(model, rows, weigher, judge, max(counts))
                measures = _measure(model, rows, p, settings, learned[id(weigher)], judge, repetition)
                for (k, kind), measured in zip(settings, measures, strict=True):
                    candidates.append((k, weigher, kind, p))
                    scores.append(_score(judge, measured))
                    for name, value in zip(columns, (_name_of(weigher), p, k, kind), strict=True):
                        columns[name].append(value)
    best = min(range(len(scores)), key=lambda i: (*judge.rank(scores[i]), i))
    by_column = [list(values) for values in zip(*scores, strict=True)]
    chosen = [i == best for i in range(len(scores))]
    tried = {**columns, **dict(zip(judge.columns, by_column, strict=True)), "chosen": chosen}
    n_neighbors, weigher, kind, p = candidates[best]
    return KNNChoice(n_neighbors, weigher, kind, p, tried)


def is_auto(value: Any) -> bool:
    """Return whether a parameter is "auto". It may be an array, which compares by elements."""
    return isinstance(value, str) and value == "auto"


def _score(judge: Judge, measured: FloatArray) -> tuple[float, ...]:
    """Return the scores of a candidate by the ``measured`` rows. NaN if there is no row to judge."""
    return judge.score(measured) if measured.shape[1] else (float("nan"),) * len(judge.columns)


def _name_of(weigher: Any) -> str:
    """Return the weigher's name in the table of candidates."""
    return "none" if weigher is None else type(weigher).__name__


def _fitting_counts(rows: PreparedRows, repetition: FloatArray | None) -> tuple[int, ...]:
    """Return the candidates for ``n_neighbors`` that every row has, itself left out. At least 1 is one of them."""
    n = len(rows.training.codes)
    stored = np.arange(n)
    if rows.weights is not None and rows.weights.instance_mask is not None:
        stored = np.flatnonzero(rows.weights.instance_mask)
    fitting = []
    for k in N_NEIGHBORS:
        counted = np.ones(n) if repetition is None else scale_repetitions(repetition, stored, k)
        if counted[stored].sum() - counted[stored].max() >= k * _FULL:
            fitting.append(k)
    return tuple(fitting) or N_NEIGHBORS[:1]


def _weigher_candidates(
    model: Any, rows: PreparedRows, judge: Judge, powers: tuple[int, ...]
) -> Iterator[dict[int, Any]]:
    """Yield the weighers to try, the simplest first. Each is a dict by p, since weights may depend on p.

    ``judge`` knows the weighers for its kind of targets. ``powers`` are the candidates for p.
    """
    if not is_auto(model.weigher):
        yield dict.fromkeys(powers, model.weigher)
        return
    yield dict.fromkeys(powers, None)
    if rows.training.varies():  # else no weigher learns
        for by_power in judge.weighers(powers, model.n_jobs):
            yield {p: _ask_for_weights(weigher) for p, weigher in by_power.items()}


def gradient_weighers(powers: tuple[int, ...], n_jobs: int | None) -> dict[int, Any]:
    """Return the weighers by the gradients of learned votes, for each p. They are candidates for all targets."""
    return {p: GradientWeights(0.5, p=p, max_rows=500, random_state=0, n_jobs=n_jobs) for p in powers}


def _ask_for_weights(weigher: Any) -> Any:
    """Return the weigher. With metadata routing, it requests ``sample_weight``, since the user cannot say so."""
    return weigher.set_fit_request(sample_weight=True) if _routing_enabled() else weigher


def _learn_parts(model: Any, rows: PreparedRows, weigher: Any, judge: Judge, k: int) -> list[_Part]:
    """Return the judged rows in parts, each with weights that were learned without the targets of its rows.

    Parameters
    ----------
    model : LocalKNeighbors
    rows : PreparedRows
    weigher : None, Weights or weigher
    judge : Judge
        Has the rows to judge, and folds of them.
    k : int
        The largest number of neighbours, by which small repetition weights are scaled for the weigher.
    """
    training, drawn = rows.training, judge.drawn
    if rows.weights is not None or weigher is None:
        return [_Part(drawn, Weights() if rows.weights is None else rows.weights, None)]
    model = use_values(model, weigher=weigher)
    parts = []
    for train, test in judge.folds() if len(drawn) > 1 else []:
        learning, judged = drawn[train], drawn[test]
        if not training.varies(learning):  # no weigher learns from one class or one number
            parts.append(_Part(judged, Weights(), None))
            continue
        weight = None if training.sample_weight is None else training.sample_weight[learning]
        if weight is not None:
            weight = scale_repetitions(weight, np.arange(len(weight)), k)
        table, y = _safe_indexing(rows.table, learning), training.y(rows.classes, learning)
        _, weights = resolve_weights(model, table, y, training.X[learning], rows.coder, weight)
        # Only rows that the weights know can be neighbours, where weights belong to rows or to classes.
        present = np.unique(training.codes[learning])
        unknown = weights.classes is not None and len(present) < len(np.unique(training.codes))
        parts.append(_Part(judged, weights, learning if weights.instance_bound or unknown else None))
    return parts


def _measure(
    model: Any,
    rows: PreparedRows,
    p: int,
    settings: list[tuple[int, Any]],
    parts: list[_Part],
    judge: Judge,
    repetition: FloatArray | None,
) -> FloatArray:
    """Predict the judged rows with every setting, and return the measures of the predictions.

    Parameters
    ----------
    model : LocalKNeighbors
    rows : PreparedRows
    p : {1, 2}
    settings : list of (n_neighbors, weights)
    parts : list of _Part
        From `_learn_parts`.
    judge : Judge
    repetition : ndarray of shape (n,), or None
        Repetition weights of all rows.

    Returns
    -------
    ndarray of shape (n_settings, n_measures, n_judged)
    """
    training, drawn = rows.training, judge.drawn
    if len(training.codes) < 2:  # There is nothing to predict a row by.
        return np.zeros((len(settings), judge.n_measures, 0))
    measures = np.zeros((len(settings), judge.n_measures, len(drawn)))
    span = training.X.shape[1] ** (1 / p)
    for part in parts:
        among = np.arange(len(training.codes)) if part.among is None else part.among
        engine = NeighborEngine(
            training.X if part.among is None else training.X[among],
            weights=part.weights,
            p=p,
            nominal=rows.coder.nominal if rows.coder.nominal.any() else None,
            class_of_row=class_of_row(part.weights, rows.classes, training.codes[among]),
            backend=model.backend,
            n_jobs=model.n_jobs,
        )
        omega = part.weights.votes
        counted = None if repetition is None else repetition[among]
        scaled = {
            k: None if counted is None else scale_repetitions(counted, engine.stored_rows, k) for k, _ in settings
        }
        for judged, distance, row in _search(engine, training.X, part, scaled):
            at = np.searchsorted(drawn, judged)
            for number, (k, kind) in enumerate(settings):
                weight = scaled[k]
                shares = None if weight is None else mass_votes(weight[row], k)[0]
                # Without repetition weights, the k first ones vote. With them, shares beyond k are 0.
                width = slice(k) if shares is None else slice(None)
                by_distance = distance_votes(distance[:, width], kind, span=span, shares=shares)
                votes = combine_votes(by_distance, shares, None if omega is None else omega[row[:, width]])
                measures[number][:, at] = judge.measure(judged, among[row[:, width]], votes)
    return measures


def _search(
    engine: NeighborEngine, X: Any, part: _Part, scaled: dict[int, FloatArray | None]
) -> Iterator[tuple[IndexArray, FloatArray, IndexArray]]:
    """Yield batches of judged rows with the distances and numbers of enough neighbours for every number of votes.

    Parameters
    ----------
    engine : NeighborEngine
        Rows that can be neighbours.
    X : array or CSR
        All coded rows.
    part : _Part
    scaled : dict
        For each number of neighbours k, the repetition weights of the rows of the engine, or None.
    """
    alone = part.among is None
    most = engine.n_references - alone
    size = max(64, _BATCH_CELLS // max(scaled))
    for begin in range(0, len(part.rows), size):
        pending, width = part.rows[begin : begin + size], min(max(scaled), most)
        while len(pending) and width:
            distance, row = engine.search(X[pending], width, own_row=pending if alone else None)
            full = np.ones(len(pending), dtype=bool)
            if width < most:
                for k, weight in scaled.items():
                    if weight is not None:
                        full &= weight[row].sum(axis=1) >= k * _FULL
            if full.any():
                yield pending[full], distance[full], row[full]
            pending, width = pending[~full], min(2 * width, most)
