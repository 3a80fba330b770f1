"""Evolutionary selection and weighting of instances and features."""

from .checkpoint import Checkpoint
from .estimators import EstimatorPredictor
from .fitness import Fitness, Judgement, NeighborPredictor, Performance, default_alphas
from .genome import TASKS, Genome, Population, parse_tasks
from .goals import Goals
from .number_scores import NumericPerformance
from .pareto import ParetoSearch, crowding, hypervolume, knee, non_dominated_ranks
from .run import Limits, Progress, Run
from .search import EvolutionSearch, Settings
from .tables import ReducedTable, reduce_table
from .weigher import EvolutionaryWeigher

__all__ = [
    "Checkpoint",
    "EstimatorPredictor",
    "EvolutionSearch",
    "EvolutionaryWeigher",
    "Fitness",
    "Genome",
    "Goals",
    "Judgement",
    "Limits",
    "NeighborPredictor",
    "NumericPerformance",
    "ParetoSearch",
    "Performance",
    "Population",
    "Progress",
    "ReducedTable",
    "Run",
    "Settings",
    "TASKS",
    "crowding",
    "default_alphas",
    "hypervolume",
    "knee",
    "non_dominated_ranks",
    "parse_tasks",
    "reduce_table",
]
