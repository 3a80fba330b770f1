"""The immutable class `Weights` for every kind of weight, the interval table that it may hold, and its file format."""

from .._io.fingerprint import fingerprint
from .intervals import IntervalTable
from .value import Weights

__all__ = ["IntervalTable", "Weights", "fingerprint"]
