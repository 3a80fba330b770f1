"""One page about a table: which features matter, for which class, how stable that is, what it buys."""

from .report import Report, build_report

__all__ = ["Report", "build_report"]
