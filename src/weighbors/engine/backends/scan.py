"""The compiled scan, which computes the distance of every query to every reference in limited memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ... import _native
from ..._parallel.threads import fixed_ranges, row_ranges, run_kernel, run_ranges
from ..._typing import FloatArray, IndexArray
from ..references import Fold, References
from .backend import Backend, Batch, Lists, empty_lists, measure_norms

CACHE_BYTES = 256 * 2**20  # packed references that a fitted engine may keep
_WIDE = 64  # least number of features for which computing each pair once is worth the memory for all distances


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> FloatArray:
    """Return an uninitialised array that starts at a cache line."""
    size = int(np.prod(shape)) * dtype.itemsize
    # NumPy does not promise arrays that begin at a cache line. 64 spare bytes leave room for a shift.
    raw = np.empty(size + 64, dtype=np.uint8)
    offset = -raw.ctypes.data % 64
    return raw[offset : offset + size].view(dtype).reshape(shape)


def align_rows(rows: FloatArray, order: IndexArray | None = None) -> FloatArray:
    """Copy rows, perhaps in another order, such that each begins at a cache line.

    Columns of zeros make up whole lines.
    """
    n, m = rows.shape
    per_line = 64 // rows.itemsize
    aligned = aligned_empty((n, -(-m // per_line) * per_line), rows.dtype)
    if order is None:
        aligned[:, :m] = rows
    else:
        np.take(rows, order, axis=0, out=aligned[:, :m], mode="clip")  # other modes copy twice
    aligned[:, m:] = 0
    return aligned


def lane_layout(groups: IndexArray, n_groups: int, lanes: int) -> tuple[IndexArray, IndexArray]:
    """Return the slot of each lane, ordered by group, and the first block of each group.

    A block has ``lanes`` lanes, which are the positions of references. Lanes without a reference have slot -1.
    """
    by_group = np.argsort(groups, kind="stable")  # slots ascend within a group
    counts = np.bincount(groups, minlength=n_groups)
    # A block holds rows of one group only, so that a grouped search needs no test per row.
    blocks = -(-counts // lanes)
    block_start = np.concatenate([[0], np.cumsum(blocks)]).astype(np.int64)
    order = np.full(int(block_start[-1]) * lanes, -1, dtype=np.int64)
    # Each reference moves up by the padding of the groups before its own.
    first_lane = np.repeat(block_start[:-1] * lanes - np.cumsum(counts) + counts, counts)
    order[first_lane + np.arange(len(groups))] = by_group
    return order, block_start


class Part(NamedTuple):
    """Some packed blocks of references, as the compiled core takes them."""

    references: _native.References
    n_blocks: int
    largest_norm: float


class Scan(Backend):
    """Backend that scans all packed references, in parts of at most ``part_bytes``."""

    name = "scan"
    description = "the compiled scan serves every kind of distance"
    compares_pairs = True

    def __init__(self, references: References, *, part_bytes: int | None = None) -> None:
        self.references = references
        self.part_bytes = references.part_bytes if part_bytes is None else part_bytes
        self._cached: list[Part] | None = None

    @property
    def scan(self) -> Scan:
        """The scan itself, which leaves no query to another backend."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"references": self.references, "part_bytes": self.part_bytes, "_cached": None}

    @cached_property
    def _layout(self) -> tuple[IndexArray, IndexArray]:
        """Result of `lane_layout` for the references, computed at the first search."""
        return lane_layout(self.references.group_codes, self.references.n_groups, self.references.lanes)

    def parts(self, n_jobs: int) -> Iterator[Part]:
        """Yield the packed parts. They are kept for the next search if all together are at most `CACHE_BYTES`."""
        if self._cached is not None:
            yield from self._cached
            return
        per_part = max(1, self.part_bytes // self.references.block_bytes)
        total = int(self._layout[1][-1])
        # Sparse references stay sparse in memory: their dense parts would often not fit.
        keep = total * self.references.block_bytes <= CACHE_BYTES and not self.references.sparse
        parts = []
        for begin in range(0, total, per_part):
            part = self._pack(begin, min(begin + per_part, total), n_jobs)
            if keep:
                parts.append(part)
            yield part
        if keep:
            self._cached = parts

    def _pack(self, begin: int, end: int, n_jobs: int) -> Part:
        """Return blocks [begin, end) of the references, packed, with the other arrays that the kernel needs."""
        references, lanes = self.references, self.references.lanes
        slots = self._layout[0][begin * lanes : end * lanes]
        real = slots >= 0
        source, order = references.rows, slots
        if references.sparse:
            source, order = references.rows[slots[real]].toarray(), np.full(len(slots), -1, dtype=np.int64)
            order[real] = np.arange(int(real.sum()))
        fold = None if references.feature_weights is None else references.fold()

        def pack_rows(rows: Any, lane_row: IndexArray, fill: float, fold: Fold | None) -> tuple[FloatArray, float]:
            """Pack some rows. Return the packed blocks and the largest norm of a row."""
            out = aligned_empty((end - begin, references.m, lanes), references.dtype)
            norms = run_kernel(
                _native.pack,
                row_ranges(end - begin, n_jobs, least=512, most=8192),
                n_jobs,
                source=rows,
                order=lane_row,
                packed=out,
                fill=fill,
                center=None if fold is None else fold.center,
                factor=None if fold is None else fold.factor,
                n_numeric=references.n_numeric,
                p=references.p,
            )
            return out, max(norms)

        # Padding is at infinity, so that it is never among the nearest.
        packed, largest_norm = pack_rows(source, order, np.inf, fold)
        weights = None
        if references.cells is not None:
            table, rows = references.cells.of(slots[real], references.dtype)
            lane_row = np.full(len(slots), -1, dtype=np.int64)
            lane_row[real] = rows
            # Weights are packed like the rows. Padding gets weight 0; its infinite values keep it away.
            weights, _ = pack_rows(table, lane_row, 0.0, None)
        scales = None
        if references.scales is not None:
            scales = np.where(real, references.scales[slots], 1).astype(references.dtype)
        made = _native.make_references(
            packed=packed,
            weights=weights,
            scales=scales,
            ids=slots,
            group_start=np.clip(self._layout[1], begin, end) - begin,
            missing_distance=references.missing_distance if fold is None else fold.missing_distance,
            n_numeric=references.n_numeric,
            p=references.p,
            # Only folded feature weights round the data. All other distances are exact already.
            source=None if fold is None else source,
            order=None if fold is None else order,
            exact_weights=None if fold is None else references.feature_weights,
            exact_missing_distance=None if fold is None else references.missing_distance,
        )
        return Part(made, end - begin, largest_norm)

    def search(self, batch: Batch, k: int) -> Lists:
        """Search as `Backend.search` says."""
        if self.computes_pairs(batch.rows, batch.own_slot):
            return select_nearest(self.compute_pairs(batch.n_jobs), self._layout, self.references.n, k, batch.n_jobs)
        distance, slot = empty_lists(self.references, len(batch), k)
        # Parts follow one another, and the lists of a query are carried from part to part.
        for part in self.parts(batch.n_jobs):
            arguments = self._kernel_arguments(batch, part)
            batch.run(_native.find_k_nearest, **arguments, distance=distance, id=slot)
        return distance, slot

    def computes_pairs(self, queries: Any, own_slot: IndexArray | None) -> bool:
        """Return whether a search computes each pair of rows once: for all stored rows, wide and without weights.

        The distances of all pairs must fit in half of ``part_bytes``. The parameters are the fields of a `Batch`.
        """
        references = self.references
        if own_slot is None or references.m < _WIDE or not references.are_rows(queries):
            return False
        if references.feature_weights is not None or references.cells is not None or references.scales is not None:
            return False
        size = len(self._layout[0]) ** 2 * references.dtype.itemsize
        return 2 * size <= self.part_bytes and np.array_equal(own_slot, np.arange(references.n))

    def compute_pairs(self, n_jobs: int) -> FloatArray:
        """Return the distances of all pairs of lanes, squared for p = 2. Those of padding have no meaning."""
        references, order = self.references, self._layout[0]
        pairs = np.empty((len(order), len(order)), dtype=references.dtype)
        first_block = 0
        for part in self.parts(n_jobs):
            run_pairs(
                _native.compute_symmetric_distances,
                n_jobs,
                references=part.references,
                source=references.rows,
                order=order,
                first_block=first_block,
                missing=references.missing,
                distance=pairs,
            )
            first_block += part.n_blocks
        return pairs

    def search_within(self, batch: Batch, limits: FloatArray) -> tuple[FloatArray, IndexArray, IndexArray]:
        """Return all references nearer than the limit of each query, one list after the other, for one group.

        ``limits`` has the distance of each query below which references are wanted, squared for p = 2.

        Returns
        -------
        distance, slot : ndarrays
            Each list is sorted by distance and then slot. Distances are squared for p = 2.
        count : ndarray of shape (n_queries,)
            Lengths of the lists.
        """
        found: list[tuple[FloatArray, IndexArray, IndexArray]] = []
        for part in self.parts(batch.n_jobs):
            results = batch.run(_native.find_within, **self._kernel_arguments(batch, part), limits=limits)
            count, distance, slot = (np.concatenate(one) for one in zip(*results, strict=True))
            found.append((distance, slot, count))
        if len(found) == 1:
            return found[0]
        distance, slot = (np.concatenate([one[column] for one in found]) for column in (0, 1))
        query = np.concatenate([np.repeat(np.arange(len(count)), count) for _, _, count in found])
        order = np.lexsort((slot, distance, query))
        return distance[order], slot[order], np.sum([count for _, _, count in found], axis=0)

    def _kernel_arguments(self, batch: Batch, part: Part) -> dict[str, Any]:
        """Return what the kernels read to compare queries with a packed part."""
        references = self.references
        arguments = {
            "references": part.references,
            "queries": batch.rows,
            "own": batch.own_slot,
            "missing": references.missing or batch.missing,
            "exact_queries": None,
            "slack": None,
        }
        if references.feature_weights is None:
            return arguments
        folded = references.fold()(batch.rows)
        # With these, candidates are measured again without the rounding of folded data.
        return arguments | {
            "queries": folded,
            "exact_queries": batch.rows,
            "slack": self._slack(folded, part.largest_norm),
        }

    def _slack(self, folded: FloatArray, largest_norm: float) -> FloatArray:
        """Return how much the rounding of folded data can change a distance (not squared) of each query at most."""
        norms = measure_norms(folded, self.references)
        largest_sum = norms + (np.sqrt(largest_norm) if self.references.p == 2 else largest_norm)
        if self.references.scales is not None:
            largest_sum = largest_sum * float(self.references.scales.max()) ** (1 / self.references.p)
        # center, factor and product round once each on either side; the rest is margin
        slack: FloatArray = (8 * np.finfo(self.references.dtype).eps * largest_sum).astype(self.references.dtype)
        return slack


def run_pairs(kernel: Callable[..., Any], n_jobs: int, **arguments: Any) -> None:
    """Run a kernel that compares all pairs, cut into pieces. It takes a piece and the number of pieces."""
    # Few pieces, since each reads all blocks; two per thread even out their times.
    n_pieces = 2 * n_jobs if n_jobs > 1 else 1
    run_ranges(lambda piece, _: kernel(**arguments, begin=piece, end=n_pieces), fixed_ranges(n_pieces, 1), n_jobs)


def select_nearest(pairs: FloatArray, layout: tuple[IndexArray, IndexArray], n: int, k: int, n_jobs: int) -> Lists:
    """Return the k nearest others of each of ``n`` rows in each group, from the distances of all pairs of lanes.

    ``layout`` is the result of `lane_layout`.
    """
    order, group_start = layout
    shape = (n, len(group_start) - 1, k)
    distance, slot = np.empty(shape, dtype=pairs.dtype), np.empty(shape, dtype=np.int64)
    run_kernel(
        _native.select_nearest,
        row_ranges(len(order), n_jobs),
        n_jobs,
        pair_distance=pairs,
        order=order,
        group_start=group_start,
        distance=distance,
        id=slot,
    )
    return distance, slot
