"""Small coded tables for tests of learned votes."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CodedTable:
    """Coded rows, numbers first, with classes, one-hot targets and repetition weights."""

    X: np.ndarray
    nominal: np.ndarray
    codes: np.ndarray
    Y: np.ndarray
    s: np.ndarray | None


def coded_table(seed, n=25, *, numbers=3, categories=0, missing=0.0, classes=2, repetition=None, dtype=np.float64):
    """Make a table. ``repetition``: None, "whole" or "fractions"."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, numbers))
    levels = rng.integers(0, 4, size=(n, categories)).astype(float)
    codes = np.argmax(X[:, :1] * rng.normal(size=(1, classes)) + rng.normal(size=(n, classes)), axis=1)
    codes[:classes] = np.arange(classes)
    X = np.concatenate([X, levels], axis=1)
    X[rng.random(X.shape) < missing] = np.nan
    s = None
    if repetition == "whole":
        s = rng.integers(1, 5, n).astype(float)
    elif repetition == "fractions":
        s = rng.uniform(0.2, 3.0, n)
    nominal = np.arange(numbers + categories) >= numbers
    return CodedTable(X.astype(dtype), nominal, codes, np.eye(classes)[codes], s)
