"""Stability selection: a list of features with an estimate of how many of them are false.

Half samples are drawn (`halves`), a weigher is fitted to each of them (`fits`), and the shares of the half samples
that select a feature become scores, expected false positives and q-values (`paths`). `StabilitySelection` is the
estimator around these functions.
"""

from .selector import StabilitySelection

__all__ = ["StabilitySelection"]
