"""Choose the backend of a search from the sizes and kinds of data and weights. Nothing else decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._display.html import lines_block
from ..exceptions import BackendError
from .backends.backend import Backend
from .backends.bytes import Bytes
from .backends.hnsw import HNSW
from .backends.pairs import RoundedPairs
from .backends.rounded import Rounded
from .backends.scan import Scan
from .backends.single import Single
from .backends.sparse_rows import SparseRows
from .backends.tree import Tree
from .references import References

#: The exact backends, the fastest first. `Scan` serves everything.
ORDER: tuple[type[Backend], ...] = (Tree, Bytes, Rounded, SparseRows, RoundedPairs, Single, Scan)
# What a user may ask for. HNSW is approximate, so that it is never chosen.
_EVERY: tuple[type[Backend], ...] = (*reversed(ORDER), HNSW)
_KINDS = {kind.name: kind for kind in _EVERY}
BACKENDS = ("auto", *_KINDS)


@dataclass(frozen=True)
class Plan:
    """Backend of a search, the reason for it, and the memory. It prints as one line per fact."""

    kinds: tuple[str, ...]  # names of what is built: the backend, and those to which it leaves other queries
    tried: tuple[tuple[str, str], ...]  # names of the faster backends, and what speaks against each
    reason: str
    facts: tuple[str, ...]  # about references, distance and memory, one per line

    @property
    def backend(self) -> str:
        """Name of the backend."""
        return self.kinds[0]

    def build(self, references: References, part_bytes: int | None) -> Backend:
        """Build the backend of this plan over its references."""
        backend: Backend = Scan(references, part_bytes=part_bytes)
        for name in reversed(self.kinds[:-1]):
            backend = _KINDS[name](references, backend)
        return backend

    def _repr_html_(self) -> str:
        return lines_block(str(self))

    def __str__(self) -> str:
        return "\n".join([f"{self.backend}: {self.reason}", *(f"  {fact}" for fact in self.facts)])


def make_plan(references: References, *, backend: str = "auto", part_bytes: int | None = None) -> Plan:
    """Choose a backend for these references.

    Parameters
    ----------
    references : References
    backend : {"auto", "scan", "single", "pairs", "sparse", "rounded", "bytes", "tree", "hnsw"}, default="auto"
    part_bytes : int, optional
        Memory for packed references. By default ``references.part_bytes``.

    Returns
    -------
    Plan

    Raises
    ------
    BackendError
        If the name is unknown, or if the backend cannot serve this kind of data or distance.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbors.engine import build_references
    >>> make_plan(build_references(np.zeros((2, 3)))).backend
    'scan'
    """
    if backend not in BACKENDS:
        raise BackendError(f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}")
    asked = backend != "auto"
    kinds: list[str] = []
    tried: list[tuple[str, str]] = []
    for kind in ORDER if not asked else dict.fromkeys((_KINDS[backend], _KINDS["scan"])):
        obstacle = kind.obstacle(references, asked=asked)
        if obstacle is None:
            kinds.append(kind.name)
        elif asked:
            raise BackendError(
                f"backend='{backend}' cannot serve this search: {obstacle}. Use backend='auto' or 'scan'"
            )
        elif not kinds:
            tried.append((kind.name, obstacle))
    return Plan(
        kinds=tuple(kinds),
        tried=tuple(tried),
        reason=("asked for; " if asked else "") + _KINDS[kinds[0]].description,
        facts=_describe(references, part_bytes),
    )


def _describe(references: References, part_bytes: int | None) -> tuple[str, ...]:
    """Return what a plan says about references, distance and memory."""
    r = references
    # The last block of a group may have padding.
    blocks = int(np.sum(-(-np.bincount(r.groups) // r.lanes)))
    per_part = max(1, (r.part_bytes if part_bytes is None else part_bytes) // r.block_bytes)
    weights = "no feature weights"
    if r.feature_weights is not None:
        weights = "feature weights folded into the data, candidates measured again"
    elif r.cells is not None:
        weights = "a weight per instance and feature"
    scaled = ", scaled per instance" if r.scales is not None else ""
    groups = f", the nearest of each of {r.n_groups} groups" if r.n_groups > 1 else ""
    part_size = min(blocks, per_part) * r.block_bytes / 2**20
    return (
        f"references  {r.n} x {r.m}, {r.dtype}" + (", with missing values" if r.missing else ""),
        f"distance    {'Euclidean' if r.p == 2 else 'city-block'}, {weights}{scaled}{groups}",
        f"memory      {-(-blocks // per_part)} packed part(s) of at most {part_size:.3g} MiB",
    )
