"""Seeds: one child per task, never the global state."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

__all__ = ["generators", "seed_sequence"]


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """A seed sequence from scikit-learn's ``random_state``: None, an int or a RandomState; or as it is."""
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, (int, np.integer)):
        return np.random.SeedSequence(int(random_state))
    drawn = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint64)
    return np.random.SeedSequence([int(word) for word in drawn])


def generators(random_state: Any, count: int) -> list[np.random.Generator]:
    """Independent generators, one per task.

    Examples
    --------
    >>> first, second = generators(0, 2)
    >>> first.random() == generators(0, 2)[0].random(), first.random() == second.random()
    (True, False)
    """
    return [np.random.Generator(np.random.PCG64(child)) for child in seed_sequence(random_state).spawn(count)]
