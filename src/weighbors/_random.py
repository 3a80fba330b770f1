"""Seeds and random generators: every task gets its own child of one seed sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ._typing import IndexArray
from .exceptions import InvalidDataError


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return a seed sequence for a ``random_state`` of scikit-learn: None, an int or a RandomState.

    A seed sequence is returned unchanged.
    """
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, (int, np.integer)):
        return np.random.SeedSequence(int(random_state))
    drawn = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint64)
    return np.random.SeedSequence([int(word) for word in drawn])


def generators(random_state: Any, count: int) -> list[np.random.Generator]:
    """Return ``count`` independent random generators, one per task.

    Examples
    --------
    >>> first, second = generators(0, 2)
    >>> first.random() == generators(0, 2)[0].random(), first.random() == second.random()
    (True, False)
    """
    return [np.random.Generator(np.random.PCG64(child)) for child in seed_sequence(random_state).spawn(count)]


def draw_rows(n: int, n_samples: int | None, random_state: Any) -> IndexArray:
    """Draw ``n_samples`` of ``n`` rows at random, without repetition, and return their numbers in ascending order.

    If ``n_samples`` is None, the numbers of all rows are returned.
    """
    if n_samples is None:
        return np.arange(n)
    if n_samples > n:
        raise InvalidDataError(
            f"n_samples={n_samples} rows cannot be drawn from {n}. Use n_samples=None for all of them"
        )
    rng = generators(random_state, 1)[0]
    return np.sort(rng.choice(n, size=int(n_samples), replace=False))


def draw_from_groups(groups: IndexArray, most: Any, rng: np.random.Generator) -> IndexArray:
    """Draw rows of each group without repetition, and return their numbers in ascending order.

    ``groups`` has the group of each row. ``most`` is the largest number of rows of a group, or has one number per
    group. Of a smaller group, all rows are drawn.
    """
    sizes = np.minimum(np.bincount(groups), most)
    drawn = [rng.choice(np.flatnonzero(groups == c), size, replace=False) for c, size in enumerate(sizes) if size]
    return np.sort(np.concatenate(drawn))


def open_seeds(estimator: Any) -> list[str]:
    """Return the names of the ``random_state`` parameters of an estimator and its parts that are None.

    Examples
    --------
    >>> from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
    >>> open_seeds(BaggingClassifier(RandomForestClassifier(), random_state=0))
    ['estimator__random_state']
    """
    given = estimator.get_params(deep=True)
    return [name for name, value in given.items() if f"__{name}".endswith("__random_state") and value is None]


def integer_seed(sequence: np.random.SeedSequence) -> int:
    """Draw a seed that scikit-learn accepts as ``random_state``: an int below 2³¹ − 1."""
    return int(sequence.generate_state(1)[0] % (2**31 - 1))
