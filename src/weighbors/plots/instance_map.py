"""Instances in two dimensions, and how much each one counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._display.figure import COLOURS, GREY, MARKERS, Display, check_lengths, disable_math
from .._names import known_names, shorten_name
from .._typing import AnyArray, FloatArray
from ..evaluation.projection import project
from ..exceptions import InvalidDataError
from ..tables.targets import check_numeric_target, recognize_target
from ..tables.validation import TableCoder

if TYPE_CHECKING:
    import pandas as pd

_LEVELS = 4  # sizes and shades of dots


class InstanceMapDisplay(Display):
    """A map of the instances that shows how much each one counts. Unusual instances are small, pale and named.

    The colour of a dot is that of its class, or, for a numeric target, of its number.

    Parameters
    ----------
    coordinates : array-like of shape (n_samples, 2)
    instance_weights : array-like of shape (n_samples,)
        Larger weights mean more usual instances, as those of MBIW do.
    labels : array-like of shape (n_samples,)
        Classes, or the numbers of a numeric target.
    rows : sequence, optional
        Names of the rows; their numbers by default.
    explained : array-like of shape (2,), optional
        Share of the variance along each axis.
    target_type : {"auto", "classes", "numeric"}, default="auto"
        What ``labels`` holds. "auto": floats with a fraction or with many values are numbers.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : list of PathCollection
        One collection of dots per class and level of weight, or per level for a numeric target.
    colorbar_ : matplotlib Colorbar or None
        The scale of a numeric target.
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
        self,
        coordinates: Any,
        instance_weights: Any,
        labels: Any,
        *,
        rows: Any = None,
        explained: Any = None,
        target_type: str = "auto",
    ) -> None:
        self.coordinates: FloatArray = np.asarray(coordinates, dtype=np.float64)
        if self.coordinates.ndim != 2 or self.coordinates.shape[1] != 2:
            raise InvalidDataError(f"coordinates must have shape (n_samples, 2); got {self.coordinates.shape}")
        self.instance_weights: FloatArray = np.asarray(instance_weights, dtype=np.float64)
        known_names([target_type], ("auto", "classes", "numeric"), "target type")
        self.target_type = recognize_target(labels) if target_type == "auto" else target_type
        self.labels = np.asarray(labels) if self.target_type == "classes" else check_numeric_target(labels)
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
            Labels, or the numeric target that was fitted.
        mark : int, default=5
            Number of instances with the smallest weights that are named.
        ax : matplotlib Axes, optional

        Returns
        -------
        InstanceMapDisplay
        """
        check_is_fitted(estimator)
        omega = getattr(estimator, "instance_weights_", None)
        if omega is None and hasattr(estimator, "instance_scales_"):
            scales = estimator.instance_scales_
            # Scales v multiply distances, so an instance with a large v counts less. Equal scales make no difference.
            spread = 1.0 - scales if np.ptp(scales) > 0 else np.ones_like(scales)
            omega = np.where(estimator.instance_support_, spread, 0.0)
        if omega is None:
            raise InvalidDataError(f"{type(estimator).__name__} weighs no instances; take MBIW or SimbaMBIW")
        coder = TableCoder(getattr(estimator, "categorical_features", "from_dtype"))
        rows = coder.fit_transform(BaseEstimator(), X.toarray() if hasattr(X, "toarray") else X)
        check_consistent_length(rows, y, omega)
        coordinates, explained = project(rows, coder.nominal)
        names = getattr(X, "index", None)
        kind = getattr(estimator, "target_type_", "auto")
        return cls(coordinates, omega, y, rows=names, explained=explained, target_type=kind).plot(ax, mark=mark)

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per instance: x, y, class (or target, if it is numeric), weight."""
        import pandas as pd

        frame = pd.DataFrame(self.coordinates, columns=["x", "y"], index=pd.Index(self.rows, name="row"))
        name = "class" if self.target_type == "classes" else "target"
        return frame.assign(**{name: self.labels, "weight": self.instance_weights})

    def plot(self, ax: Any = None, *, mark: int = 5) -> InstanceMapDisplay:
        """Draw into ``ax`` or a new figure; the ``mark`` instances of the least weight are named."""
        ax = self._open(ax, (6.4, 4.2))
        low, span = self.instance_weights.min(), np.ptp(self.instance_weights)
        strength = (self.instance_weights - low) / span if span > 0 else np.ones(len(self.labels))
        # A few levels instead of one size per dot: each level of a class is one collection, which draws fast.
        level = np.minimum(np.floor(strength * _LEVELS), _LEVELS - 1)
        self.points_: list[Any] = []
        self.colorbar_: Any = None
        keys: dict[str, Any] = {}
        if self.target_type == "classes":
            keys = self._draw_classes(ax, level)
        else:
            self._draw_numbers(ax, level)
        odd = np.argsort(self.instance_weights, kind="stable")[:mark]
        ring = {"facecolors": "none", "edgecolors": GREY, "linewidth": 1.0, "s": 90}
        self.marked_ = ax.scatter(*self.coordinates[odd].T, **ring)
        names = [
            ax.annotate(shorten_name(self.rows[i], 16), self.coordinates[i], xytext=(6, 4), textcoords="offset points",
                        fontsize="small")
            for i in odd
        ]  # fmt: skip
        labels_of_axes = [f"component {i + 1}" for i in range(2)]
        if self.explained is not None:
            labels_of_axes = [
                f"{name} ({share:.0%} of the variance)"
                for name, share in zip(labels_of_axes, self.explained, strict=True)
            ]
        ax.set_xlabel(labels_of_axes[0])
        ax.set_ylabel(labels_of_axes[1])
        legend = None
        if 0 < len(keys) <= 12:
            legend = ax.legend(list(keys.values()), list(keys), frameon=False, fontsize="small", title="class")
        disable_math([*names, *(legend.get_texts() if legend else [])])
        return self

    def _draw_classes(self, ax: Any, level: FloatArray) -> dict[str, Any]:
        """Draw the dots of every class and level of weight, and return one dot per class for the legend."""
        keys: dict[str, Any] = {}
        for place, label in enumerate(np.unique(self.labels)):
            marker = MARKERS[(place + place // len(COLOURS)) % len(MARKERS)]  # 36 pairs with the colours
            look = {"color": COLOURS[place % len(COLOURS)], "marker": marker}
            for step in range(_LEVELS):
                dots = self._draw_level(ax, (self.labels == label) & (level == step), step, look)
                if dots is not None:
                    keys[shorten_name(label, 24)] = dots  # the strongest of the class
        return keys

    def _draw_numbers(self, ax: Any, level: FloatArray) -> None:
        """Draw the dots of every level of weight in the colour of their number, and the colour bar."""
        from matplotlib import colormaps
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        scale = Normalize(float(self.labels.min()), float(self.labels.max()))
        # matplotlib draws a bar of more than 50 colours as a bitmap, which a page without images cannot show.
        colours = colormaps["viridis"].resampled(48)
        for step in range(_LEVELS):
            mine = level == step
            self._draw_level(ax, mine, step, {"c": self.labels[mine], "cmap": colours, "norm": scale})
        # The dots are pale; the bar has the full colours.
        self.colorbar_ = self.figure_.colorbar(ScalarMappable(scale, colours), ax=ax, label="target")
        self.colorbar_.solids.set_edgecolor("face")  # no pale lines between the colours

    def _draw_level(self, ax: Any, mine: AnyArray, step: int, look: dict[str, Any]) -> Any:
        """Draw the dots of one level of weight, and return them. Return None if there are none.

        ``mine`` is a mask of the rows, and ``look`` has colours and markers.
        """
        if not mine.any():
            return None
        share = step / (_LEVELS - 1)
        dots = ax.scatter(*self.coordinates[mine].T, s=8 + 20 * share, alpha=0.35 + 0.5 * share, linewidth=0, **look)
        self.points_.append(dots)
        return dots
