"""Reports on a table: which features matter, for which class, how stable the result is, and how much a k-NN gains."""

from .report import Report, build_report

__all__ = ["Report", "build_report"]
