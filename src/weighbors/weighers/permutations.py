"""Permutations of a target under the null hypothesis of a test: of rows, of groups, or given covariates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from ..tables.covariates import Covariates

_SWAP_ROUNDS = 50  # rounds of swaps per draw, as many as Berrett et al. (2020) take


class TargetPermuter(ABC):
    """A way to permute a target. ``scheme`` describes it in words."""

    scheme: str

    @abstractmethod
    def draw(self, random: np.random.Generator) -> AnyArray:
        """Return a permuted target."""


class RowPermuter(TargetPermuter):
    """Exchange the target between all rows."""

    def __init__(self, y: AnyArray, what: str) -> None:
        self.y, self.scheme = y, f"{what} exchanged between rows"

    def draw(self, random: np.random.Generator) -> AnyArray:
        """Return the target in a random order."""
        return np.asarray(random.permutation(self.y))


class GroupPermuter(TargetPermuter):
    """Exchange the target between whole groups: all rows of a group have the same value."""

    def __init__(self, y: AnyArray, codes: IndexArray, what: str) -> None:
        self.y, self.codes, self.scheme = y, codes, f"{what} exchanged between whole groups"
        self.first = np.unique(codes, return_index=True)[1]  # any row of a group gives its label

    def draw(self, random: np.random.Generator) -> AnyArray:
        """Return a target in which the groups have exchanged their values."""
        return np.asarray(random.permutation(self.y[self.first]))[self.codes]


class StrataPermuter(TargetPermuter):
    """Exchange the target within strata of rows."""

    def __init__(self, y: AnyArray, codes: IndexArray, scheme: str) -> None:
        self.y, self.scheme = y, scheme
        order = np.argsort(codes, kind="stable")
        self.strata = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)

    def draw(self, random: np.random.Generator) -> AnyArray:
        """Return a target whose values have changed places within strata."""
        out = self.y.copy()
        for rows in self.strata:
            out[rows] = random.permutation(self.y[rows])
        return out


class ResidualPermuter(TargetPermuter):
    """Permute the residuals of a linear regression on the covariates, and add its predictions again.

    This is the scheme of Freedman and Lane (1983). Permuted residuals are made unrelated to the covariates again, as
    the original ones are: otherwise weights that do not adjust for the covariates would vary more under permutations.
    """

    def __init__(self, y: AnyArray, covariates: Covariates) -> None:
        design = np.column_stack([np.ones(len(y)), covariates.design()])
        numbers = np.asarray(y, dtype=np.float64)
        left, singular, _ = np.linalg.svd(design, full_matrices=False)
        # Directions of rounding size belong to covariates that follow from the others.
        self.basis: FloatArray = left[:, singular > 1e-10 * singular[0]]
        self.predicted: FloatArray = self.basis @ (self.basis.T @ numbers)
        self.residual = numbers - self.predicted
        self.scheme = f"residuals of a linear regression on {_named(covariates)} exchanged between rows"
        if np.abs(self.residual).max() <= 1e-10 * np.ptp(numbers):
            raise InvalidDataError(f"{_named(covariates)} determine the target: the features have nothing to add")

    def draw(self, random: np.random.Generator) -> AnyArray:
        """Return the predictions plus permuted residuals."""
        permuted = random.permutation(self.residual)
        permuted -= self.basis @ (self.basis.T @ permuted)
        size = np.linalg.norm(permuted)
        # If the covariates explain this permutation in full, it is taken as it is: 0.
        factor = np.linalg.norm(self.residual) / size if size > 0 else 0.0
        return np.asarray(self.predicted + factor * permuted)


class SwapPermuter(TargetPermuter):
    """Exchange labels between rows with the probabilities of a logistic regression on the covariates.

    This is the conditional permutation test of Berrett et al. (2020): of all permutations, each is drawn with a
    probability proportional to the likelihood of its labels, given the covariates. Permuted labels so depend on the
    covariates as the original ones do, and on nothing else. The probabilities are estimated from the same labels, which
    makes tests of weights that do not adjust for the covariates conservative: they find less than they could.

    Parameters
    ----------
    y : ndarray of shape (n,)
    covariates : Covariates
    random : Generator
        For the common starting point of all draws. From there each draw goes its own way, which makes the original
        labels and all draws exchangeable, whether or not the swaps have mixed well.
    """

    def __init__(self, y: AnyArray, covariates: Covariates, random: np.random.Generator) -> None:
        self.classes, codes = np.unique(y, return_inverse=True)
        self.log_probability = _log_probabilities(covariates.design(), codes)
        self.scheme = f"labels exchanged between rows by their probabilities given {_named(covariates)}"
        self.start = self._swap(codes, random)
        if np.array_equal(self.start, codes) and np.array_equal(self._swap(codes, random), codes):
            raise InvalidDataError(
                f"{_named(covariates)} determine the classes: no labels can be exchanged between rows, so that "
                "nothing can be said of the features. Leave out the covariates that follow from the class"
            )

    def draw(self, random: np.random.Generator) -> AnyArray:
        """Return labels after random swaps."""
        return np.asarray(self.classes[self._swap(self.start, random)])

    def _swap(self, codes: IndexArray, random: np.random.Generator) -> IndexArray:
        """Return class codes after rounds of swaps. In each round all rows are in at most one pair."""
        codes, log = codes.copy(), self.log_probability
        half = len(codes) // 2
        for _ in range(_SWAP_ROUNDS):
            order = random.permutation(len(codes))
            a, b = order[:half], order[half : 2 * half]
            gain = log[a, codes[b]] + log[b, codes[a]] - log[a, codes[a]] - log[b, codes[b]]
            # A swap has the odds exp(gain). A logistic variable is below the log odds with that probability.
            swap = random.logistic(size=half) < gain
            codes[a[swap]], codes[b[swap]] = codes[b[swap]], codes[a[swap]]
        return codes


def _log_probabilities(design: FloatArray, codes: IndexArray) -> FloatArray:
    """Return the log probability of each class for each row, by a logistic regression that is nearly unpenalised."""
    from sklearn.linear_model import LogisticRegression

    # Without any penalty a covariate that separates the classes would have infinite coefficients.
    model = LogisticRegression(C=1e4, solver="newton-cholesky", max_iter=200).fit(design, codes)
    return np.asarray(np.maximum(model.predict_log_proba(design), -700.0))


def _named(covariates: Covariates) -> str:
    """Return the names of the covariates for messages."""
    return "the covariates " + ", ".join(covariates.names)


def choose_permuter(
    y: AnyArray,
    *,
    numeric: bool,
    groups: Any = None,
    covariates: Covariates | None = None,
    random: np.random.Generator | None = None,
) -> TargetPermuter:
    """Decide how a target is permuted.

    Without groups and covariates it is exchanged between all rows. If all rows of each group have the same value,
    it is exchanged between whole groups, otherwise within groups. If all covariates are categories, it is exchanged
    within rows of equal covariates; if some are numbers, by `ResidualPermuter` or `SwapPermuter`.

    Parameters
    ----------
    y : ndarray of shape (n,)
    numeric : bool
        Whether the target is numeric, or labels of classes.
    groups : array-like of shape (n,), optional
    covariates : Covariates, optional
        Not together with groups.
    random : Generator, optional
        Only needed for classes with covariates.
    """
    what = "targets" if numeric else "labels"
    if covariates is not None and len(covariates):
        return _covariate_permuter(y, numeric, covariates, random)
    if groups is None:
        return RowPermuter(y, what)
    import pandas as pd

    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    # If labels never differ within groups, only whole groups can be exchanged under the null hypothesis.
    labels_of = pd.Series(y).groupby(codes).nunique()
    if (labels_of == 1).all():
        return GroupPermuter(y, codes, what)
    return StrataPermuter(y, codes, f"{what} exchanged within groups")


def _covariate_permuter(
    y: AnyArray, numeric: bool, covariates: Covariates, random: np.random.Generator | None
) -> TargetPermuter:
    """Return the permuter for covariates. The parameters are those of `choose_permuter`."""
    if covariates.nominal.all():
        what = "targets" if numeric else "labels"
        permuter = StrataPermuter(y, covariates.strata(), f"{what} exchanged within rows of equal covariates")
        if all((y[rows] == y[rows[0]]).all() for rows in permuter.strata):
            raise InvalidDataError(
                f"{what} never differ between rows that have the same covariates ({', '.join(covariates.names)}), so "
                "that none can be exchanged. Use fewer covariates, or wider categories"
            )
        return permuter
    if numeric:
        return ResidualPermuter(y, covariates)
    assert random is not None
    return SwapPermuter(y, covariates, random)
