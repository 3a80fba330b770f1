"""Distribution of margins: how far instances are from another class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length

from .._display.figure import GREY, Display, check_lengths, fitted_value, line_style
from .._names import shorten_name
from .._typing import BoolArray, FloatArray, IndexArray
from ..engine import NeighborEngine
from ..exceptions import InvalidDataError
from ..tables.labels import check_labels
from ..tables.validation import TableCoder
from ..weights import Weights

if TYPE_CHECKING:
    import pandas as pd


def relative_margins(
    X: Any,
    codes: IndexArray,
    *,
    weights: Weights | None = None,
    nominal: BoolArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the relative margin of each row, from −1 to 1: ndarray of shape (n,).

    It is (‖x − m(x)‖ − ‖x − h(x)‖) / (‖x − m(x)‖ + ‖x − h(x)‖), where m(x) is the nearest miss and h(x) the nearest
    hit under ``weights``: twice the hypothesis margin (paper 000, eq. 1), divided by the sum of the distances, so
    that metrics of different scales can be compared. It is 0 if both distances are 0, and NaN for the only instance
    of a class.

    Examples
    --------
    >>> relative_margins(np.array([[0.0], [1.0], [4.0], [6.0]]), np.array([0, 0, 1, 1])).round(2)
    array([0.6 , 0.5 , 0.2 , 0.43])
    """
    n_classes = int(codes.max()) + 1
    engine = NeighborEngine(
        X, weights=weights, nominal=nominal, class_of_row=codes, groups=codes, n_groups=n_classes, n_jobs=n_jobs
    )
    distance, _ = engine.search(X, 1, own_row=np.arange(len(codes), dtype=np.int64), grouped=True)
    nearest = distance[:, :, 0].astype(np.float64)
    own = codes[:, None] == np.arange(n_classes)
    # The engine finds the nearest row of each class, without the row itself: one of them is the hit, and the
    # smallest of the others the miss. A class of one instance has an infinite distance.
    hit, miss = np.where(own, nearest, 0.0).sum(axis=1), np.where(own, np.inf, nearest).min(axis=1)
    known, total = np.isfinite(hit) & np.isfinite(miss), hit + miss
    with np.errstate(invalid="ignore"):
        margin = np.divide(miss - hit, total, out=np.zeros(len(codes)), where=known & (total > 0))
    return np.where(known, margin, np.nan)


class MarginProfileDisplay(Display):
    """A curve of the share of instances up to each margin. Instances left of 0 are nearer to another class.

    Parameters
    ----------
    margins : mapping of name to array-like of shape (n_samples,)
        One line each; NaN are left out.
    labels : array-like of shape (n_samples,), optional
        Class of each instance, for `frame`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of name to Line2D

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weighbors import ReliefF
    >>> from weighbors.plots import MarginProfileDisplay
    >>> display = MarginProfileDisplay({"plain": [-0.2, 0.5, 0.9], "weighted": [0.1, 0.6, 0.9]})
    >>> display.negative().round(2).to_dict()
    {'plain': 0.33, 'weighted': 0.0}
    """

    def __init__(self, margins: Mapping[str, Any], labels: Any = None) -> None:
        self.margins = {str(name): np.asarray(values, dtype=np.float64) for name, values in margins.items()}
        if not self.margins or any(values.ndim != 1 or not len(values) for values in self.margins.values()):
            raise InvalidDataError("margins must map names to vectors of margins, at least one of them")
        self.labels = None if labels is None else np.asarray(labels)
        check_lengths(labels=self.labels, **{f"margins of {name}": values for name, values in self.margins.items()})

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, n_jobs: int | None = None
    ) -> MarginProfileDisplay:
        """Draw the margins of rows under a fitted weigher's weights, and without weights.

        Parameters
        ----------
        estimator : fitted estimator with ``weights_``, or Weights
        X : array-like or DataFrame of shape (n_samples, n_features)
            The rows. They must be the training rows if the weights belong to single rows.
        y : array-like of shape (n_samples,)
        ax : matplotlib Axes, optional
        n_jobs : int, optional

        Returns
        -------
        MarginProfileDisplay
        """
        weights = estimator
        if not isinstance(estimator, Weights):
            weights = fitted_value(estimator, "weights_", "take a weigher or a weighted k-NN")
        coder = TableCoder(getattr(estimator, "categorical_features", "from_dtype"))
        rows = coder.fit_transform(BaseEstimator(), X)
        _, codes = check_labels(y)
        check_consistent_length(rows, codes)
        options: dict[str, Any] = {"nominal": coder.nominal, "n_jobs": n_jobs}
        margins = {
            "no weights": relative_margins(rows, codes, **options),
            type(estimator).__name__: relative_margins(rows, codes, weights=weights, **options),
        }
        return cls(margins, y).plot(ax)

    def negative(self) -> pd.Series:
        """Return, for each line, the share of the instances with a margin below 0."""
        import pandas as pd

        return pd.Series({name: float(np.mean(values[~np.isnan(values)] < 0)) for name, values in self.margins.items()})

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per instance: its margins, and its class if labels were given."""
        import pandas as pd

        frame = pd.DataFrame(self.margins)
        if self.labels is not None:
            frame.insert(0, "class", self.labels)
        return frame.rename_axis("row")

    def plot(self, ax: Any = None) -> MarginProfileDisplay:
        """Draw into ``ax`` or a new figure."""
        ax = self._open(ax, (6.4, 3.6))
        ax.axvline(0.0, color=GREY, linewidth=0.8)
        self.lines_ = {}
        for place, (name, values) in enumerate(self.margins.items()):
            known = np.sort(values[~np.isnan(values)])
            share = np.arange(1, len(known) + 1) / max(1, len(known))
            label = f"{shorten_name(name, 40)} ({np.mean(known < 0) if len(known) else 0:.0%} below 0)"
            (self.lines_[name],) = ax.step(known, share, where="post", label=label, **line_style(place))
        ax.set_ylim(0.0, 1.02)
        x = "relative margin: below 0, the nearest neighbour has another class"
        self._label(x, "share of instances", loc="upper left")
        return self
