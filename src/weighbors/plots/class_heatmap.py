"""Heat map of feature weights per class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._display.figure import Display, check_lengths, check_names, disable_math, fitted_value, top_positions
from .._names import shorten_name
from .._typing import AnyArray, FloatArray
from ..exceptions import InvalidDataError
from ..weights import Weights

if TYPE_CHECKING:
    import pandas as pd


class ClassHeatmapDisplay(Display):
    """A heat map that shows which features matter for which class.

    The colour is the weight, and each class has a scale of its own.

    The weights of each class are scaled to a largest absolute value of 1, so that classes can be compared: RELIEF's
    sums grow with the size of a class.

    Parameters
    ----------
    class_weights : array-like of shape (n_classes, n_features)
    classes : sequence of labels, optional
    feature_names : sequence of str, optional

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    image_ : QuadMesh
        Features from the top, classes from the left, values from −1 to 1.

    Examples
    --------
    >>> from weighbors.plots import ClassHeatmapDisplay
    >>> ClassHeatmapDisplay([[-6, 6], [3, -3]], ["sick", "well"], ["age", "weight"]).frame()
            age  weight
    class
    sick   -6.0     6.0
    well    3.0    -3.0
    """

    def __init__(self, class_weights: Any, classes: Any = None, feature_names: Any = None) -> None:
        self.class_weights: FloatArray = np.asarray(class_weights, dtype=np.float64)
        if self.class_weights.ndim != 2 or not self.class_weights.size:
            raise InvalidDataError(
                f"class_weights must be a matrix, classes × features; got shape {self.class_weights.shape}"
            )
        K, M = self.class_weights.shape
        self.classes = tuple(range(K)) if classes is None else tuple(classes)
        check_lengths(classes=self.classes, class_weights=self.class_weights)
        self.feature_names = check_names(feature_names, M)

    @classmethod
    def from_estimator(cls, estimator: Any, *, top: int | None = 20, ax: Any = None) -> ClassHeatmapDisplay:
        """Draw the class weights of a fitted `ClassRelief`, or of an `EvolutionaryWeigher` with ``per_class``.

        Parameters
        ----------
        estimator : fitted weigher with ``class_feature_weights_``
        top : int or None, default=20
            The features whose weights, scaled per class, are largest; None: all.
        ax : matplotlib Axes, optional

        Returns
        -------
        ClassHeatmapDisplay
        """
        weights = fitted_value(estimator, "class_feature_weights_", "take ClassRelief")
        return cls(weights, estimator.classes_, getattr(estimator, "feature_names_in_", None)).plot(ax, top=top)

    @classmethod
    def from_result(cls, weights: Weights, *, top: int | None = 20, ax: Any = None) -> ClassHeatmapDisplay:
        """Draw a `Weights` with one vector per class."""
        if not isinstance(weights, Weights) or weights.kind != "class":
            kind = f"weights per {weights.kind}" if isinstance(weights, Weights) else type(weights).__name__
            raise InvalidDataError(f"Weights with one vector per class are needed; got {kind}")
        return cls(weights.feature_weights, weights.classes, weights.feature_names).plot(ax, top=top)

    def scaled(self) -> FloatArray:
        """Return the weights, scaled to a largest absolute value of 1 in each class. A class of zeros stays 0."""
        largest = np.abs(self.class_weights).max(axis=1, keepdims=True)
        return np.divide(self.class_weights, largest, out=np.zeros_like(self.class_weights), where=largest > 0)

    def order(self, top: int | None = None) -> AnyArray:
        """Return the ``top`` features (None: all), sorted by their largest scaled weight in any class."""
        return top_positions(self.scaled().max(axis=0), top)

    def frame(self) -> pd.DataFrame:
        """Return the weights as a table with one row per class and one column per feature."""
        import pandas as pd

        index = pd.Index(self.classes, name="class")
        return pd.DataFrame(self.class_weights, index=index, columns=list(self.feature_names))

    def plot(self, ax: Any = None, *, top: int | None = 20) -> ClassHeatmapDisplay:
        """Draw the ``top`` features (None: all) into ``ax`` or a new figure."""
        shown, values = self.order(top), self.scaled()
        K = len(self.classes)
        ax = self._open(ax, (min(12.0, 3.2 + 0.5 * K), 1.4 + 0.24 * len(shown)))
        from matplotlib import colormaps
        from matplotlib.colors import ListedColormap

        # A map with steps is drawn as vectors. The darkest ends are left out, as they vanish on a dark page.
        steps = ListedColormap(colormaps["RdBu_r"](np.linspace(0.08, 0.92, 21)))
        self.image_ = ax.pcolormesh(
            values[:, shown].T, cmap=steps, vmin=-1.0, vmax=1.0, edgecolors="white", linewidth=0.6
        )
        ax.invert_yaxis()
        labels = [shorten_name(name, 16) for name in self.classes]
        # Long names of classes would overlap if they were written horizontally.
        tilt = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if max(map(len, labels)) > 5 else {}
        ax.set_xticks(np.arange(K) + 0.5, labels, **tilt)
        ax.set_yticks(np.arange(len(shown)) + 0.5, [shorten_name(self.feature_names[j]) for j in shown])
        disable_math([*ax.get_xticklabels(), *ax.get_yticklabels()])
        ax.tick_params(length=0)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
        bar = ax.figure.colorbar(self.image_, ax=ax, ticks=[-1, 0, 1], fraction=0.06, pad=0.03, aspect=18)
        bar.set_label("weight, each class scaled to 1")
        bar.outline.set_visible(False)
        return self
