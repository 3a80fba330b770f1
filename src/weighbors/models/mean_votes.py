"""What votes of neighbours become in a regressor: the mean target of the neighbours, and a judgement of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.model_selection import KFold

from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..engine import mean_targets
from ..tables.targets import standardize_outputs
from ..weighers import RReliefF
from .base_knn import BaseKNeighbors
from .choice import N_FOLDS, gradient_weighers
from .explain import VotesOfRows
from .learning import PreparedRows


class BaseKNeighborsRegressor(RegressorMixin, BaseKNeighbors):
    """Base class of the weighted k-NN regressors: votes weigh the mean of targets. A subclass defines ``fit``."""

    @property
    def _targets(self) -> FloatArray:
        """The targets of the stored rows, of shape (n,) or (n, n_outputs)."""
        targets = self._fitted.training.targets
        assert targets is not None
        return targets

    def _describe_rows(self, row: IndexArray) -> dict[str, AnyArray]:
        """Return the targets of the stored rows ``row``, one column per output."""
        targets = self._targets[row]
        if targets.ndim == 1:
            return {"target": targets}
        return {f"target of output {t}": targets[:, t] for t in range(targets.shape[1])}

    def _make_judge(self, rows: PreparedRows, drawn: IndexArray, weight: FloatArray | None) -> NumberJudge:
        """Return the judge of candidates for "auto". ``drawn`` are the rows it judges, of sample weights ``weight``."""
        assert rows.training.targets is not None
        return NumberJudge.of(rows.training.targets, drawn, weight)

    def predict(self, X: Any) -> FloatArray:
        """Return the mean target of the neighbours, weighted by their votes.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the queries are the training rows, and no row is its own neighbour.

        Returns
        -------
        ndarray of shape (n_queries,) or (n_queries, n_outputs)
        """
        return self._coded_answers(*self._queries(X))

    def _coded_answers(self, queries: Any, own: IndexArray | None) -> FloatArray:
        """Return the mean targets of the neighbours. The parameters are what `_queries` returns."""
        targets = self._targets
        predicted = np.empty((queries.shape[0], *targets.shape[1:]))
        for found in self._neighbors_and_votes(queries, own):
            predicted[found.query] = mean_targets(targets, found.row, found.votes)
        return predicted

    def _coded_scores(self, queries: Any, own: IndexArray | None) -> FloatArray:
        """Return the predictions, of shape (n_queries, n_outputs). The parameters are what `_queries` returns."""
        return self._coded_answers(queries, own).reshape(queries.shape[0], -1)

    def _explained_votes(self, row: IndexArray, share: FloatArray) -> VotesOfRows:
        """Return the targets of stored rows, and what they add to the predictions."""
        targets = self._targets[row]
        return VotesOfRows(targets, share[:, None] * targets.reshape(len(row), -1))

    def _strata(self, row: IndexArray) -> AnyArray:
        """Return the targets of the stored rows ``row``, the first ones if there are several."""
        targets = self._targets[row]
        return targets if targets.ndim == 1 else targets[:, 0]

    def _output_names(self) -> tuple[str, ...]:
        """Return the names of the outputs."""
        targets = self._targets
        return ("the prediction",) if targets.ndim == 1 else tuple(f"output {t}" for t in range(targets.shape[1]))

    def _explained_parts(self) -> dict[str, Any]:
        """Return the fields of `ExplainedModel` that numbers need."""
        _, _, spread = standardize_outputs(self._targets.reshape(len(self._targets), -1))
        return {**super()._explained_parts(), "target_spread": spread}


@dataclass(frozen=True)
class NumberJudge:
    """Judges candidates by R² on rows left out, averaged over the outputs."""

    scaled: FloatArray  # (n, n_outputs) standardised targets of all training rows
    spread: FloatArray  # (n_outputs,) standard deviations of the targets
    varying: BoolArray  # (n_outputs,) outputs that are not constant
    drawn: IndexArray  # numbers of the rows that are judged
    weight: FloatArray | None  # (n_drawn,) how much these rows count; None: alike

    columns = ("r2", "squared_error")

    @classmethod
    def of(cls, targets: FloatArray, drawn: IndexArray, weight: FloatArray | None) -> NumberJudge:
        """Return a judge. Targets are standardised by the judged rows, so that squares of extreme ones stay finite."""
        Y = targets.reshape(len(targets), -1)
        _, center, spread = standardize_outputs(Y[drawn], weight)
        varying = (Y[drawn] != Y[drawn][:1]).any(axis=0)
        return cls((Y - center) / spread, spread, varying, drawn, weight)

    @property
    def n_measures(self) -> int:
        """One measure per output."""
        return len(self.spread)

    def measure(self, judged: IndexArray, row: IndexArray, votes: FloatArray | None) -> FloatArray:
        """Return the squared errors of judged rows, in units of the variance of each output.

        Parameters
        ----------
        judged : ndarray of shape (n,)
            Numbers of judged rows.
        row, votes : ndarrays of shape (n, k)
            Their neighbours, nearest first, and the votes of these (None: equal votes).

        Returns
        -------
        ndarray of shape (n_outputs, n)
        """
        error: FloatArray = (mean_targets(self.scaled, row, votes) - self.scaled[judged]) ** 2
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

    def weighers(self, powers: tuple[int, ...], n_jobs: int | None) -> list[dict[int, Any]]:
        """Return the weighers that are candidates, by p. They take one target: for several outputs there are none."""
        if self.n_measures > 1:
            return []
        return [dict.fromkeys(powers, RReliefF(n_jobs=n_jobs)), gradient_weighers(powers, n_jobs)]

    def folds(self) -> list[tuple[IndexArray, IndexArray]]:
        """Return folds of the judged rows, which are always the same: (train, test) positions in ``drawn``."""
        n = len(self.drawn)
        return list(KFold(min(N_FOLDS, n), shuffle=True, random_state=0).split(np.zeros(n)))
