"""Pictures: one Display per figure, in scikit-learn's way.

The data are given to ``__init__`` or found by a ``from_...`` method, which also draws; ``plot(ax=)`` draws
again, ``frame()`` gives the figures behind the picture. Needs matplotlib: ``pip install 'weighbors[plots]'``.
"""

from .class_heatmap import ClassHeatmapDisplay
from .critical_difference import CriticalDifferenceDisplay
from .evolution_history import EvolutionHistoryDisplay
from .instance_map import InstanceMapDisplay
from .interval_map import IntervalMapDisplay
from .margin_profile import MarginProfileDisplay
from .pareto_front import ParetoFrontDisplay
from .stability_curve import StabilityCurveDisplay
from .weights import WeightsDisplay

__all__ = [
    "ClassHeatmapDisplay",
    "CriticalDifferenceDisplay",
    "EvolutionHistoryDisplay",
    "InstanceMapDisplay",
    "IntervalMapDisplay",
    "MarginProfileDisplay",
    "ParetoFrontDisplay",
    "StabilityCurveDisplay",
    "WeightsDisplay",
]
