"""Search with FAISS (extra ``weighbors[faiss]``): Flat is exact, its candidates are certified. HNSW is approximate.

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

from ..._typing import FloatArray, IndexArray
from ...exceptions import MissingDependencyError
from ..references import References
from .certify import certify, measure_candidates, settle_lists
from .scan import Scan

__all__ = ["Faiss"]

_LINKS = 32  # per node of the HNSW graph
_SPARE = 16  # candidates beyond k: float32 products rank close neighbours loosely


def _faiss() -> Any:
    """Import and return FAISS. Raise an error that says how to install it if it is missing."""
    try:
        import faiss
    except ImportError as error:
        raise MissingDependencyError(
            "the backends 'faiss' and 'hnsw' need the package faiss-cpu: pip install 'weighbors[faiss]'"
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


class Faiss:
    """Backend that searches with FAISS in float32 vectors, which include the weights."""

    def __init__(self, references: References, scan: Scan, *, approximate: bool) -> None:
        _faiss()
        self.references = references
        self.scan = scan
        self.approximate = approximate

    def __getstate__(self) -> dict[str, Any]:
        return {"references": self.references, "scan": self.scan, "approximate": self.approximate}

    @property
    def _inner_product(self) -> bool:
        """Whether distances are inner products: weights per instance cannot be folded into the data."""
        return self.references.cells is not None or self.references.scales is not None

    @cached_property
    def _center(self) -> FloatArray:
        """Middle of the column ranges. Centred values are smaller, and their products lose fewer digits."""
        center: FloatArray = self.references.low.astype(np.float64) / 2 + self.references.high.astype(np.float64) / 2
        return center

    @cached_property
    def _stored(self) -> FloatArray:
        """The references as float32 vectors.

        With weights per instance the squared distance v² Σ a (q − x)² is the product of (q², q, 1) and
        v² (a, −2 a x, Σ a x²), so that a search for the largest negative product finds the nearest rows.
        """
        references = self.references
        x = references.rows.astype(np.float64) - self._center
        a: Any = 1.0 if references.feature_weights is None else references.feature_weights.astype(np.float64)
        if not self._inner_product:
            return np.ascontiguousarray(x * np.sqrt(a), dtype=np.float32)
        if references.cells is not None:
            table, row = references.cells.of(np.arange(references.n), np.float64)
            a = table[row].astype(np.float64)
        a = np.broadcast_to(a, x.shape)
        vectors = np.hstack([a, -2 * a * x, (a * x * x).sum(axis=1, keepdims=True)])
        if references.scales is not None:
            vectors *= references.scales[:, None].astype(np.float64)
        vectors = -vectors  # the largest product is the nearest
        if self.approximate:
            # The graph needs vectors of equal length, for which the nearest has the largest product.
            squared = (vectors * vectors).sum(axis=1, keepdims=True)
            vectors = np.hstack([vectors, np.sqrt(squared.max() - squared)])
        return np.ascontiguousarray(vectors, dtype=np.float32)

    def _asked(self, queries: FloatArray) -> FloatArray:
        """Return the queries as vectors of the same form as `_stored`."""
        q = queries.astype(np.float64) - self._center
        if self._inner_product:
            vectors = np.hstack([q * q, q, np.ones((len(q), 1))])
            # A zero for the extra coordinate of the stored vectors, so that it does not change the products.
            if self.approximate:
                vectors = np.hstack([vectors, np.zeros((len(q), 1))])
        else:
            a = self.references.feature_weights
            vectors = q if a is None else q * np.sqrt(a.astype(np.float64))
        return np.ascontiguousarray(vectors, dtype=np.float32)

    @cached_property
    def _index(self) -> Any:
        """The index of the stored vectors, built at the first search."""
        faiss, width = _faiss(), self._stored.shape[1]
        metric = faiss.METRIC_INNER_PRODUCT if self._inner_product else faiss.METRIC_L2
        index = faiss.IndexHNSWFlat(width, _LINKS) if self.approximate else faiss.IndexFlat(width, metric)
        index.add(self._stored)
        return index

    def search(
        self,
        queries: FloatArray,
        k: int,
        *,
        own_slot: IndexArray | None = None,
        missing: bool = False,
        n_jobs: int = 1,
    ) -> tuple[FloatArray, IndexArray]:
        """Search as `Scan.search` does, with the same parameters, for one group."""
        references = self.references
        if missing:
            return self.scan.search(queries, k, own_slot=own_slot, missing=True, n_jobs=n_jobs)
        width = min(k + _SPARE, references.n)
        asked = self._asked(queries)
        with _threads(n_jobs):
            index = self._index
            if self.approximate:
                # products spread the stored vectors more than distances do: look at more of them
                index.hnsw.efSearch = max(512, 16 * width) if self._inner_product else max(64, 2 * width)
            score, candidates = index.search(asked, width)
        distance, slot = measure_candidates(references, queries, candidates, k, own_slot=own_slot, n_jobs=n_jobs)
        if self.approximate:
            certain = slot[:, -1] >= 0  # otherwise the graph gave fewer than k
        else:
            unseen = np.full(len(queries), np.inf) if width == references.n else self._unseen(asked, score[:, -1])
            certain = certify(references, distance[:, -1], unseen)
        return settle_lists(self.scan, queries, distance, slot, certain, own_slot=own_slot, n_jobs=n_jobs)

    def _unseen(self, asked: FloatArray, last: FloatArray) -> FloatArray:
        """Return a lower bound on the true distance of all references that are not candidates.

        ``asked`` are the query vectors, ``last`` is the score of the last candidate of each query.
        """
        # Sums of float32 products have a relative error of about eps per term, of the largest score that is possible.
        length = np.linalg.norm(asked.astype(np.float64), axis=1)
        longest = float(np.linalg.norm(self._stored.astype(np.float64), axis=1).max())
        largest_score = length * longest if self._inner_product else (length + longest) ** 2
        error = (asked.shape[1] + 8) * float(np.finfo(np.float32).eps) * largest_score
        squared = -last.astype(np.float64) if self._inner_product else last.astype(np.float64)
        unseen: FloatArray = np.sqrt(np.maximum(squared - error, 0.0))
        return unseen
