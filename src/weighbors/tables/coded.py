"""A table that is read once: its coded rows, columns and target, which estimators of this library hand on to others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from .._typing import AnyArray, FloatArray, IndexArray
from .frames import as_pandas
from .labels import require_labels
from .targets import Target, accepted_target, adopt_target, check_target
from .validation import TableCoder, check_sample_weight, is_lazy, refuse_lazy

Fit = TypeVar("Fit", bound=Callable[..., Any])
_OWN = "own"  # the target type that the estimator itself says
_NO_TARGET = Target(np.zeros(0, dtype=np.int64), np.zeros(0))  # that of queries


@dataclass(frozen=True)
class CodedTable:
    """A table that has been checked, with categories and labels coded.

    `read_training` makes it of what a user gives. ``fit`` of the estimators of this library takes it in place of X, and
    methods that take queries do, too: then nothing is checked or coded a second time.
    """

    rows: Any  # (n, M) array or CSR; categories are codes, missing values NaN
    coder: TableCoder  # which columns are categories, and which category each code stands for
    target: Target = _NO_TARGET
    given_weight: FloatArray | None = None  # (n,) sample weights as they were given
    drawn: IndexArray | None = None  # the rows that contribute, in ascending order; None: all of them
    feature_names: AnyArray | None = None  # (M,) names of the columns as scikit-learn knows them; None: there are none
    given: Any = None  # the rows as the user gave them, for estimators of others; None: they are made of the coded rows

    nominal = property(attrgetter("coder.nominal"), doc="Which columns hold categories.")
    codes = property(attrgetter("target.codes"), doc="Position of each row's class in ``classes``; 0 for numbers.")
    classes = property(attrgetter("target.classes"), doc="The classes; empty for a numeric target.")
    numbers = property(attrgetter("target.numbers"), doc="The numeric target, or None for classes.")

    @cached_property
    def sample_weight(self) -> FloatArray:
        """How much each row contributes: 1 if no weights were given."""
        return np.ones(self.rows.shape[0]) if self.given_weight is None else self.given_weight

    @property
    def n_groups(self) -> int:
        """Number of groups of rows that ``codes`` tells apart: the classes, or 1 for a numeric target."""
        return max(1, len(self.classes))

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and of columns."""
        shape: tuple[int, ...] = self.rows.shape
        return shape

    def __len__(self) -> int:
        return self.shape[0]

    def without_classes(self) -> CodedTable:
        """Return the table with all rows in one group, for methods whose neighbours may be of any class."""
        return replace(self, target=replace(self.target, codes=np.zeros_like(self.codes), classes=self.classes[:0]))

    def take(self, rows: IndexArray) -> CodedTable:
        """Return the table of some rows, in this order. Codes stay as they are."""
        return replace(
            self,
            rows=self.rows[rows],
            target=self.target.take(rows) if len(self.target.codes) else self.target,
            given_weight=None if self.given_weight is None else self.given_weight[rows],
            given=None if self.given is None else _safe_indexing(self.given, rows),
        )

    def recoded(self) -> CodedTable:
        """Return the table without the categories that no row has, coded as if its rows alone had been given.

        A table that another estimator has coded stays as it is, since that estimator also codes the queries.
        """
        if not self.nominal.any() or self.given is None:
            return self
        import pandas as pd

        coder, rows = replace(self.coder, categories=dict(self.coder.categories)), self.rows.copy()
        for j in np.flatnonzero(self.nominal).tolist():
            codes, found = pd.factorize(self.rows[:, j])  # in the order of their first rows; missing cells get −1
            rows[:, j] = np.where(codes < 0, np.nan, codes)
            coder.categories[j] = self.coder.categories[j][found.astype(np.int64)]
        return replace(self, rows=rows, coder=coder)

    def for_model(self, model: Any) -> Any:
        """Return the table as methods of a model take it: as it is, or as the user gave it."""
        return self if takes_coded(model, self) else self.as_given()

    def as_given(self) -> Any:
        """Return the table for an estimator of others: as the user gave it, or with texts in place of codes."""
        return self.coder.table_of(self.rows, self.feature_names) if self.given is None else self.given


