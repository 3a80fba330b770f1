"""Evolutionary selection and weighting of instances and features."""

from .fit import Progress
from .fitness import Fitness
from .genome import Genome, Population
from .pareto import ParetoSearch, knee
from .search import EvolutionSearch
from .weigher import EvolutionaryWeigher

__all__ = [
    "EvolutionSearch",
    "EvolutionaryWeigher",
    "Fitness",
    "Genome",
    "ParetoSearch",
    "Population",
    "Progress",
    "knee",
]
