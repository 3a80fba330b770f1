"""The neighbour engine: references → plan → backend → neighbours → votes."""

from .contributions import contributions
from .engine import NeighborEngine, rooted
from .lists import merge_lists
from .plan import Plan, make_plan
from .references import Extent, References, build_references
from .votes import decide, distance_votes, mass_votes, tally

__all__ = [
    "Extent",
    "NeighborEngine",
    "Plan",
    "References",
    "build_references",
    "contributions",
    "decide",
    "distance_votes",
    "make_plan",
    "mass_votes",
    "merge_lists",
    "rooted",
    "tally",
]
