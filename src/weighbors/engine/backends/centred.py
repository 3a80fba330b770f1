"""What the backends share that round centred rows and leave uncertain queries to other searches."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._typing import FloatArray
from ..references import References
from .scan import Scan

__all__ = ["CentredRows"]


class CentredRows:
    """Base of `Rounded` and `WidePairs`.

    Parameters
    ----------
    references : References
        One group of numbers without missing values.
    scan : Scan
        It settles the queries that stay uncertain.
    other : Scan or Single
        It is taken where rounded rows cannot propose.
    """

    def __init__(self, references: References, scan: Scan, other: Any) -> None:
        self.references, self.scan, self.other = references, scan, other
        self._doubtful = False  # whether most distances are too close to one another for rounded rows

    def __getstate__(self) -> dict[str, Any]:
        kept = ("references", "scan", "other", "_doubtful")
        return {name: getattr(self, name) for name in kept}  # Rows are rounded again when they are needed.

    @cached_property
    def _center(self) -> FloatArray:
        """The middle of the range of each column."""
        center: FloatArray = self.references.low.astype(np.float64) / 2 + self.references.high.astype(np.float64) / 2
        return center

    @cached_property
    def _half_range(self) -> FloatArray:
        """Half of the range of each column: the largest absolute value after centring."""
        half: FloatArray = self.references.high.astype(np.float64) / 2 - self.references.low.astype(np.float64) / 2
        return half
