"""Learned votes: kernel ridge regression under the library's distance (methods page, "Learned votes").

`metric` measures distances, `ridge` solves for the votes of all rows with leave-one-out in closed form, `choice`
chooses width and ridge, `gradient` weighs features from the solution, `local` solves for the votes of the k nearest
rows, and `calibration` turns scores into probabilities. `fit` puts these together.
"""

from .calibration import Calibration, fit_calibration
from .choice import Choice, choose_parameters
from .gradient import choose_feature_weights, gradient_weights
from .local import LocalVotes, choose_local
from .metric import Metric
from .ridge import Solution, solve_all

__all__ = [
    "Calibration",
    "Choice",
    "LocalVotes",
    "Metric",
    "Solution",
    "choose_feature_weights",
    "choose_local",
    "choose_parameters",
    "fit_calibration",
    "gradient_weights",
    "solve_all",
]
