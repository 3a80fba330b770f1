"""Logistic regressions of one outcome on common columns and one feature each, many features at a time.

Newton's method runs for all features of a batch together. The few features for which it does not converge get a slower
method that never goes downhill. Where that does not converge either, hits and misses are separated, and the likelihood
has no maximum; Firth's penalised likelihood, which always has one, takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._typing import BoolArray, FloatArray, IndexArray

_STEPS = 12  # Newton's method needs about 5 steps, unless values are extreme or there is no maximum
_CAREFUL_STEPS = 100
_HALVINGS = 40
_SMALL = 1e-7  # a step after which the next one would be below rounding, since each step squares the error
_RIDGE = 1e-13  # relative; keeps the equations of separated features solvable


def expit(eta: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(−eta)). An overflow of exp gives 0, which is right."""
    out = np.negative(eta)
    with np.errstate(over="ignore"):
        np.exp(out, out=out)
    out += 1.0
    return np.reciprocal(out, out=out)


@dataclass(frozen=True)
class BatchFit:
    """The regressions of a batch of features."""

    coefficients: FloatArray  # (n_features, n_columns + 1) that of the feature is last
    errors: FloatArray  # (n_features,) standard errors of the coefficients of the features
    separated: BoolArray  # (n_features,)


def fit_design(design: FloatArray, outcome: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fit the regression without any feature, by Firth's method if it is separated.

    Parameters
    ----------
    design : ndarray of shape (n_pairs, n_columns)
        Of full rank. The first column is 1.
    outcome : ndarray of shape (n_pairs,)
        0 or 1.
    weight : ndarray of shape (n_pairs,)

    Returns
    -------
    coefficients : ndarray of shape (n_columns,)
    information_root : ndarray of shape (n_pairs,)
        Root of the weight of each pair in the information matrix.
    """
    # The last column takes the place of the feature.
    feature = np.ascontiguousarray(design[:, -1])[None]
    found = fit_batch(feature, design[:, :-1], outcome, weight, np.zeros(design.shape[1] - 1)).coefficients[0]
    predicted = expit(design @ found)
    return found, np.sqrt(weight * predicted * (1.0 - predicted))


def fit_batch(
    features: FloatArray, design: FloatArray, outcome: FloatArray, weight: FloatArray, start: FloatArray
) -> BatchFit:
    """Fit one logistic regression per feature.

    Parameters
    ----------
    features : ndarray of shape (n_features, n_pairs)
        None of them follows from the columns of ``design``.
    design : ndarray of shape (n_pairs, n_columns)
    outcome : ndarray of shape (n_pairs,)
        0 or 1.
    weight : ndarray of shape (n_pairs,)
    start : ndarray of shape (n_columns,)
        Coefficients to begin with, for example those of the regression without a feature.
    """
    n, width = len(features), design.shape[1] + 1
    products = np.ascontiguousarray((design[:, :, None] * design[:, None, :]).reshape(len(design), -1))
    whole = Regressions(features, design, products, outcome, weight, firth=False)
    beta = np.zeros((n, width))
    beta[:, :-1] = start
    errors, converged = whole.maximize(beta, careful=False)
    separated = np.zeros(n, dtype=bool)
    for firth in (False, True):
        at = np.flatnonzero(~converged)
        if not len(at):
            break
        separated[at] = firth
        again = np.zeros((len(at), width))
        errors[at], converged[at] = replace(whole.take(at), firth=firth).maximize(again, careful=True)
        beta[at] = again
    return BatchFit(beta, errors, separated)


@dataclass(frozen=True)
class Regressions:
    """Logistic regressions of one outcome on common columns and one feature each."""

    features: FloatArray  # (n_features, n_pairs)
    design: FloatArray  # (n_pairs, n_columns) the common columns
    products: FloatArray  # (n_pairs, n_columns ** 2) the products of all pairs of common columns
    outcome: FloatArray  # (n_pairs,)
    weight: FloatArray  # (n_pairs,)
    firth: bool  # whether the likelihood is penalised by the root of the determinant of the information matrix

    def take(self, at: IndexArray) -> Regressions:
        """Return the regressions on some features."""
        return self if len(at) == len(self.features) else replace(self, features=self.features[at])

    def maximize(self, beta: FloatArray, *, careful: bool) -> tuple[FloatArray, BoolArray]:
        """Maximise the likelihoods from the coefficients ``beta`` on, which are changed in place.

        ``careful`` says whether steps are shortened until the likelihood grows. Return the standard error of the
        coefficient of each feature, and which regressions converged.
        """
        errors, converged = np.ones(len(beta)), np.zeros(len(beta), dtype=bool)
        active: IndexArray = np.arange(len(beta))
        for _ in range(_CAREFUL_STEPS if careful else _STEPS):
            part = self.take(active)
            slope, information = part.derivatives(beta[active])
            diagonal = np.einsum("ijj->ij", information)
            diagonal += _RIDGE * diagonal.sum(axis=1, keepdims=True) + 1e-300
            inverse = np.linalg.inv(information)
            step = np.einsum("ijk,ik->ij", inverse, slope)
            length = np.abs(step).sum(axis=1)
            beta[active] += part.shorten(beta[active], step) if careful else step
            errors[active] = np.sqrt(np.maximum(inverse[:, -1, -1], 1e-300))
            done = length <= _SMALL
            converged[active[done]] = True
            active = active[~done]
            if not len(active):
                break
        return errors, converged

    def shorten(self, beta: FloatArray, step: FloatArray) -> FloatArray:
        """Return the steps from ``beta``, each halved until the likelihood is not smaller than before."""
        at = np.arange(len(beta))
        before = self.likelihood(beta)
        # Rounding must not stop the last, very short steps.
        least = before - 1e-12 * np.abs(before) - 1e-300
        for _ in range(_HALVINGS):
            at = at[~(self.take(at).likelihood(beta[at] + step[at]) >= least[at])]
            if not len(at):
                break
            step[at] /= 2
        return step

    def likelihood(self, beta: FloatArray) -> FloatArray:
        """Return the log likelihood of each regression, with the penalty if there is one."""
        eta = self.features * beta[:, -1:] + beta[:, :-1] @ self.design.T
        value: FloatArray = (eta * self.outcome - np.logaddexp(0.0, eta)) @ self.weight
        if not self.firth:
            return value
        sign, log = np.linalg.slogdet(replace(self, firth=False).derivatives(beta)[1])
        return value + np.where(sign > 0, log / 2, -np.inf)

    def derivatives(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the slope of the log likelihood and the information matrix of each regression."""
        n, width = beta.shape
        predictor = self.features * beta[:, -1:]
        predictor += beta[:, :-1] @ self.design.T
        predicted = expit(predictor)
        rest = self.outcome - predicted
        rest *= self.weight
        curve = 1.0 - predicted
        curve *= predicted
        curve *= self.weight
        information = np.empty((n, width, width))
        information[:, :-1, :-1] = (curve @ self.products).reshape(n, width - 1, width - 1)
        curved = curve * self.features
        information[:, :-1, -1] = information[:, -1, :-1] = curved @ self.design
        information[:, -1, -1] = np.einsum("ij,ij->i", curved, self.features)
        if self.firth:
            # Firth (1993): each pair counts for both outcomes by half its leverage.
            rest += self.leverages(curve, information) * (0.5 - predicted)
        slope = np.empty((n, width))
        slope[:, :-1] = rest @ self.design
        slope[:, -1] = np.einsum("ij,ij->i", rest, self.features)
        return slope, information

    def leverages(self, curve: FloatArray, information: FloatArray) -> FloatArray:
        """Return the leverage of each pair in each regression, of shape (n_features, n_pairs).

        ``curve`` has the weights of the pairs in the information matrices ``information``.
        """
        out = np.empty_like(curve)
        ridge = np.einsum("ijj->i", information) * _RIDGE + 1e-300
        for row, feature in enumerate(self.features):
            columns = np.column_stack([self.design, feature])
            inverse = np.linalg.inv(information[row] + ridge[row] * np.eye(columns.shape[1]))
            out[row] = np.einsum("ij,jk,ik->i", columns, inverse, columns, optimize=True) * curve[row]
        return out
