"""Logistic regressions of one outcome on common columns and one feature each, many features at a time.

Newton's method runs for all features of a batch together. The few features for which it does not converge get a slower
method that never goes downhill. Where that does not converge either, hits and misses are separated, and the likelihood
has no maximum; Firth's penalised likelihood, which always has one, takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass

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
class DesignFit:
    """The regression on the common columns alone."""

    coefficients: FloatArray  # (n_columns,)
    information_root: FloatArray  # (n_pairs,) root of the weight of each pair in the information matrix
    separated: bool


def fit_design(design: FloatArray, outcome: FloatArray, weight: FloatArray) -> DesignFit:
    """Fit the regression without any feature, by Firth's method if it is separated.

    Parameters
    ----------
    design : ndarray of shape (n_pairs, n_columns)
        Of full rank. The first column is 1.
    outcome : ndarray of shape (n_pairs,)
        0 or 1.
    weight : ndarray of shape (n_pairs,)
    """
    # The last column takes the place of the feature.
    start = np.zeros(design.shape[1] - 1)
    feature = np.ascontiguousarray(design[:, -1])[None]
    found = fit_batch(feature, design[:, :-1], outcome, weight, start)
    predicted = expit(design @ found.all_coefficients[0])
    return DesignFit(
        found.all_coefficients[0], np.sqrt(weight * predicted * (1.0 - predicted)), bool(found.separated[0])
    )


@dataclass(frozen=True)
class BatchFit:
    """The regressions of a batch of features."""

    all_coefficients: FloatArray  # (n_features, n_columns + 1) the feature is last
    errors: FloatArray  # (n_features,) standard errors of the coefficients of the features
    separated: BoolArray  # (n_features,)

    @property
    def coefficients(self) -> FloatArray:
        """The coefficients of the features."""
        return self.all_coefficients[:, -1]


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
    beta = np.zeros((n, width))
    beta[:, :-1] = start
    errors, converged = np.ones(n), np.zeros(n, dtype=bool)
    _maximize(features, design, outcome, weight, beta, errors, converged, careful=False, firth=False)
    separated = np.zeros(n, dtype=bool)
    for firth in (False, True):
        at = np.flatnonzero(~converged)
        if not len(at):
            break
        separated[at] = firth
        again, again_errors, done = np.zeros((len(at), width)), np.ones(len(at)), np.zeros(len(at), dtype=bool)
        _maximize(features[at], design, outcome, weight, again, again_errors, done, careful=True, firth=firth)
        beta[at], errors[at], converged[at] = again, again_errors, done
    return BatchFit(beta, errors, separated)


def _maximize(
    features: FloatArray,
    design: FloatArray,
    outcome: FloatArray,
    weight: FloatArray,
    beta: FloatArray,
    errors: FloatArray,
    converged: BoolArray,
    *,
    careful: bool,
    firth: bool,
) -> None:
    """Maximise the likelihood of each regression, and write to ``beta``, ``errors`` and ``converged``.

    The first four parameters are those of `fit_batch`. ``careful`` says whether steps are shortened until the
    likelihood grows, ``firth`` whether it is penalised by the root of the determinant of the information matrix.
    """
    products = _column_products(design)
    active: IndexArray = np.arange(len(features))
    for _ in range(_CAREFUL_STEPS if careful else _STEPS):
        part = features if len(active) == len(features) else features[active]
        slope, information = _derivatives(part, design, products, outcome, weight, beta[active], firth=firth)
        diagonal = np.einsum("ijj->ij", information)
        diagonal += _RIDGE * diagonal.sum(axis=1, keepdims=True) + 1e-300
        inverse = np.linalg.inv(information)
        step = np.einsum("ijk,ik->ij", inverse, slope)
        length = np.abs(step).sum(axis=1)
        if careful:
            step = _shorten(part, design, products, outcome, weight, beta[active], step, firth=firth)
        beta[active] += step
        errors[active] = np.sqrt(np.maximum(inverse[:, -1, -1], 1e-300))
        done = length <= _SMALL
        converged[active[done]] = True
        active = active[~done]
        if not len(active):
            return


def _shorten(
    features: FloatArray,
    design: FloatArray,
    products: FloatArray,
    outcome: FloatArray,
    weight: FloatArray,
    beta: FloatArray,
    step: FloatArray,
    *,
    firth: bool,
) -> FloatArray:
    """Return the steps, each halved until the likelihood is not smaller than before.

    ``beta`` are the coefficients before the step. The other parameters are those of `_derivatives`.
    """

    def height(at: IndexArray, coefficients: FloatArray) -> FloatArray:
        """Return the likelihood of some regressions."""
        eta = features[at] * coefficients[:, -1:] + coefficients[:, :-1] @ design.T
        value = (eta * outcome - np.logaddexp(0.0, eta)) @ weight
        if not firth:
            return value
        information = _derivatives(features[at], design, products, outcome, weight, coefficients, firth=False)[1]
        sign, log = np.linalg.slogdet(information)
        return value + np.where(sign > 0, log / 2, -np.inf)

    step, at = step.copy(), np.arange(len(beta))
    before = height(at, beta)
    # Rounding must not stop the last, very short steps.
    least = before - 1e-12 * np.abs(before) - 1e-300
    for _ in range(_HALVINGS):
        at = at[~(height(at, beta[at] + step[at]) >= least[at])]
        if not len(at):
            break
        step[at] /= 2
    return step


def _column_products(design: FloatArray) -> FloatArray:
    """Return the products of all pairs of columns, of shape (n_pairs, n_columns ** 2)."""
    return np.ascontiguousarray((design[:, :, None] * design[:, None, :]).reshape(len(design), -1))


def _derivatives(
    features: FloatArray,
    design: FloatArray,
    products: FloatArray,
    outcome: FloatArray,
    weight: FloatArray,
    beta: FloatArray,
    *,
    firth: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return the slope of the log likelihood and the information matrix of each regression.

    ``products`` are the products of the columns of ``design``. The other parameters are those of `_maximize`.
    """
    n, width = beta.shape
    predictor = features * beta[:, -1:]
    predictor += beta[:, :-1] @ design.T
    predicted = expit(predictor)
    rest = outcome - predicted
    rest *= weight
    curve = 1.0 - predicted
    curve *= predicted
    curve *= weight
    information = np.empty((n, width, width))
    information[:, :-1, :-1] = (curve @ products).reshape(n, width - 1, width - 1)
    curved = curve * features
    information[:, :-1, -1] = information[:, -1, :-1] = curved @ design
    information[:, -1, -1] = np.einsum("ij,ij->i", curved, features)
    if firth:
        # Firth (1993): each pair counts for both outcomes by half its leverage.
        rest += _leverages(features, design, curve, information) * (0.5 - predicted)
    slope = np.empty((n, width))
    slope[:, :-1] = rest @ design
    slope[:, -1] = np.einsum("ij,ij->i", rest, features)
    return slope, information


def _leverages(features: FloatArray, design: FloatArray, curve: FloatArray, information: FloatArray) -> FloatArray:
    """Return the leverage of each pair in each regression, of shape (n_features, n_pairs).

    ``curve`` has the weights of the pairs in the information matrices ``information``.
    """
    out = np.empty_like(curve)
    ridge = np.einsum("ijj->i", information) * _RIDGE + 1e-300
    for row, feature in enumerate(features):
        columns = np.column_stack([design, feature])
        inverse = np.linalg.inv(information[row] + ridge[row] * np.eye(columns.shape[1]))
        out[row] = np.einsum("ij,jk,ik->i", columns, inverse, columns, optimize=True) * curve[row]
    return out
