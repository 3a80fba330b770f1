"""Feature weights, largest first, with their spread over resamples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._display.figure import BLUE, GREY, Display, check_lengths, check_names, top_positions
from .._names import shorten_name
from .._typing import FloatArray
from ..evaluation import PermutationResult, StabilityCurve
from ..evaluation.model_features import feature_scores
from ..exceptions import InvalidDataError
from ..weights import Weights

if TYPE_CHECKING:
    import pandas as pd


class WeightsDisplay(Display):
    """A dot for the weight of each feature, largest first, with a line for the spread over resamples.

    Parameters
    ----------
    weights : array-like of shape (n_features,)
    feature_names : sequence of str, optional
    low, high : array-like of shape (n_features,), optional
        Ends of the spread.
    chance : float, optional
        A weight that chance alone reaches; drawn as a dashed line.
    found : bool array-like of shape (n_features,), optional
        Features that a test found; the dots of the others are hollow.
    spread : str
        Name of the range from ``low`` to ``high``, for the legend.
    chance_label : str
        Name of ``chance``, for the legend.
    found_label : str
        Name of the features that were ``found``, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : PathCollection
        The dots, in the order of the features from the top.
    spread_ : LineCollection or None
    chance_ : Line2D or None

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from weighbors import ReliefF
    >>> from weighbors.plots import WeightsDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> display = WeightsDisplay(ReliefF().fit(X, y).feature_weights_, X.columns)
    >>> display.frame().round(2).head(3)
                                  weight
    feature
    od280/od315_of_diluted_wines    0.18
    flavanoids                      0.17
    proline                         0.16
    """

    def __init__(
        self,
        weights: Any,
        feature_names: Any = None,
        *,
        low: Any = None,
        high: Any = None,
        chance: float | None = None,
        found: Any = None,
        spread: str = "spread",
        chance_label: str = "chance",
        found_label: str = "found",
    ) -> None:
        self.weights: FloatArray = np.asarray(weights, dtype=np.float64)
        if self.weights.ndim != 1 or not len(self.weights):
            raise InvalidDataError(f"weights must be a vector, one per feature; got shape {self.weights.shape}")
        if (low is None) != (high is None):
            raise InvalidDataError("low and high are the two ends of a spread; give both or neither")
        self.feature_names = check_names(feature_names, len(self.weights))
        self.low = None if low is None else np.asarray(low, dtype=np.float64)
        self.high = None if high is None else np.asarray(high, dtype=np.float64)
        self.found = None if found is None else np.asarray(found, dtype=bool)
        check_lengths(weights=self.weights, low=self.low, high=self.high, found=self.found)
        self.chance, self.spread, self.chance_label, self.found_label = chance, spread, chance_label, found_label

    @classmethod
    def from_estimator(cls, estimator: Any, *, top: int | None = 20, ax: Any = None) -> WeightsDisplay:
        """Draw the weights of a fitted weigher, of a k-NN with one, or of any model that ranks features.

        Parameters
        ----------
        estimator : fitted estimator
        top : int or None, default=20
            Number of features that are drawn, largest weights first. None: all.
        ax : matplotlib Axes, optional

        Returns
        -------
        WeightsDisplay
        """
        check_is_fitted(estimator)
        weights = feature_scores(estimator)
        if weights is None:
            raise InvalidDataError(
                f"{type(estimator).__name__} has no weights of features: feature_weights_, feature_importances_, "
                "scores_ or coef_ is needed"
            )
        return cls(weights, getattr(estimator, "feature_names_in_", None)).plot(ax, top=top)

    @classmethod
    def from_result(cls, result: Any, *, top: int | None = 20, ax: Any = None) -> WeightsDisplay:
        """Draw the weights of a result.

        Parameters
        ----------
        result : StabilityCurve, PermutationResult or Weights
            A curve is drawn as the mean weights over its runs, with the range of the middle 80 % of them. A
            permutation test is drawn as its weights, with hollow dots for features that it did not find. `Weights`
            must have one weight per feature.
        top : int or None, default=20
        ax : matplotlib Axes, optional

        Returns
        -------
        WeightsDisplay
        """
        if isinstance(result, StabilityCurve):
            # A few extreme runs should not stretch the line.
            low, high = np.quantile(result.weights, [0.1, 0.9], axis=0)
            label = f"middle 80 % of {len(result.weights)} runs"
            display = cls(result.weights.mean(axis=0), result.feature_names, low=low, high=high, spread=label)
        elif isinstance(result, PermutationResult):
            label = f"found, false discovery rate {100 * result.level:g} %"
            found = result.adjusted <= result.level
            display = cls(result.scores, result.feature_names, found=found, found_label=label)
        elif isinstance(result, Weights) and result.kind == "feature":
            display = cls(result.feature_weights, result.feature_names)
        else:
            raise InvalidDataError(
                "a StabilityCurve, a PermutationResult or Weights with one weight per feature is needed; got "
                f"{type(result).__name__}"
            )
        return display.plot(ax, top=top)

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per feature, largest weight first: weight, and found, low and high if given."""
        import pandas as pd

        order = top_positions(self.weights, None)
        frame = pd.DataFrame({"weight": self.weights[order]}, index=np.array(self.feature_names, dtype=object)[order])
        if self.found is not None:
            frame["found"] = self.found[order]
        if self.low is not None and self.high is not None:
            frame["low"], frame["high"] = self.low[order], self.high[order]
        return frame.rename_axis("feature")

    def plot(self, ax: Any = None, *, top: int | None = 20) -> WeightsDisplay:
        """Draw the ``top`` largest weights (None: all) into ``ax`` or a new figure."""
        shown = top_positions(self.weights, top)
        ax = self._open(ax, (6.4, 1.2 + 0.24 * len(shown)))
        place = np.arange(len(shown))
        ax.axvline(0.0, color=GREY, linewidth=0.8)
        self.spread_ = self.chance_ = None
        if self.low is not None and self.high is not None:
            ends = (self.low[shown], self.high[shown])
            self.spread_ = ax.hlines(place, *ends, color=BLUE, alpha=0.5, linewidth=4, label=self.spread)
        # Dots are drawn above the lines.
        self.points_ = ax.scatter(self.weights[shown], place, color=BLUE, s=26, zorder=3, label="weight")
        if self.found is not None:
            self.points_.set_facecolor([BLUE if found else "white" for found in self.found[shown]])
            self.points_.set_label("_")  # the legend shows the two kinds of dots instead
            for kind, label in ((BLUE, self.found_label), ("white", "not found")):
                ax.scatter([], [], facecolor=kind, edgecolor=BLUE, s=26, label=label)
        if self.chance is not None:
            self.chance_ = ax.axvline(self.chance, color=GREY, linestyle="--", linewidth=1.2, label=self.chance_label)
        self._list_names([shorten_name(self.feature_names[j]) for j in shown])
        several = self.spread_ is not None or self.chance_ is not None or self.found is not None
        self._label("weight", "", legend=several, loc="lower right")
        return self
