"""The neighbour engine: it stores references, plans a search, runs a backend, and turns neighbours into votes."""

from .contributions import contributions
from .engine import NeighborEngine, NeighborLists, SearchEngine, merge_lists
from .plan import Plan, make_plan
from .references import ColumnRanges, References, build_references
from .votes import combine_votes, decide, distance_votes, mass_votes, mean_targets, tally

__all__ = [
    "ColumnRanges",
    "NeighborEngine",
    "NeighborLists",
    "Plan",
    "References",
    "SearchEngine",
    "build_references",
    "combine_votes",
    "contributions",
    "decide",
    "distance_votes",
    "make_plan",
    "mass_votes",
    "mean_targets",
    "merge_lists",
    "tally",
]
