"""Training tables as weighers get them: for one fit, or for many fits to the same rows with different targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_consistent_length

from .._targets import accepted_target, check_target
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .neighborhoods import Instances
from .shared_rows import SharedInstances

if TYPE_CHECKING:
    from .base import FeatureWeigher

__all__ = ["CodedTable", "SharedTable"]


@dataclass(frozen=True)
class CodedTable:
    """A training table as weighers get it: checked once, with categories and labels coded.

    Only weighers that set ``_takes_numeric_targets`` get numeric targets. Then ``target`` holds the numbers,
    ``classes`` is empty, and all rows have code 0, so that `instances` sees one group of rows.
    """

    rows: Any  # (n, M) array or CSR; categories are codes, missing values NaN
    codes: IndexArray  # (n,) class of each row, as a position in `classes`
    classes: AnyArray  # (n_classes,)
    nominal: BoolArray  # (M,) columns that hold categories
    sample_weight: FloatArray  # (n,) how much each row contributes, 1 where nothing was given
    target: FloatArray | None = None  # (n,) the numeric target, finite and not constant; None for classes
    shared: Any = None  # what fits to the same rows and other targets share, from `FeatureWeigher._measure_once`

    @property
    def n_groups(self) -> int:
        """Number of groups of rows that ``codes`` tells apart: the classes, or 1 for a numeric target."""
        return max(1, len(self.classes))

    def take(self, rows: IndexArray) -> CodedTable:
        """Return the table of some rows, in this order."""
        target = None if self.target is None else self.target[rows]
        return replace(
            self,
            rows=self.rows[rows],
            codes=self.codes[rows],
            sample_weight=self.sample_weight[rows],
            target=target,
            shared=None,
        )

    def instances(self, *, scaled: bool, p: int, n_jobs: int | None, asked: IndexArray | None = None) -> Instances:
        """Return the rows with their near hits and misses.

        Parameters
        ----------
        scaled : bool
            Whether numbers are divided by the range of their column.
        p : {1, 2}
            Distance in which neighbours are sought.
        n_jobs : int or None
        asked : ndarray of int, optional
            The rows whose neighbours are wanted, in ascending order; by default all.
        """
        rows: Instances
        if isinstance(self.shared, SharedInstances) and (self.shared.scaled, self.shared.p) == (scaled, p):
            rows = self.shared.relabel(self.codes, self.n_groups, n_jobs=n_jobs, asked=asked)
        else:
            rows = Instances(
                self.rows, self.codes, self.n_groups, self.nominal, scaled=scaled, p=p, n_jobs=n_jobs, asked=asked
            )
        rows.target = self.target
        return rows


@dataclass(frozen=True)
class SharedTable:
    """A table that is checked, coded and measured once, for many fits of a weigher to different targets.

    Attributes
    ----------
    checked : FeatureWeigher
        A weigher that has checked the table, so that it knows names and categories of the columns.
    table : CodedTable
        The table with one of the targets.
    """

    checked: FeatureWeigher
    table: CodedTable

    @property
    def fits_at_once(self) -> int:
        """How many fits `fit_many` should get at once: more than one if that is faster."""
        return self.checked._fits_at_once(self.table)

    def fit_many(self, weighers: Sequence[FeatureWeigher], targets: Sequence[Any]) -> list[FloatArray]:
        """Return the ``feature_weights_`` that each weigher would learn from the rows and its target.

        They have the same bits as those of separate fits. All weighers are of the type of the weigher that has checked
        the table; their parameters may differ in ``random_state`` only. The weighers get attributes such as
        ``classes_``, but no ``feature_weights_``.
        """
        tables = [self._with_target(weigher, y) for weigher, y in zip(weighers, targets, strict=True)]
        return type(self.checked).fit_many(weighers, tables)

    def _with_target(self, weigher: FeatureWeigher, y: Any) -> CodedTable:
        """Return the table with another target. The weigher learns what it would learn by checking both."""
        target = check_target(y, accepted_target(weigher), who=type(weigher).__name__)
        check_consistent_length(self.table.rows, target.codes)
        # What the input validation has learned of the columns.
        weigher.__dict__ |= {
            name: value
            for name, value in vars(self.checked).items()
            if name in ("n_features_in_", "feature_names_in_", "_coder")
        }
        weigher._take_target(target)
        return replace(self.table, codes=target.codes, classes=target.classes, target=target.numbers)
