"""Chromosomes: real numbers for weights, bits for selections (paper 004, section 3).

A chromosome has only the parts of its tasks. The other parts are all ones when a chromosome is decoded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import BoolArray, FloatArray, IndexArray
from ...engine.population import Selections
from ...exceptions import InvalidDataError

#: Instance selection, feature selection, instance weighting, feature weighting.
TASKS = ("IS", "FS", "IW", "FW")


def parse_tasks(tasks: Any) -> tuple[str, ...]:
    """Return the task names in the order of `TASKS`, from a text such as "IS+FS" or from a sequence of names.

    Examples
    --------
    >>> parse_tasks("FW+IS")
    ('IS', 'FW')
    """
    listed = tasks.split("+") if isinstance(tasks, str) else np.ravel(tasks)
    names = [str(name).strip() for name in listed]
    unknown = [name for name in names if name not in TASKS]
    if unknown or not names:
        reason = f"unknown: {', '.join(repr(name) for name in unknown)}" if unknown else "none named"
        raise InvalidDataError(
            f"tasks must be a non-empty choice of {', '.join(TASKS)} joined by '+', such as 'IS+FS'; "
            f"got {tasks!r} ({reason})"
        )
    if len(set(names)) < len(names):
        raise InvalidDataError(f"tasks names a task twice: {tasks!r}")
    return tuple(name for name in TASKS if name in names)


@dataclass(frozen=True)
class Population:
    """Chromosomes, one per row: ``weights`` (P, R) in [0, 1] and ``bits`` (P, L)."""

    weights: FloatArray
    bits: BoolArray

    def __len__(self) -> int:
        return len(self.bits)

    def take(self, which: Any) -> Population:
        """Return the individuals at the positions ``which`` (an index, mask or slice)."""
        return Population(self.weights[which], self.bits[which])

    def same_as(self, other: Population) -> BoolArray:
        """Return for each row whether the individual equals that of ``other`` in the same row."""
        same: BoolArray = (self.weights == other.weights).all(axis=1) & (self.bits == other.bits).all(axis=1)
        return same


@dataclass(frozen=True)
class Genome:
    """Layout of a chromosome: instances come first, then features, both in the real numbers and in the bits.

    Parameters
    ----------
    tasks : tuple of str
        As `parse_tasks` gives them.
    n_instances, n_features : int
    n_vectors : int
        Number of vectors of feature weights: 1, or the number of classes.

    Examples
    --------
    >>> genome = Genome(("IS", "FW"), n_instances=5, n_features=3)
    >>> genome.n_weights, genome.n_bits
    (3, 5)
    """

    tasks: tuple[str, ...]
    n_instances: int
    n_features: int
    n_vectors: int = 1

    @property
    def n_weights(self) -> int:
        """Number R of real numbers of a chromosome."""
        return self._of_rows("IW") + ("FW" in self.tasks) * self.n_vectors * self.n_features

    @property
    def n_bits(self) -> int:
        """Number L of bits of a chromosome."""
        return self._of_rows("IS") + ("FS" in self.tasks) * self.n_features

    def _of_rows(self, task: str) -> int:
        """Return how many numbers or bits of a chromosome a task of instances takes. They come first."""
        return self.n_instances if task in self.tasks else 0

    def random(self, count: int, rng: np.random.Generator, *, density: Any = 0.5) -> Population:
        """Draw ``count`` random individuals.

        Weights are uniform in [0, 1). A bit is 1 with probability ``density``, which is one number or one
        number per individual.
        """
        limit = np.broadcast_to(np.asarray(density, dtype=float), (count,))[:, None]
        return Population(rng.random((count, self.n_weights)), rng.random((count, self.n_bits)) < limit)

    def instance_mask(self, population: Population) -> BoolArray:
        """Return which instances each individual selects (t): bool array of shape (P, N)."""
        if "IS" not in self.tasks:
            return np.ones((len(population), self.n_instances), dtype=bool)
        return population.bits[:, : self.n_instances]

    def feature_mask(self, population: Population) -> BoolArray:
        """Return which features each individual selects (s): bool array of shape (P, M)."""
        if "FS" not in self.tasks:
            return np.ones((len(population), self.n_features), dtype=bool)
        return population.bits[:, self._of_rows("IS") :]

    def instance_scales(self, population: Population) -> FloatArray:
        """Return the instance scales v, shape (P, N). A high scale means a less relevant instance."""
        if "IW" not in self.tasks:
            return np.ones((len(population), self.n_instances))
        return population.weights[:, : self.n_instances]

    def feature_weights(self, population: Population) -> FloatArray:
        """Return the feature weights w, shape (P, n_vectors, M)."""
        shape = (len(population), self.n_vectors, self.n_features)
        if "FW" not in self.tasks:
            return np.ones(shape)
        return population.weights[:, self._of_rows("IW") :].reshape(shape)

    def kept(self, population: Population) -> tuple[IndexArray, IndexArray]:
        """Return how many instances and how many features each individual selects."""
        return self.instance_mask(population).sum(axis=1), self.feature_mask(population).sum(axis=1)

    def find_able(self, population: Population) -> IndexArray:
        """Return the positions of the individuals that select at least one instance and one feature."""
        rows, columns = self.kept(population)
        return np.flatnonzero((rows > 0) & (columns > 0))

    def selections(self, population: Population) -> Selections:
        """Return the individuals as the neighbour engine takes them: a = s · w², v and t.

        Parts that no task of the genome changes are None.
        """
        a = None
        if "FW" in self.tasks or "FS" in self.tasks:
            # Differences are multiplied by w (paper 004), so their squares have the weights w².
            a = self.feature_weights(population) ** 2 * self.feature_mask(population)[:, None, :]
        return Selections(
            len(population),
            a,
            self.instance_scales(population) if "IW" in self.tasks else None,
            self.instance_mask(population) if "IS" in self.tasks else None,
        )
