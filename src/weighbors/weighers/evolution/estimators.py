"""Evaluate individuals with any scikit-learn classifier, by cross-validation, in place of the nearest neighbour.

A feature weight multiplies its column. Features and instances that are not selected are left out. With
IW, an instance of scale v is trained with ``sample_weight`` 1 − v.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import has_fit_parameter

from ..._parallel.threads import run_ranges
from ..._random import open_seeds
from ..._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ...exceptions import InvalidDataError
from .genome import Genome, Population

__all__ = ["EstimatorPredictor"]


class EstimatorPredictor:
    """Cross-validated predictions of a classifier, trained on the selected instances and features of the other folds.

    Parameters
    ----------
    genome : Genome
    X, codes : rows and classes
        ``codes`` is the class of each row, as a number from 0.
    estimator : classifier
        It is cloned. Every ``random_state`` that is None, also of nested estimators, is set to ``seed``, so
        that equal individuals get equal predictions.
    cv : int
        Number of stratified folds, which are drawn once per search.
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
        self.genome, self.X, self.codes, self.n_jobs = genome, X, codes, n_jobs
        if not is_classifier(estimator):
            raise InvalidDataError(
                f"estimator must be a classifier, whose answers are labels; got {type(estimator).__name__}"
            )
        self.estimator = clone(estimator)
        # Equal individuals must get equal predictions, or the search would reward luck.
        self.estimator.set_params(**dict.fromkeys(open_seeds(self.estimator), seed))
        self.weighted = has_fit_parameter(self.estimator, "sample_weight")
        if "IW" in genome.tasks and not self.weighted:
            raise InvalidDataError(
                f"IW needs a classifier whose fit takes sample_weight; {type(estimator).__name__} does not. "
                "Leave IW out of tasks"
            )
        self.folds = _folds(codes, cv, seed)

    def predict(self, population: Population) -> AnyArray:
        """Return the predicted class of each row for each individual, shape (P, N).

        It is -1 if the individual selects no instance of the other folds, or only instances of weight 0.
        """
        predicted = np.full((len(population), len(self.codes)), -1, dtype=np.int32)
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
        """Return the predicted classes of the rows ``test`` of a fold.

        ``X`` holds the selected columns of all rows. ``train`` are the rows to train on. ``relevance`` is the
        sample weight of every row of ``X``.
        """
        codes = self.codes[train]
        weight = relevance[train]
        if "IW" in self.genome.tasks and not (weight > 0).any():
            return np.full(len(test), -1)
        if (codes == codes[0]).all():  # Many classifiers refuse a single class. The others would predict it.
            return np.full(len(test), codes[0])
        given = {"sample_weight": weight} if "IW" in self.genome.tasks else {}
        return np.asarray(clone(self.estimator).fit(X[train], codes, **given).predict(X[test]))


def _folds(codes: IndexArray, cv: int, seed: int) -> list[tuple[IndexArray, IndexArray]]:
    """Draw ``cv`` stratified folds and return them as pairs of training and test rows."""
    largest = int(np.bincount(codes).max())
    if cv > largest:
        raise InvalidDataError(f"cv={cv} folds need a class of at least {cv} rows; the largest has {largest}")
    import warnings

    with warnings.catch_warnings():
        # A small class cannot be in every fold, which is no reason to warn here.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(StratifiedKFold(cv, shuffle=True, random_state=seed).split(np.zeros(len(codes)), codes))
