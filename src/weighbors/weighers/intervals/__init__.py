"""Representative intervals (paper 002): discretise columns, find runs of values, and weigh the runs."""

from .intervals import INTERVAL_CONSTRAINTS, RepresentativeIntervals, interval_frame

__all__ = ["INTERVAL_CONSTRAINTS", "RepresentativeIntervals", "interval_frame", "interval_table"]
