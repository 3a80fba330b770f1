"""Explanations of answers: why this class, whose votes it is made of, and what would change it.

``explain`` of an estimator returns an `Explanation`. An estimator that transforms its table before another one sees it
calls `explain_rows` with `OriginalValues`, so that the explanation speaks of the user's own columns and units.
"""

from .build import Explainable, Prepared, explain_rows
from .changes import Change
from .display import ExplanationDisplay
from .handover import ExplainedModel, OriginalValues, ProductVotes, RowVoters
from .value import Explanation

__all__ = [
    "Change",
    "Explainable",
    "ExplainedModel",
    "Explanation",
    "ExplanationDisplay",
    "OriginalValues",
    "Prepared",
    "ProductVotes",
    "RowVoters",
    "explain_rows",
]
