"""What votes of neighbours become in a classifier: shares of classes, a class, and a judgement of both."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils._param_validation import StrOptions

from .._typing import AnyArray, FloatArray, IndexArray
from ..engine import decide, tally
from ..weighers import ReliefF
from .base_knn import BaseKNeighbors
from .choice import N_FOLDS, gradient_weighers
from .explain import VotesOfRows
from .learning import Fitted, PreparedRows


class BaseKNeighborsClassifier(ClassifierMixin, BaseKNeighbors):
    """Base class of the weighted k-NN classifiers: votes become shares of classes. A subclass defines ``fit``."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's convention
        **BaseKNeighbors._parameter_constraints,
        "vote_ties": [StrOptions({"first", "nearest"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        weigher: Any = None,
        *,
        weights: str | Callable[[FloatArray], Any] = "uniform",
        p: int = 2,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "different",
        vote_ties: str = "first",
        class_weight: Any = None,
        backend: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            weigher,
            weights=weights,
            p=p,
            categorical_features=categorical_features,
            handle_unknown=handle_unknown,
            backend=backend,
            n_jobs=n_jobs,
        )
        self.vote_ties = vote_ties
        self.class_weight = class_weight

    @property
    def _class_weight(self) -> Any:
        return self.class_weight

    def _use(self, fitted: Fitted) -> Self:
        """Set the fitted attributes from ``fitted``, and return the estimator."""
        self.classes_ = fitted.classes
        return super()._use(fitted)

    def _describe_rows(self, row: IndexArray) -> dict[str, AnyArray]:
        """Return the labels of the stored rows ``row``."""
        return {"label": self.classes_[self._fitted.training.codes[row]]}

    def _make_judge(self, rows: PreparedRows, drawn: IndexArray, weight: FloatArray | None) -> ClassJudge:
        """Return the judge of candidates for "auto". ``drawn`` are the rows it judges, of sample weights ``weight``."""
        return ClassJudge(rows.training.codes, len(rows.classes), self.vote_ties, drawn, weight)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the share of the votes for each class.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the queries are the training rows, and no row is its own neighbour.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Columns as in ``classes_``.
        """
        return self._vote_shares(*self._queries(X))

    def _vote_shares(self, queries: Any, own: IndexArray | None) -> FloatArray:
        """Return the share of the votes for each class. The parameters are what `_queries` returns."""
        shares = np.empty((queries.shape[0], len(self.classes_)))
        for found in self._neighbors_and_votes(queries, own):
            shares[found.query] = tally(self._fitted.training.codes[found.row], found.votes, len(self.classes_))
        return shares

    def predict(self, X: Any) -> AnyArray:
        """Return the class with the most votes. ``vote_ties`` decides between classes with equal votes.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the queries are the training rows, and no row is its own neighbour.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        return self._coded_answers(*self._queries(X))

    def _coded_answers(self, queries: Any, own: IndexArray | None) -> AnyArray:
        """Return the class with the most votes. The parameters are what `_queries` returns."""
        winner = np.empty(queries.shape[0], dtype=np.int64)
        for found in self._neighbors_and_votes(queries, own):
            codes = self._fitted.training.codes[found.row]
            shares = tally(codes, found.votes, len(self.classes_))
            winner[found.query] = decide(shares, codes, found.votes, self.vote_ties)
        labels: AnyArray = self.classes_[winner]
        return labels

    def _coded_scores(self, queries: Any, own: IndexArray | None) -> FloatArray:
        """Return the shares of the classes. The parameters are what `_queries` returns."""
        return self._vote_shares(queries, own)

    def _explained_votes(self, row: IndexArray, share: FloatArray) -> VotesOfRows:
        """Return the labels of stored rows, and their votes for the classes."""
        codes = self._fitted.training.codes[row]
        return VotesOfRows(self.classes_[codes], share[:, None] * np.eye(len(self.classes_))[codes])

    def _strata(self, row: IndexArray) -> AnyArray:
        """Return the codes of the classes of the stored rows ``row``."""
        codes: AnyArray = self._fitted.training.codes[row]
        return codes

    def _output_names(self) -> tuple[str, ...]:
        """Return the classes as text."""
        return tuple(str(label) for label in self.classes_.tolist())

    def _explained_parts(self) -> dict[str, Any]:
        """Return the fields of `ExplainedModel` that classes need."""
        return {**super()._explained_parts(), "probabilities": lambda shares: shares, "classes": self.classes_}


@dataclass(frozen=True)
class ClassJudge:
    """Judges candidates by the accuracy on rows left out, and then by the squared error of the vote shares."""

    codes: IndexArray  # (n,) classes of all training rows
    n_classes: int
    vote_ties: str
    drawn: IndexArray  # numbers of the rows that are judged
    weight: FloatArray | None  # (n_drawn,) how much these rows count; None: alike

    columns = ("accuracy", "squared_error")
    n_measures = 2

    def measure(self, judged: IndexArray, row: IndexArray, votes: FloatArray | None) -> FloatArray:
        """Return, for each judged row, whether it was predicted as its class, and the squared error of the shares.

        Parameters
        ----------
        judged : ndarray of shape (n,)
            Numbers of judged rows.
        row, votes : ndarrays of shape (n, k)
            Their neighbours, nearest first, and the votes of these (None: equal votes).

        Returns
        -------
        ndarray of shape (2, n)
        """
        codes, own = self.codes[row], self.codes[judged]
        share = tally(codes, votes, self.n_classes)
        right = decide(share, codes, votes, self.vote_ties) == own
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

    def weighers(self, powers: tuple[int, ...], n_jobs: int | None) -> list[dict[int, Any]]:
        """Return the weighers that are candidates, by p: `ReliefF` and the weights of learned votes."""
        return [dict.fromkeys(powers, ReliefF(n_jobs=n_jobs)), gradient_weighers(powers, n_jobs)]

    def folds(self) -> list[tuple[IndexArray, IndexArray]]:
        """Return folds of the judged rows, by class if one has enough rows: (train, test) positions in ``drawn``."""
        codes = self.codes[self.drawn]
        if np.bincount(codes).max() < N_FOLDS:
            return list(KFold(min(N_FOLDS, len(codes)), shuffle=True, random_state=0).split(codes))
        with warnings.catch_warnings():  # scikit-learn warns of classes that are not in every fold
            warnings.simplefilter("ignore", UserWarning)
            return list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(codes, codes))
