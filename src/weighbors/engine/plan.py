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
    n_references: int
    n_features: int
    dtype: str
    p: int
    weights: str
    missing: bool
    n_groups: int
    n_parts: int
    part_bytes: int

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
    # The last block of a group may have padding.
    counts = np.bincount(references.groups)
    blocks = int(np.sum(-(-counts // references.lanes)))
    per_part = max(1, (references.part_bytes if part_bytes is None else part_bytes) // references.block_bytes)
    weights = "no feature weights"
    if references.feature_weights is not None:
        weights = "feature weights folded into the data, candidates measured again"
    elif references.cells is not None:
        weights = "a weight per instance and feature"
    return Plan(
        kinds=tuple(kinds),
        tried=tuple(tried),
        reason=("asked for; " if asked else "") + _KINDS[kinds[0]].description,
        n_references=references.n,
        n_features=references.m,
        dtype=str(references.dtype),
        p=references.p,
        weights=weights + (", scaled per instance" if references.scales is not None else ""),
        missing=references.missing,
        n_groups=references.n_groups,
        n_parts=-(-blocks // per_part),
        part_bytes=min(blocks, per_part) * references.block_bytes,
    )
