"""Draw the rows of a search: undersampling, rows for margins, and a warning of singleton classes."""

from __future__ import annotations

import numpy as np

from ..._typing import AnyArray, IndexArray
from ..._warnings import warn
from ...exceptions import LonelyClassWarning

__all__ = ["draw_rows", "undersample_rows", "warn_of_singletons"]


def undersample_rows(codes: IndexArray, undersample: bool | float, rng: np.random.Generator) -> IndexArray:
    """Draw rows so that no class is much larger than the smallest class. Return their row numbers, ascending.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each row.
    undersample : bool or float
        False: keep all rows. True: draw as many rows of each class as the smallest class has. A number r: draw
        rows until no class is larger than the size of the smallest class divided by r.
    rng : numpy Generator

    Examples
    --------
    >>> codes = np.array([0] * 10 + [1] * 3)
    >>> len(undersample_rows(codes, True, np.random.default_rng(0)))
    6
    >>> len(undersample_rows(codes, 0.5, np.random.default_rng(0)))
    9
    """
    if undersample is False:
        return np.arange(len(codes))
    counts = np.bincount(codes)
    most = int(np.floor(counts.min() / float(undersample) + 1e-9))  # 7 / 0.28 is 25, and rounding must not make it 24
    drawn = [
        rng.choice(np.flatnonzero(codes == c), size=min(int(count), most), replace=False)
        for c, count in enumerate(counts)
    ]
    return np.sort(np.concatenate(drawn))


def draw_rows(codes: IndexArray, limit: int | None, rng: np.random.Generator) -> IndexArray | None:
    """Draw about ``limit`` rows, equally many of each class, or all rows of a class that has fewer.

    Return None if ``limit`` is None or the table has no more than ``limit`` rows: then all rows are used.

    Examples
    --------
    >>> codes = np.array([0] * 50 + [1] * 3)
    >>> np.bincount(codes[draw_rows(codes, 20, np.random.default_rng(0))])
    array([10,  3])
    """
    if limit is None or len(codes) <= limit:
        return None
    # Equally many of each class, because each class has a margin of its own.
    each = -(-limit // int(codes.max() + 1))
    members = [np.flatnonzero(codes == c) for c in range(int(codes.max()) + 1)]
    return np.sort(np.concatenate([rng.choice(part, min(each, len(part)), replace=False) for part in members]))


def warn_of_singletons(classes: AnyArray, codes: IndexArray) -> None:
    """Warn of singleton classes. Their only row is always predicted wrong when it is left out."""
    singletons = classes[np.bincount(codes) == 1]
    if len(singletons):
        warn(
            f"{len(singletons)} class(es) have one instance ({singletons[:5].tolist()}), which is always wrong when "
            "it is left out; G-mean does not count them",
            LonelyClassWarning,
        )
