"""Evaluate individuals with any classifier or regressor of scikit-learn, by cross-validation, not by neighbours.

A feature weight multiplies its column. Features and instances that are not selected are left out. With
IW, an instance of scale v is trained with ``sample_weight`` 1 − v.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.validation import has_fit_parameter

from ..._parallel.threads import run_ranges
from ..._random import open_seeds
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from ...tables.targets import Target
from .genome import Genome, Population


class EstimatorPredictor:
    """Cross-validated predictions of a learner, trained on the selected instances and features of the other folds.

    Parameters
    ----------
    genome : Genome
    X : ndarray of shape (N, M)
    target : Target
        Classes or numbers of the rows.
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
        target: Target,
        *,
        estimator: Any,
        cv: int,
        seed: int,
        nominal: BoolArray,
        n_jobs: int,
    ) -> None:
        _check_estimator(estimator, genome, nominal, numeric=target.numbers is not None)
        self.genome, self.X, self.n_jobs = genome, X, n_jobs
        # Equal individuals must get equal predictions, or the search would reward luck.
        self.estimator = clone(estimator).set_params(**dict.fromkeys(open_seeds(estimator), seed))
        self.folds = _draw_folds(target, cv, seed)
        self.y = target.codes if target.numbers is None else target.numbers
        self._otherwise = -1 if target.numbers is None else float(target.numbers.mean())

    def predict(self, population: Population) -> AnyArray:
        """Return the predicted class or number of each row for each individual, shape (P, N).

        It is class -1, or the mean of a numeric target, if the individual selects no instance of the other folds, or
        only instances of weight 0.
        """
        predicted = np.full((len(population), len(self.y)), self._otherwise, dtype=np.asarray(self._otherwise).dtype)
        rows, columns = self.genome.instance_mask(population), self.genome.feature_mask(population)
        scales, weights = self.genome.instance_scales(population), self.genome.feature_weights(population)[:, 0]

        # Each task is one individual. Folds of an individual share its scaled columns.
        def task(begin: int, end: int) -> None:
            for i in range(begin, end):
                X = self.X[:, columns[i]]
                if "FW" in self.genome.tasks:
                    X = X * weights[i, columns[i]]
                for train, test in self.folds:
                    kept = train[rows[i, train]]
                    if len(kept):
                        predicted[i, test] = self._answer(X, kept, test, 1 - scales[i])

        run_ranges(task, [(i, i + 1) for i in range(len(population))], self.n_jobs)
        return predicted

    def _answer(self, X: FloatArray, train: IndexArray, test: IndexArray, relevance: FloatArray) -> AnyArray:
        """Return the predictions of the rows ``test`` of a fold.

        ``X`` holds the selected columns of all rows. ``train`` are the rows to train on. ``relevance`` is the
        sample weight of every row of ``X``.
        """
        y, given = self.y[train], {}
        if "IW" in self.genome.tasks:
            given["sample_weight"] = relevance[train]
            if not (relevance[train] > 0).any():
                return np.full(len(test), self._otherwise)
        if (y == y[0]).all():  # Many classifiers refuse a single class. All learners would predict this value.
            return np.full(len(test), y[0])
        answers = np.asarray(clone(self.estimator).fit(X[train], y, **given).predict(X[test])).reshape(len(test))
        # If a regressor diverged for a row, the row counts as one without a prediction.
        return np.where(np.isfinite(answers), answers, self._otherwise)


def _check_estimator(estimator: Any, genome: Genome, nominal: BoolArray, *, numeric: bool) -> None:
    """Raise an error if the learner cannot do the tasks of the genome, or is not one for this type of target."""
    if genome.n_vectors > 1:
        raise InvalidDataError(
            "per_class=True needs the nearest neighbour: a classifier sees one scaling of the columns"
        )
    if nominal.any() and "FW" in genome.tasks:
        raise InvalidDataError(
            "FW with estimator= multiplies columns, and categories have no multiples: encode them first, for "
            "example with sklearn.preprocessing.OneHotEncoder"
        )
    if not (is_regressor(estimator) if numeric else is_classifier(estimator)):
        kind = "a regressor, as y is numeric" if numeric else "a classifier, whose answers are labels"
        raise InvalidDataError(f"estimator must be {kind}; got {type(estimator).__name__}")
    if "IW" in genome.tasks and not has_fit_parameter(estimator, "sample_weight"):
        raise InvalidDataError(
            f"IW needs an estimator whose fit takes sample_weight; {type(estimator).__name__} does not. "
            "Leave IW out of tasks"
        )


def _draw_folds(target: Target, cv: int, seed: int) -> list[tuple[IndexArray, IndexArray]]:
    """Draw ``cv`` folds, stratified for classes, and return them as pairs of training and test rows."""
    # All rows of a numeric target have one code, so that the largest class is the table.
    largest = int(np.bincount(target.codes).max())
    if cv > largest:
        wanted = f"a class of at least {cv} rows; the largest has {largest}"
        if target.numbers is not None:
            wanted = f"at least {cv} rows; there are {largest}"
        raise InvalidDataError(f"cv={cv} folds need {wanted}")
    splitter = StratifiedKFold if target.numbers is None else KFold
    with warnings.catch_warnings():
        # A small class cannot be in every fold, which is no reason to warn here.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(splitter(cv, shuffle=True, random_state=seed).split(target.codes, target.codes))
