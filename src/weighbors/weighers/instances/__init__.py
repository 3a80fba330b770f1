"""Classical instance selectors, one paper, one file: a function with the rule, and an estimator that calls it."""

from .drop import DROP3, DROP5
from .fcnn import FCNN
from .hmnei import HMNEI
from .icf import ICF
from .instance_based import IB2, IB3

__all__ = ["DROP3", "DROP5", "FCNN", "HMNEI", "IB2", "IB3", "ICF"]
