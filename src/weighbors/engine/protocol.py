"""Interface of a search engine, with rows in memory (`NeighborEngine`) or in blocks (`BlockEngine`)."""

from __future__ import annotations

from typing import Any, Protocol

from .._typing import FloatArray, IndexArray
from .references import References


class SearchEngine(Protocol):
    """Interface of an engine that finds the nearest stored rows under some `Weights`."""

    @property
    def plan(self) -> Any:
        """Backend of a search and the reason for it. It can be printed."""

    @property
    def n_references(self) -> int:
        """Number of rows that can be neighbours."""

    @property
    def stored_rows(self) -> IndexArray:
        """Row numbers of the rows that can be neighbours, ascending."""

    def search(
        self,
        queries: Any,
        k: int,
        *,
        own_row: IndexArray | None = None,
        n_jobs: int | None = None,
        grouped: bool = False,
    ) -> tuple[FloatArray, IndexArray]:
        """Return distances and row numbers of the k nearest rows of each query, arrays of shape (n_queries, k).

        With ``grouped`` they are the k nearest of each group, arrays of shape (n_queries, n_groups, k).
        """

    def references_of(self, rows: IndexArray) -> References:
        """Return references that include at least the rows ``rows``."""

    def query_limit(self, k: int) -> int | None:
        """Return the number of queries that a caller should pass at once for ``k`` neighbours, or None if any."""

    def reference_limit(self) -> int | None:
        """Return the number of rows that a caller should ask `references_of` for at once, or None if any."""
