"""Evaluate individuals with any classifier or regressor of scikit-learn, by cross-validation, not by neighbours.

A feature weight multiplies its column. Features and instances that are not selected are left out. With
IW, an instance of scale v is trained with ``sample_weight`` 1 − v.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.validation import has_fit_parameter

from ..._parallel.threads import run_ranges
from ..._random import open_seeds
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from .genome import Genome, Population

__all__ = ["EstimatorPredictor"]


class EstimatorPredictor:
    """Cross-validated predictions of a learner, trained on the selected instances and features of the other folds.

    Parameters
    ----------
    genome : Genome
    X, codes : rows and classes
        ``codes`` is the class of each row, as a number from 0.
    numbers : float64 ndarray of shape (N,), optional
        Numeric target. If it is given, it is predicted in place of the classes.
    estimator : classifier, or regressor for a numeric target
        It is cloned. Every ``random_state`` that is None, also of nested estimators, is set to ``seed``, so
        that equal individuals get equal predictions.
    cv : int
        Number of folds, which are drawn once per search: stratified for classes.
    seed : int
        Seed of the folds and of ``estimator``.
    nominal : bool ndarray of shape (M,)
        Columns that hold categories.
    n_jobs : int
        Number of threads.
    """

    def __init__(
        self,
        genome: Genome,
        X: FloatArray,
        codes: IndexArray,
        *,
        estimator: Any,
        cv: int,
        seed: int,
        nominal: BoolArray,
        n_jobs: int,
        numbers: FloatArray | None = None,
    ) -> None:
        if genome.n_vectors > 1:
            raise InvalidDataError(
                "per_class=True needs the nearest neighbour: a classifier sees one scaling of the columns"
            )
        if nominal.any() and "FW" in genome.tasks:
            raise InvalidDataError(
                "FW with estimator= multiplies columns, and categories have no multiples: encode them first, for "
                "example with sklearn.preprocessing.OneHotEncoder"
            )
        self.genome, self.X, self.codes, self.numbers, self.n_jobs = genome, X, codes, numbers, n_jobs
        if not (is_classifier(estimator) if numbers is None else is_regressor(estimator)):
            kind = "a classifier, whose answers are labels" if numbers is None else "a regressor, as y is numeric"
            raise InvalidDataError(f"estimator must be {kind}; got {type(estimator).__name__}")
        self.estimator = clone(estimator)
        # Equal individuals must get equal predictions, or the search would reward luck.
        self.estimator.set_params(**dict.fromkeys(open_seeds(self.estimator), seed))
        self.weighted = has_fit_parameter(self.estimator, "sample_weight")
        if "IW" in genome.tasks and not self.weighted:
            raise InvalidDataError(
                f"IW needs an estimator whose fit takes sample_weight; {type(estimator).__name__} does not. "
                "Leave IW out of tasks"
            )
        self.folds = _class_folds(codes, cv, seed) if numbers is None else _number_folds(len(numbers), cv, seed)
        self._otherwise = -1 if numbers is None else float(numbers.mean())

    def predict(self, population: Population) -> AnyArray:
        """Return the predicted class or number of each row for each individual, shape (P, N).

        It is class -1, or the mean of a numeric target, if the individual selects no instance of the other folds, or
        only instances of weight 0.
        """
        dtype = np.int32 if self.numbers is None else np.float64
        predicted = np.full((len(population), len(self.codes)), self._otherwise, dtype=dtype)
        rows, columns = self.genome.instance_mask(population), self.genome.feature_mask(population)
        scales, weights = self.genome.instance_scales(population), self.genome.feature_weights(population)[:, 0]

        # Each task is one individual. Folds of an individual share its scaled columns.
        def task(begin: int, end: int) -> None:
            for i in range(begin, end):
                X = (
                    self.X[:, columns[i]] * weights[i, columns[i]]
                    if "FW" in self.genome.tasks
                    else self.X[:, columns[i]]
                )
                for train, test in self.folds:
                    kept = train[rows[i, train]]
                    if len(kept):
                        predicted[i, test] = self._answers(X, kept, test, 1 - scales[i])

        run_ranges(task, [(i, i + 1) for i in range(len(population))], self.n_jobs)
        return predicted

    def _answers(self, X: FloatArray, train: IndexArray, test: IndexArray, relevance: FloatArray) -> AnyArray:
        """Return the predictions of the rows ``test`` of a fold.

        ``X`` holds the selected columns of all rows. ``train`` are the rows to train on. ``relevance`` is the
        sample weight of every row of ``X``.
        """
        y = (self.codes if self.numbers is None else self.numbers)[train]
        weight = relevance[train]
        if "IW" in self.genome.tasks and not (weight > 0).any():
            return np.full(len(test), self._otherwise)
        if (y == y[0]).all():  # Many classifiers refuse a single class. All learners would predict this value.
            return np.full(len(test), y[0])
        given = {"sample_weight": weight} if "IW" in self.genome.tasks else {}
        answers = np.asarray(clone(self.estimator).fit(X[train], y, **given).predict(X[test])).reshape(len(test))
        if self.numbers is None:
            return answers
        # If a regressor diverged for a row, the row counts as one without a prediction.
        return np.where(np.isfinite(answers), answers, self._otherwise)


def _number_folds(n: int, cv: int, seed: int) -> list[tuple[IndexArray, IndexArray]]:
    """Draw ``cv`` folds of ``n`` rows and return them as pairs of training and test rows."""
    if cv > n:
        raise InvalidDataError(f"cv={cv} folds need at least {cv} rows; there are {n}")
    return list(KFold(cv, shuffle=True, random_state=seed).split(np.zeros(n)))


def _class_folds(codes: IndexArray, cv: int, seed: int) -> list[tuple[IndexArray, IndexArray]]:
    """Draw ``cv`` stratified folds and return them as pairs of training and test rows."""
    largest = int(np.bincount(codes).max())
    if cv > largest:
        raise InvalidDataError(f"cv={cv} folds need a class of at least {cv} rows; the largest has {largest}")
    import warnings

    with warnings.catch_warnings():
        # A small class cannot be in every fold, which is no reason to warn here.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(StratifiedKFold(cv, shuffle=True, random_state=seed).split(np.zeros(len(codes)), codes))
