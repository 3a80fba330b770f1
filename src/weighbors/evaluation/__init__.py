"""Evaluation: can these features and these predictions be trusted?

The package measures the stability of selections, weights, ranks and predictions over repeated runs. It computes
p-values of weights by permutation, lists of features with q-values by stability selection, and the values of training
rows. It runs studies of data sets × methods × folds, which can be stopped and resumed.
"""

from ..metrics import g_mean, reduction
from .curve import StabilityCurve, kuncheva_curve, stability_curve
from .permutation import PermutationResult, permutation_test
from .prediction_stability import NumericPredictionStability, PredictionStability, prediction_stability
from .redundancy import RedundancyGroups, redundancy_groups
from .selection_result import SelectionCurve
from .similarity import SimilarityStability, similarity_stability
from .size_curve import selection_curve
from .stability import (
    Stability,
    StabilityTest,
    kuncheva_index,
    nogueira_stability,
    nogueira_test,
    selection_stability,
)
from .stability_selection import StabilitySelection
from .study import Study, StudyData, StudyResults, load_results
from .valuation import DataValues, data_values
from .weight_stability import weight_stability

__all__ = [
    "DataValues",
    "NumericPredictionStability",
    "PermutationResult",
    "PredictionStability",
    "RedundancyGroups",
    "SelectionCurve",
    "SimilarityStability",
    "Stability",
    "StabilityCurve",
    "StabilitySelection",
    "StabilityTest",
    "Study",
    "StudyData",
    "StudyResults",
    "data_values",
    "g_mean",
    "kuncheva_curve",
    "kuncheva_index",
    "load_results",
    "nogueira_stability",
    "nogueira_test",
    "permutation_test",
    "prediction_stability",
    "reduction",
    "redundancy_groups",
    "selection_curve",
    "selection_stability",
    "similarity_stability",
    "stability_curve",
    "weight_stability",
]
