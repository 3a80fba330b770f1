"""Instances in two dimensions, and how much each one counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._typing import BoolArray, FloatArray
from .._validation import TableCoder
from ..exceptions import InvalidDataError
from ._display import COLOURS, GREY, MARKERS, Display, check_lengths, plain_text, short

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["InstanceMapDisplay", "project"]

_LEVELS = 4  # sizes and shades of dots


def project(X: Any, nominal: BoolArray | None = None, feature_weights: Any = None) -> tuple[FloatArray, FloatArray]:
    """Rows on their first two principal components, and the share of the variance each one holds.

    Numbers are scaled to unit variance, missing ones count as the mean, each category is a column of
    its own; columns are multiplied by √a where there are feature weights a. The sign of a component
    makes its largest coordinate positive.

    Parameters
    ----------
    X : ndarray of shape (n, M), coded
    nominal : bool ndarray of shape (M,), optional
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
        known = np.unique(X[~np.isnan(X[:, j]), j])
        shown = (X[:, [j]] == known[None, :]).astype(np.float64)
        parts.append((shown - shown.mean(axis=0)) * factor[j] / np.sqrt(2))  # different categories at distance 1
    return _two_components(np.hstack(parts))


def _standardised(X: FloatArray) -> FloatArray:
    X = np.asarray(X, dtype=np.float64)
    known = ~np.isnan(X)
    largest = np.abs(np.where(known, X, 0.0)).max(axis=0, initial=0.0)
    X = X / np.where(largest > 0, largest, 1.0)  # squares of 1e300 overflow
    count = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / count, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=0) / count)
    return centred / np.where(deviation > 0, deviation, 1.0)


