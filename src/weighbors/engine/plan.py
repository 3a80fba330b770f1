"""Choose the backend of a search from the sizes and kinds of data and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _native
from .._html import lines_block
from ..exceptions import BackendError
from .references import References

__all__ = ["BACKENDS", "PART_BYTES", "Plan", "make_plan"]

BACKENDS = ("auto", "scan", "bytes", "tree", "faiss", "hnsw")
#: Memory for packed references; for wide rows up to four times as much (`part_bytes_of`).
PART_BYTES = 32 * 2**20
# Least number of features, and of rows per group, for which rounding to bytes is worth its time.
_BYTE_FEATURES, _BYTE_ROWS = 8, 512
# Least number of rows, from so many features on, for which rounding to 16 bits is worth its time; None: it never is.
# Among very wide rows, distances are too close to one another.
_ROUNDED_ROWS = {1: None, 4: 16_000, 16: 6_000, 48: 5_000, 257: 8_000, 1025: None}
_SPARSE_COST = 50  # so many differences of a scan take as long as one term of a sum over common features
_SINGLE_ROWS = 2000  # least number of rows for which a scan in float32 is worth its time
# Least numbers of rows and features for which pairs of rounded rows are worth their time, and most features of each
# dtype. The more terms a sum has, the more rows could be nearest by the bounds on its rounding errors.
_PAIR_ROWS, _PAIR_FEATURES = {"float32": 400, "float64": 128}, 1024
_MOST_PAIR_FEATURES = {"float32": 2**13, "float64": 2**18}
_MOST_BYTES = 128 * 2**20  # largest memory for rows as bytes, which are kept after the first search
# Least number of queries for which packing the references again is worth its time, and the memory that wide queries
# may take for that.
_QUERIES, _QUERY_BYTES = 192, 256 * 2**20
# Least number of rows, by number of features, for which the tree is faster than the scan (benchmarks/backends.py
# prints the measurements).
_TREE_ROWS = {1: 5_000, 2: 20_000, 3: 30_000, 4: 50_000, 5: 100_000}


@dataclass(frozen=True)
class Plan:
    """Backend of a search, the reason for it, and the memory. It prints as one line per fact."""

    backend: str
    reason: str
    n_references: int
    n_features: int
    dtype: str
    p: int
    weights: str
    missing: bool
    n_groups: int
    n_parts: int
    part_bytes: int
    single: bool = False  # whether the scan proposes in float32
    rounded: bool = False  # whether rows rounded to 16 bits propose
    sparse_rows: bool = False  # whether sums over common features of sparse rows propose
    wide: bool = False  # whether pairs of rows rounded to 16 bits propose in a leave-one-out search

    def _repr_html_(self) -> str:
        return lines_block(str(self))

    def __str__(self) -> str:
        metric = {1: "city-block", 2: "Euclidean"}[self.p]
        groups = f", the nearest of each of {self.n_groups} groups" if self.n_groups > 1 else ""
        return "\n".join(
            [
                f"{self.backend}: {self.reason}",
                f"  references  {self.n_references} x {self.n_features}, {self.dtype}"
                + (", with missing values" if self.missing else ""),
                f"  distance    {metric}, {self.weights}{groups}",
                f"  memory      {self.n_parts} packed part(s) of at most {self.part_bytes / 2**20:.3g} MiB",
            ]
        )


def _describe_weights(references: References) -> str:
    """Return a text for the plan about how feature weights enter the distance."""
    text = "no feature weights"
    if references.feature_weights is not None:
        text = "feature weights folded into the data, candidates measured again"
    elif references.cells is not None:
        text = "a weight per instance and feature"
    return text + (", scaled per instance" if references.scales is not None else "")


def _obstacle(references: References) -> str | None:
    """Return why the backends "tree", "faiss" and "hnsw" cannot serve these references, or None if they can."""
    if references.sparse:
        return "the data are sparse"
    if references.n_numeric < references.m:
        return "there are nominal features"
    if references.missing:
        return "there are missing values"
    if references.n_groups > 1:
        return "the nearest of each group are wanted"
    return None


def _byte_obstacle(references: References) -> str | None:
    """Return why the backend "bytes" cannot serve these references, or None if it can."""
    if references.p != 1:
        return "the distance is not city-block"
    if references.sparse or references.n_numeric < references.m or references.missing:
        return "bytes need dense numbers without missing values"
    if references.feature_weights is not None or references.cells is not None or references.scales is not None:
        return "there are weights"
    if references.m * 255 >= 2**24:
        return "there are more than 65 000 features"
    return None


def _proposes_single(references: References) -> bool:
    """Return whether a scan in float32, which takes half the time, may propose neighbours among float64 rows."""
    plain = references.dtype == np.float64 and not references.sparse and references.n_groups == 1
    return plain and references.cells is None and references.scales is None and references.n >= _SINGLE_ROWS


def _compares_sparse_rows(references: References) -> bool:
    """Return whether sums over common features of sparse rows take less time than a scan of dense rows."""
    numbers = references.sparse and references.n_numeric == references.m and not references.missing
    if not numbers or references.cells is not None or references.scales is not None:
        return False
    # For a query like the references, each of its features adds as many terms as it has entries.
    entries = np.bincount(references.rows.indices, minlength=references.m).astype(np.float64)
    return float(np.square(entries).sum()) * _SPARSE_COST < float(references.n) ** 2 * references.m


def _proposes_pairs(references: References) -> bool:
    """Return whether pairs of rows rounded to 16 bits may propose neighbours in a leave-one-out search."""
    least, most = _PAIR_ROWS[str(references.dtype)], _MOST_PAIR_FEATURES[str(references.dtype)]
    fits = references.n >= least and _PAIR_FEATURES <= references.m <= most and _native.multiplies_pairs()
    numbers = _obstacle(references) is None and references.p == 2 and references.feature_weights is None
    return fits and numbers and references.cells is None and references.scales is None


def _proposes_rounded(references: References) -> bool:
    """Return whether rows rounded to 16 bits, which take less than half the time, may propose neighbours."""
    least = next(rows for features, rows in reversed(_ROUNDED_ROWS.items()) if references.m >= features)
    fits = least is not None and references.n >= least and _native.multiplies_pairs()
    numbers = _obstacle(references) is None and references.p == 2
    return fits and numbers and references.cells is None and references.scales is None


def _choose(references: References, backend: str) -> tuple[str, str]:
    """Return the backend to use, and the reason. ``backend`` is the name that the user gave, or "auto"."""
    obstacle = _obstacle(references)
    per_instance = references.cells is not None or references.scales is not None
    if backend == "auto":
        rows = _TREE_ROWS.get(references.m)
        # Weights per instance do not fold into the data, and then no tree can be built over it.
        if obstacle is None and not per_instance and rows is not None and references.n >= rows:
            return (
                "tree",
                f"{references.m} features and at least {rows} rows: a k-d tree on folded data is faster",
            )
        few = references.m < _BYTE_FEATURES or references.n < _BYTE_ROWS * references.n_groups
        # The byte kernel has a vector instruction from AVX2 on. Its portable loop is slower than the scan.
        few = few or _native.cpu_level() == "baseline"
        fits = references.n * references.m <= _MOST_BYTES
        if not few and fits and _byte_obstacle(references) is None:
            return "bytes", "city-block: sums over rows rounded to bytes propose, exact distances decide"
        if _proposes_rounded(references):
            return "scan", "the compiled scan; rows rounded to 16 bits propose, exact distances decide"
        if _compares_sparse_rows(references):
            return "scan", "the compiled scan; sums over common features of sparse rows propose, exact distances decide"
        if _proposes_pairs(references):
            return (
                "scan",
                "the compiled scan; for leave-one-out pairs rounded to 16 bits propose, exact distances decide",
            )
        if _proposes_single(references):
            return "scan", "the compiled scan; sums in float32 propose, exact distances decide"
        return "scan", "the compiled scan serves every kind of distance"
    if backend == "bytes":
        obstacle = _byte_obstacle(references)
    if backend == "scan":
        return "scan", "asked for"
    if backend == "tree" and per_instance:
        obstacle = "weights per instance do not fold into the data"
    if backend in ("faiss", "hnsw") and references.p != 2:
        obstacle = "the distance is not Euclidean"
    if obstacle is not None:
        raise BackendError(f"backend='{backend}' cannot serve this search: {obstacle}. Use backend='auto' or 'scan'")
    reasons = {
        "bytes": "asked for; sums over rows rounded to bytes propose, exact distances decide",
        "tree": "asked for; a k-d tree proposes, exact distances decide",
        "faiss": "asked for; FAISS Flat proposes, exact distances decide",
        "hnsw": "asked for; an approximate graph proposes, neighbours may be missed",
    }
    return backend, reasons[backend]


def lanes_of(dtype: np.dtype[Any]) -> int:
    """Return the number of references per packed block."""
    return _native.BLOCK_LANES_FLOAT32 if dtype == np.float32 else _native.BLOCK_LANES_FLOAT64


def n_blocks(references: References) -> int:
    """Return the number of packed blocks of all groups. The last block of a group may have padding."""
    counts = [references.n] if references.groups is None else np.bincount(references.groups)
    return int(sum(-(-int(count) // lanes_of(references.dtype)) for count in counts))


def block_bytes(references: References) -> int:
    """Return the bytes of one packed block, with its weights and with the dense copy of sparse rows."""
    # Weights per instance are packed like the rows; sparse rows are made dense before they are packed.
    copies = 1 + (references.cells is not None) + references.sparse
    return lanes_of(references.dtype) * references.m * references.dtype.itemsize * copies


def part_bytes_of(references: References) -> int:
    """Return the memory budget for packed references.

    It is 32 MiB, or the size of eight blocks if that is more, but never more than 128 MiB.
    """
    return max(PART_BYTES, min(8 * block_bytes(references), 4 * PART_BYTES))


def queries_at_once(references: References, part_bytes: int | None = None) -> int:
    """Return the number of queries in a batch: as many as fit in ``part_bytes``, but at least 6.

    Sparse references get four times the memory. If ``part_bytes`` is None, a batch has at least 192 queries, as long
    as these fit in 256 MiB.
    """
    row_bytes = max(1, references.m * references.dtype.itemsize)
    # Sparse references are packed anew for every batch, so that fewer and larger batches pay.
    budget = (part_bytes_of(references) if part_bytes is None else part_bytes) * (4 if references.sparse else 1)
    wide = min(_QUERIES, _QUERY_BYTES // row_bytes) if part_bytes is None else 0
    return max(6, budget // row_bytes, wide)


def blocks_per_part(references: References, part_bytes: int) -> int:
    """Return how many blocks fit in ``part_bytes``, at least one."""
    return max(1, part_bytes // block_bytes(references))


def make_plan(references: References, *, backend: str = "auto", part_bytes: int | None = None) -> Plan:
    """Choose a backend for these references.

    Parameters
    ----------
    references : References
    backend : {"auto", "scan", "bytes", "tree", "faiss", "hnsw"}, default="auto"
    part_bytes : int, optional
        Memory for packed references. By default as `part_bytes_of` says.

    Returns
    -------
    Plan

    Raises
    ------
    BackendError
        If the name is unknown, or if the backend cannot serve this kind of data or distance.

    Examples
    --------
    >>> from weighbors.engine import build_references
    >>> make_plan(build_references(np.zeros((2, 3)))).backend
    'scan'
    """
    if backend not in BACKENDS:
        raise BackendError(f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}")
    chosen, reason = _choose(references, backend)
    blocks = n_blocks(references)
    per_part = blocks_per_part(references, part_bytes_of(references) if part_bytes is None else part_bytes)
    return Plan(
        backend=chosen,
        reason=reason,
        n_references=references.n,
        n_features=references.m,
        dtype=str(references.dtype),
        p=references.p,
        weights=_describe_weights(references),
        missing=references.missing,
        n_groups=references.n_groups,
        n_parts=-(-blocks // per_part),
        part_bytes=min(blocks, per_part) * block_bytes(references),
        single=chosen == "scan" and backend == "auto" and _proposes_single(references),
        rounded=chosen == "scan" and backend == "auto" and _proposes_rounded(references),
        wide=chosen == "scan" and backend == "auto" and _proposes_pairs(references),
        sparse_rows=chosen == "scan" and backend == "auto" and _compares_sparse_rows(references),
    )
