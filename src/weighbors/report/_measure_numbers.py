"""Measurements of a report on a numeric target: predictions, their scores, directions of features, and residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from .._typing import AnyArray, FloatArray
from ..models import LearnedVotesRegressor, WeightedKNeighborsRegressor
from ..weights import Weights
from ._data import ReportData

#: The methods that are compared: plain k-NN, k-NN with the weights of RReliefF, and learned votes.
NUMBER_METHODS = ("no weights", "feature weights", "learned votes")


def _fit_knn(table: ReportData, weights: Weights | None, rows: FloatArray, y: FloatArray, k: int, n_jobs: Any) -> Any:
    """Return a k-NN regressor, fitted to ``rows`` and their targets ``y``. If ``weights`` is None, it has no weights.

    ``table`` is used only to know which columns are categorical. ``k`` is the number of neighbours.
    """
    options = {"categorical_features": table.categorical_features, "n_jobs": n_jobs}
    return WeightedKNeighborsRegressor(k, weights, **options).fit(rows, y)


def predict_numbers(
    table: ReportData, weights: Weights, rows: FloatArray, y: FloatArray, queries: FloatArray, k: int, n_jobs: Any
) -> dict[str, FloatArray]:
    """Return the predictions for the ``queries`` by method: `NUMBER_METHODS`, and the mean of the training targets.

    Parameters
    ----------
    table : ReportData
        Used only to know which columns are categorical.
    weights : Weights
        Weights of RReliefF, learned from the training rows.
    rows, y
        Training rows, scaled, and their targets.
    queries
        Test rows, scaled.
    k : int
        Number of neighbours.
    n_jobs : int or None
    """
    found = [_fit_knn(table, one, rows, y, k, n_jobs).predict(queries) for one in (None, weights)]
    # Feature weights of its own would be learned by cross-validation, which takes many times as long.
    model = LearnedVotesRegressor(
        None, None, categorical_features=table.categorical_features, random_state=0, n_jobs=n_jobs
    )
    votes = model.fit(rows, y).predict(queries)
    named = dict(zip(NUMBER_METHODS, [*found, votes], strict=True))
    # The baseline that every model must beat.
    return {**named, "mean": np.full(len(queries), y.mean())}


def number_scores(truth: AnyArray, predicted: AnyArray, train: AnyArray) -> dict[str, float]:
    """Return R², RMSE and MAE. R² compares with the mean of the training targets ``train``, so that the mean has 0.

    Examples
    --------
    >>> number_scores(np.array([3.0, 6.0]), np.array([3.0, 4.0]), np.array([1.0, 2.0, 3.0]))
    {'r2': 0.7647058823529411, 'rmse': 1.4142135623730951, 'mae': 1.0}
    """
    error = truth - predicted
    # A test part may be constant or small. The mean of the training rows is what could be known without features.
    total = float(np.square(truth - train.mean()).sum())
    squared = float(np.square(error).sum())
    r2 = 1.0 - squared / total if total > 0 else float(squared == 0)
    return {"r2": r2, "rmse": float(np.sqrt(squared / len(error))), "mae": float(np.abs(error).mean())}


@dataclass(frozen=True)
class WholeNumbers:
    """Results computed from all rows together. They describe this table, and are not estimates for new rows."""

    correlations: FloatArray  # (M,) Spearman correlation of each number with the target; NaN for categories
    predicted: FloatArray  # (n,) leave-one-out predictions of the weighted k-NN
    residuals: FloatArray  # (n,) target − prediction


def measure_whole_numbers(table: ReportData, weights: Weights, *, k: int, n_jobs: int | None) -> WholeNumbers:
    """Compute from all rows: the direction of each feature, and leave-one-out predictions of the weighted k-NN.

    ``weights`` are those of RReliefF, learned from all rows. ``k`` is the number of neighbours.
    """
    assert table.numbers is not None
    knn = _fit_knn(table, weights, table.scaled, table.numbers, min(k, table.n - 1), n_jobs)
    # Without queries, the k-NN predicts its own training rows, each without itself (leave-one-out).
    predicted = knn.predict(None)
    correlations = np.array([rank_correlation(table, j) for j in range(table.n_features)])
    return WholeNumbers(correlations, predicted, table.numbers - predicted)


def rank_correlation(table: ReportData, column: int) -> float:
    """Return the rank correlation of a column of numbers with the target, over its known values. NaN if undefined."""
    values = table.rows[:, column]
    known = ~np.isnan(values)
    if table.nominal[column] or known.sum() < 3 or np.ptp(values[known]) == 0:
        return float("nan")
    assert table.numbers is not None
    target = table.numbers[known]
    return float("nan") if np.ptp(target) == 0 else float(spearmanr(values[known], target).statistic)
