"""Can I trust these features, and these predictions?

Stability of selections, of weights and ranks, and of predictions over repeated runs; p-values of
weights by permutation; studies of data sets × methods × folds that can be stopped and resumed.
"""

from ..metrics import g_mean, reduction
from .curve import StabilityCurve, kuncheva_curve, stability_curve
from .permutation import PermutationResult, permutation_test
from .prediction_stability import PredictionStability, prediction_stability
from .results import StudyResults, load_results
from .stability import (
    Stability,
    StabilityTest,
    kuncheva_index,
    nogueira_stability,
    nogueira_test,
    selection_stability,
)
from .study import Study, StudyData
from .weight_stability import weight_stability

__all__ = [
    "PermutationResult",
    "PredictionStability",
    "Stability",
    "StabilityCurve",
    "StabilityTest",
    "Study",
    "StudyData",
    "StudyResults",
    "g_mean",
    "kuncheva_curve",
    "kuncheva_index",
    "load_results",
    "nogueira_stability",
    "nogueira_test",
    "permutation_test",
    "prediction_stability",
    "reduction",
    "selection_stability",
    "stability_curve",
    "weight_stability",
]
