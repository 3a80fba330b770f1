"""Evaluation: can these features and these predictions be trusted?

The package measures the stability of selections, weights, ranks and predictions over repeated runs. It computes
p-values of weights by permutation. It runs studies of data sets × methods × folds, which can be stopped and resumed.
"""

from ..metrics import g_mean, reduction
from .curve import StabilityCurve, kuncheva_curve, stability_curve
from .permutation import PermutationResult, permutation_test
from .prediction_stability import NumericPredictionStability, PredictionStability, prediction_stability
from .stability import (
    Stability,
    StabilityTest,
    kuncheva_index,
    nogueira_stability,
    nogueira_test,
    selection_stability,
)
from .study import Study, StudyData, StudyResults, load_results
from .weight_stability import weight_stability

__all__ = [
    "NumericPredictionStability",
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