def takes_coded_tables(fit: Fit) -> Fit:
    """Mark a ``fit`` that reads its table with `read_training`: it may be given a `CodedTable` (see `fit_model`).

    The mark is on the method and not on the class, since a subclass may define a ``fit`` that reads X itself.
    """
    fit.__dict__["_takes_coded_tables"] = True
    return fit


def read_training(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    target_type: str | None = _OWN,
    coder: TableCoder | None = None,
) -> CodedTable:
    """Check and code a training table and its target. A `CodedTable` and a `Target` are taken as they are.

    This is where the ``fit`` of all estimators of this library begins. It sets ``n_features_in_`` and, if there are
    names, ``feature_names_in_``.

    Parameters
    ----------
    estimator : estimator
        Its parameters ``categorical_features`` and ``handle_unknown`` say how columns are coded.
    X, y, sample_weight
        As the user gave them.
    target_type : {"auto", "classes", "numeric", "outputs"} or None
        As in `check_target`. By default, the estimator itself says it.
    coder : TableCoder, optional
        A new coder, if the estimator has no parameter ``categorical_features``.
    """
    wanted = accepted_target(estimator) if target_type == _OWN else target_type
    who = type(estimator).__name__
    if coder is None:
        handle_unknown = getattr(estimator, "handle_unknown", "different")
        coder = TableCoder(getattr(estimator, "categorical_features", "from_dtype"), handle_unknown)
    if y is None:
        require_labels(estimator, y)
    if isinstance(X, CodedTable):
        refuse_lazy(estimator, X.rows)
        _set_input(estimator, X)
        table = replace(X, coder=replace(X.coder, handle_unknown=coder.handle_unknown))
    else:
        X = X if type(X) is np.ndarray else as_pandas(X)
        rows = coder.fit_transform(estimator, X)
        if not hasattr(X, "shape"):  # text beside numbers in lists stays text only in an array of objects
            X = np.asarray(X, dtype=object if coder.nominal.any() else None)
        given = None if sparse.issparse(rows) else X
        table = CodedTable(rows, coder, feature_names=getattr(estimator, "feature_names_in_", None), given=given)
    target = adopt_target(y, wanted, who=who) if isinstance(y, Target) else check_target(y, wanted, who=who)
    check_consistent_length(table.rows, target.codes)
    table = replace(table, target=target)
    return replace(table, given_weight=check_sample_weight(sample_weight, table.rows))


def read_queries(estimator: Any, coder: TableCoder, X: Any) -> Any:
    """Return the coded rows of queries. Those of a `CodedTable` are taken as they are.

    ``coder`` is the coder of the training table of ``estimator``.
    """
    return X.rows if isinstance(X, CodedTable) else coder.transform(estimator, X)


def fit_model(model: Any, table: CodedTable, **params: Any) -> Any:
    """Fit an estimator to a table that has been read, and return it.

    Estimators of this library take the table as it is. All others, and those that name other columns of categories,
    get the table as the user gave it. ``params`` are further arguments of ``fit``. Rows in blocks are taken by the
    estimators that read tables in blocks; all others raise an error.
    """
    refuse_lazy(model, table.rows)
    y = table.target if takes_coded(model, table) else table.target.decoded
    return model.fit(table.for_model(model), y, **params)


def takes_coded(model: Any, table: CodedTable) -> bool:
    """Return whether the methods of a model take a table that has been read. Rows in blocks have no other form."""
    if is_lazy(table.rows):
        return True
    if not getattr(getattr(type(model), "fit", None), "_takes_coded_tables", False):
        return False
    wanted = getattr(model, "categorical_features", "from_dtype")
    if isinstance(wanted, str):
        return True
    named = replace(table.coder, categorical_features=wanted).requested(table.shape[1])
    return np.array_equal(named, table.nominal)


def _set_input(estimator: Any, table: CodedTable) -> None:
    """Set the attributes of an estimator that describe the columns of its training table."""
    estimator.n_features_in_ = table.shape[1]
    if table.feature_names is not None:
        estimator.feature_names_in_ = table.feature_names
    else:
        estimator.__dict__.pop("feature_names_in_", None)  # of an earlier fit
