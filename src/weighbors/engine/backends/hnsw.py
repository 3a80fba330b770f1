"""Approximate search with the HNSW graph of FAISS (extra ``weighbors[faiss]``).

Feature weights that are the same for all instances are folded into the data, and the search is Euclidean. With
weights per instance, d² is an inner product, ⟨[q², q, 1], [a, −2ax, Σax²]⟩ · v², and the search is by inner
products. An HNSW graph over such products finds few neighbours (recall 0.17 in a trial). One more coordinate,
√(R² − ‖x‖²), gives all stored vectors the same length R. Then the largest product is the nearest point (recall 0.99).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from ..._typing import FloatArray
from ...exceptions import MissingDependencyError
from ..references import References
from .backend import Backend, Batch, Lists

_LINKS = 32  # per node of the graph
_SPARE = 16  # candidates beyond k: float32 products rank close neighbours loosely


def _faiss() -> Any:
    """Import and return FAISS. Raise an error that says how to install it if it is missing."""
    try:
        import faiss
    except ImportError as error:
        raise MissingDependencyError(
            "the backend 'hnsw' needs the package faiss-cpu: pip install 'weighbors[faiss]'"
        ) from error
    return faiss


@contextmanager
def _threads(n_jobs: int) -> Iterator[None]:
    """Let FAISS use ``n_jobs`` threads while the ``with`` block runs."""
    faiss = _faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n_jobs)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


class HNSW(Backend):
    """Backend that searches a graph of float32 vectors, which include the weights, and may miss neighbours."""

    name = "hnsw"
    description = "an approximate graph proposes, neighbours may be missed"
    refuses = ("city-block", "sparse", "nominal", "missing", "groups")

    def __init__(self, references: References, other: Backend) -> None:
        _faiss()
        super().__init__(references, other)

    @property
    def _inner_product(self) -> bool:
        """Whether distances are inner products: weights per instance cannot be folded into the data."""
        return self.references.cells is not None or self.references.scales is not None

    def _vectors_of_rows(self) -> FloatArray:
        """Return the references as float32 vectors.

        With weights per instance the squared distance v² Σ a (q − x)² is the product of (q², q, 1) and
        v² (a, −2 a x, Σ a x²), so that a search for the largest negative product finds the nearest rows.
        """
        references = self.references
        if not self._inner_product:
            return np.ascontiguousarray(self._fold(references.rows), dtype=np.float32)
        x = references.rows - self._fold.center
        a = np.broadcast_to(self._fold.factor**2, x.shape)
        if references.cells is not None:
            table, row = references.cells.of(np.arange(references.n), np.float64)
            a = table[row].astype(np.float64)
        vectors = np.hstack([a, -2 * a * x, (a * x * x).sum(axis=1, keepdims=True)])
        if references.scales is not None:
            vectors *= references.scales[:, None].astype(np.float64)
        vectors = -vectors  # the largest product is the nearest
        # The graph needs vectors of equal length, for which the nearest has the largest product.
        squared = (vectors * vectors).sum(axis=1, keepdims=True)
        return np.ascontiguousarray(np.hstack([vectors, np.sqrt(squared.max() - squared)]), dtype=np.float32)

    def _vectors_of_queries(self, queries: FloatArray) -> FloatArray:
        """Return the queries as vectors of the same form as those of the rows."""
        if not self._inner_product:
            return np.ascontiguousarray(self._fold(queries), dtype=np.float32)
        q = queries - self._fold.center
        # A zero for the extra coordinate of the stored vectors, so that it does not change the products.
        return np.hstack([q * q, q, np.ones((len(q), 1)), np.zeros((len(q), 1))]).astype(np.float32)

    @cached_property
    def _index(self) -> Any:
        """The graph, built at the first search."""
        vectors = self._vectors_of_rows()
        index = _faiss().IndexHNSWFlat(vectors.shape[1], _LINKS)
        index.add(vectors)
        return index

    def search(self, batch: Batch, k: int) -> Lists:
        """Search as `Backend.search` says, in one group. Neighbours may be missed."""
        if batch.missing:
            return self.other.search(batch, k)
        width = min(k + _SPARE, self.references.n)
        vectors = self._vectors_of_queries(batch.rows)
        with _threads(batch.n_jobs):
            index = self._index
            # products spread the stored vectors more than distances do: look at more of them
            index.hnsw.efSearch = max(512, 16 * width) if self._inner_product else max(64, 2 * width)
            _, candidates = index.search(vectors, width)
        lists = self._measure_candidates(batch, candidates, k)
        # If the graph gave fewer than k neighbours of a query, the scan finds them.
        return self._settle(batch, lists, lists[1][:, 0, -1] >= 0)