def _two_components(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    n, width = rows.shape
    small = rows @ rows.T if n <= width else rows.T @ rows
    values, vectors = np.linalg.eigh(small)
    values, vectors = np.maximum(values[::-1][:2], 0.0), vectors[:, ::-1][:, :2]
    coordinates = np.zeros((n, 2))
    found = vectors * np.sqrt(values) if n <= width else rows @ vectors
    coordinates[:, : found.shape[1]] = found
    largest = coordinates[np.abs(coordinates).argmax(axis=0), [0, 1]]
    explained = np.zeros(2)
    explained[: len(values)] = values / max(float((rows**2).sum()), 1e-300)
    return coordinates * np.where(largest < 0, -1.0, 1.0), explained


class InstanceMapDisplay(Display):
    """Where instances lie and how much they count: outlying ones are small, pale and named.

    Parameters
    ----------
    coordinates : array-like of shape (n_samples, 2)
    instance_weights : array-like of shape (n_samples,)
        Larger for more usual, as MBIW's ω.
    labels : array-like of shape (n_samples,)
        Classes.
    rows : sequence, optional
        Names of the rows; their numbers by default.
    explained : array-like of shape (2,), optional
        Share of the variance that each axis holds.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : list of PathCollection
        One per class and level of weight.
    marked_ : PathCollection
        Rings around the instances of the least weight.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import MBIW
    >>> from weighbors.plots import InstanceMapDisplay
    >>> display = InstanceMapDisplay([[0, 0], [1, 0], [9, 9]], [0.4, 0.4, 0.2], ["a", "b", "a"])
    >>> display.frame()
         x    y class  weight
    row
    0    0.0  0.0     a     0.4
    1    1.0  0.0     b     0.4
    2    9.0  9.0     a     0.2
    """

    def __init__(
        self, coordinates: Any, instance_weights: Any, labels: Any, *, rows: Any = None, explained: Any = None
    ) -> None:
        self.coordinates: FloatArray = np.asarray(coordinates, dtype=np.float64)
        if self.coordinates.ndim != 2 or self.coordinates.shape[1] != 2:
            raise InvalidDataError(f"coordinates must have shape (n_samples, 2); got {self.coordinates.shape}")
        self.instance_weights: FloatArray = np.asarray(instance_weights, dtype=np.float64)
        self.labels = np.asarray(labels)
        self.rows = tuple(range(len(self.coordinates))) if rows is None else tuple(rows)
        self.explained = None if explained is None else np.asarray(explained, dtype=np.float64)
        check_lengths(
            coordinates=self.coordinates, instance_weights=self.instance_weights, labels=self.labels, rows=self.rows
        )

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, mark: int = 5, ax: Any = None) -> InstanceMapDisplay:
        """Draw the training rows of a fitted `MBIW`, `SimbaMBIW` or `EvolutionaryWeigher`.

        Parameters
        ----------
        estimator : fitted weigher with ``instance_weights_`` or ``instance_scales_``
            Scales v, which are high for less relevant instances, are drawn as 1 − v; instances that
            are not selected as 0.
        X : array-like or DataFrame of shape (n_samples, n_features)
            The rows that were fitted.
        y : array-like of shape (n_samples,)
        mark : int, default=5
            How many of the least weight are named.
        ax : matplotlib Axes, optional

        Returns
        -------
        InstanceMapDisplay
        """
        check_is_fitted(estimator)
        omega = getattr(estimator, "instance_weights_", None)
        if omega is None and hasattr(estimator, "instance_scales_"):
            scales = estimator.instance_scales_
            spread = 1.0 - scales if np.ptp(scales) > 0 else np.ones_like(scales)
            omega = np.where(estimator.instance_support_, spread, 0.0)
        if omega is None:
            raise InvalidDataError(f"{type(estimator).__name__} weighs no instances; take MBIW or SimbaMBIW")
        coder = TableCoder(getattr(estimator, "categorical_features", "from_dtype"))
        rows = coder.fit_transform(BaseEstimator(), X.toarray() if hasattr(X, "toarray") else X)
        check_consistent_length(rows, y, omega)
        coordinates, explained = project(rows, coder.nominal_of(rows))
        names = getattr(X, "index", None)
        return cls(coordinates, omega, y, rows=names, explained=explained).plot(ax, mark=mark)

    def frame(self) -> pd.DataFrame:
        """One row per instance: x, y, class, weight."""
        import pandas as pd

        frame = pd.DataFrame(self.coordinates, columns=["x", "y"], index=pd.Index(self.rows, name="row"))
        return frame.assign(**{"class": self.labels, "weight": self.instance_weights})

    def plot(self, ax: Any = None, *, mark: int = 5) -> InstanceMapDisplay:
        """Draw into ``ax`` or a new figure; the ``mark`` instances of the least weight are named."""
        ax = self._open(ax, (6.4, 4.2))
        low, span = self.instance_weights.min(), np.ptp(self.instance_weights)
        strength = (self.instance_weights - low) / span if span > 0 else np.ones(len(self.labels))
        level = np.minimum(np.floor(strength * _LEVELS), _LEVELS - 1)
        self.points_, keys = [], {}
        for place, label in enumerate(np.unique(self.labels)):
            marker = MARKERS[(place + place // len(COLOURS)) % len(MARKERS)]  # 36 pairs with the colours
            for step in range(_LEVELS):
                mine = (self.labels == label) & (level == step)
                share = step / (_LEVELS - 1)
                if mine.any():
                    dots = ax.scatter(
                        *self.coordinates[mine].T, s=8 + 20 * share, alpha=0.35 + 0.5 * share, linewidth=0,
                        color=COLOURS[place % len(COLOURS)], marker=marker,
                    )  # fmt: skip
                    self.points_.append(dots)
                    keys[short(label, 24)] = dots  # the strongest of the class
        odd = np.argsort(self.instance_weights, kind="stable")[:mark]
        ring = {"facecolors": "none", "edgecolors": GREY, "linewidth": 1.0, "s": 90}
        self.marked_ = ax.scatter(*self.coordinates[odd].T, **ring)
        names = [
            ax.annotate(short(self.rows[i], 16), self.coordinates[i], xytext=(6, 4), textcoords="offset points",
                        fontsize="small")
            for i in odd
        ]  # fmt: skip
        told = [f"component {i + 1}" for i in range(2)]
        if self.explained is not None:
            told = [f"{name} ({share:.0%} of the variance)" for name, share in zip(told, self.explained, strict=True)]
        ax.set_xlabel(told[0])
        ax.set_ylabel(told[1])
        legend = None
        if len(keys) <= 12:
            legend = ax.legend(list(keys.values()), list(keys), frameon=False, fontsize="small", title="class")
        plain_text([*names, *(legend.get_texts() if legend else [])])
        return self
