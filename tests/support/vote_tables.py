"""Small tables for tests of learned votes, and the classifier with each of its ways to vote."""

from dataclasses import dataclass

import numpy as np

from weighbors import LearnedVotesClassifier


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


#: Ways to vote; each is given to the classifier as parameters.
MODES = {
    "all rows": {"n_neighbors": None},
    "nearest rows": {"n_neighbors": 7},
    "nearest rows, p = 2": {"n_neighbors": 12, "p": 2},
    "learned weights": {"weigher": "auto"},
}


def model_of(mode, **more):
    """Return the classifier that votes as ``MODES[mode]`` says, without learned weights if it says nothing of them."""
    return LearnedVotesClassifier(**{"weigher": None, "random_state": 0, **MODES[mode], **more})


def table(n=60, seed=0, classes=3):
    """Return rows of four numbers, and classes that follow from the largest of the first ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.argmax(X[:, :classes] + 0.5 * rng.normal(size=(n, classes)), axis=1)
    y[:classes] = np.arange(classes)
    return X, y


def scores_of(model, X):
    """Scores of all classes, also of two."""
    found = model.decision_function(X)
    return found if found.ndim == 2 else np.column_stack([(1 - found) / 2, (1 + found) / 2])
