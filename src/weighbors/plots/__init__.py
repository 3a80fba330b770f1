"""Figures: one Display class for each, as in scikit-learn.

``__init__`` takes the data; a ``from_...`` method computes and draws them. ``plot(ax=)`` draws again, and
``frame()`` returns the numbers behind the figure. Matplotlib is needed: ``pip install 'weighbors[plots]'``.
"""

from ..explanation import ExplanationDisplay
from .class_heatmap import ClassHeatmapDisplay
from .critical_difference import CriticalDifferenceDisplay
from .evolution_history import EvolutionHistoryDisplay
from .instance_map import InstanceMapDisplay
from .interval_map import IntervalMapDisplay
from .margin_profile import MarginProfileDisplay
from .pareto_front import ParetoFrontDisplay
from .selection_curve import SelectionCurveDisplay
from .stability_curve import StabilityCurveDisplay
from .stability_paths import StabilityPathsDisplay
from .weights import WeightsDisplay

__all__ = [
    "ClassHeatmapDisplay",
    "CriticalDifferenceDisplay",
    "EvolutionHistoryDisplay",
    "ExplanationDisplay",
    "InstanceMapDisplay",
    "IntervalMapDisplay",
    "MarginProfileDisplay",
    "ParetoFrontDisplay",
    "SelectionCurveDisplay",
    "StabilityCurveDisplay",
    "StabilityPathsDisplay",
    "WeightsDisplay",
]
