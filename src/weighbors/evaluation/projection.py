"""Projection of rows on two principal components, for the instance map and the report."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import BoolArray, FloatArray


def project(X: Any, nominal: BoolArray | None = None, feature_weights: Any = None) -> tuple[FloatArray, FloatArray]:
    """Return the rows on their first two principal components, and the share of variance of each component.

    Numbers are scaled to unit variance, and missing numbers are replaced by the mean. Each category becomes one column.
    If feature weights a are given, columns are multiplied by √a. The sign of each component is chosen so that its
    coordinate of largest absolute value is positive.

    Parameters
    ----------
    X : ndarray of shape (n, M), coded
    nominal : bool ndarray of shape (M,), optional
        Mask of the columns that hold categories.
    feature_weights : array-like of shape (M,), optional

    Returns
    -------
    coordinates : ndarray of shape (n, 2)
    explained : ndarray of shape (2,)
    """
    nominal = np.zeros(X.shape[1], dtype=bool) if nominal is None else nominal
    factor = np.ones(X.shape[1]) if feature_weights is None else np.sqrt(np.asarray(feature_weights, dtype=np.float64))
    parts = [_standardised(X[:, ~nominal]) * factor[~nominal]]
    for j in np.flatnonzero(nominal).tolist():
        # Each category becomes one column of 0 and 1. Missing values are 0 in all of them.
        known = np.unique(X[~np.isnan(X[:, j]), j])
        shown = (X[:, [j]] == known[None, :]).astype(np.float64)
        parts.append((shown - shown.mean(axis=0)) * factor[j] / np.sqrt(2))  # different categories at distance 1
    return _two_components(np.hstack(parts))


def _standardised(X: FloatArray) -> FloatArray:
    """Scale columns to mean 0 and variance 1. Missing values and constant columns become 0."""
    X = np.asarray(X, dtype=np.float64)
    known = ~np.isnan(X)
    largest = np.abs(np.where(known, X, 0.0)).max(axis=0, initial=0.0)
    X = X / np.where(largest > 0, largest, 1.0)  # otherwise squares of values like 1e300 overflow
    count = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / count, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=0) / count)
    return centred / np.where(deviation > 0, deviation, 1.0)


def _two_components(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the coordinates of centred rows on two components, and the share of variance of each component."""
    n, width = rows.shape
    # Both products have the same positive eigenvalues, so the smaller product is used.
    small = rows @ rows.T if n <= width else rows.T @ rows
    values, vectors = np.linalg.eigh(small)
    # ``eigh`` sorts in ascending order. Rounding may make the smallest eigenvalues negative.
    values, vectors = np.maximum(values[::-1][:2], 0.0), vectors[:, ::-1][:, :2]
    coordinates = np.zeros((n, 2))
    found = vectors * np.sqrt(values) if n <= width else rows @ vectors
    coordinates[:, : found.shape[1]] = found
    # The sign of an eigenvector is arbitrary. A fixed rule gives the same picture on every machine.
    largest = coordinates[np.abs(coordinates).argmax(axis=0), [0, 1]]
    explained = np.zeros(2)
    explained[: len(values)] = values / max(float((rows**2).sum()), 1e-300)
    return coordinates * np.where(largest < 0, -1.0, 1.0), explained
