"""The immutable class `Weights` for every kind of weight, the interval table that it may hold, and its file format."""

from .intervals import IntervalTable
from .value import Weights, fingerprint

__all__ = ["IntervalTable", "Weights", "fingerprint"]
