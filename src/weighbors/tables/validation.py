"""Input validation: tables are checked here and converted to rows of floats.

The input is an array, a sparse matrix or a DataFrame (pandas or polars). In the output numbers are unchanged,
categories are codes, and missing cells are NaN.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._names import require_text
from .._parallel.cluster import is_dask
from .._typing import AnyArray, BoolArray, FloatArray
from ..exceptions import InvalidDataError, UnknownCategoryError
from .columns import column_kind, refuse_column
from .frames import as_pandas, is_frame
from .integers import refuse_rounded_integers
from .unscaled import warn_unscaled

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class TableCoder:
    """Column coding: which columns are categories, and the code of each category. Both are learned in fit.

    Parameters
    ----------
    categorical_features : "from_dtype", None, or sequence of bool, int or str, default="from_dtype"
        The columns that are categories. "from_dtype" means the columns of a DataFrame that hold text or categories.
        Their dtype may be category or string (pandas), string or dictionary (Arrow), String, Categorical or Enum
        (polars), or object, unless an object column holds only numbers.
    handle_unknown : {"different", "error"}
        How a category that was not seen in fit is treated. "different": it differs from every known category.
        "error": it raises UnknownCategoryError.
    """

    categorical_features: Any = "from_dtype"
    handle_unknown: str = "different"
    nominal: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    categories: dict[int, AnyArray] = field(default_factory=dict)  # arrays of objects, by column
    names: list[str] = field(default_factory=list)

    def fit_transform(self, estimator: Any, X: Any) -> Any:
        """Learn the columns and categories of ``X``, and return its coded rows."""
        self.categories = {}
        wanted = self.categorical_features
        plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float64, np.float32)
        if plain and (wanted is None or (isinstance(wanted, str) and wanted == "from_dtype")):
            # An array of floats needs no conversion, and has no names, categories or rounded integers.
            self.names, self.nominal = [], np.zeros(X.shape[1], dtype=bool)
            rows = _check_float_table(estimator, X, reset=True)
            if np.isinf(rows).any():
                raise _infinity_error(rows, self.names)
        else:
            rows = self._learn(estimator, X)
        if getattr(estimator, "_needs_scaled_columns", False):
            warn_unscaled(estimator, rows, self.nominal, self.names)
        return rows

    def _learn(self, estimator: Any, X: Any) -> Any:
        """Learn the columns and categories of any table, and return its coded rows."""
        refuse_lazy(estimator, X)
        X = as_pandas(X)
        # A list of lists with text would become an array of text, in which numbers cannot be told from categories.
        if not hasattr(X, "shape") and self.categorical_features not in ("from_dtype", None):
            X = np.asarray(X, dtype=object)
        self.names = [str(name) for name in X.columns] if is_frame(X) else []
        require_text(self.names, "column")
        self.nominal = self._nominal_in(X)
        if self.nominal.any() and sparse.issparse(X):
            raise InvalidDataError("categorical_features need a dense table; got a sparse matrix. Use X.toarray()")
        return self._code(estimator, X, reset=True, learn=True)

    def transform(self, estimator: Any, X: Any) -> Any:
        """Return the coded rows of queries, with the columns and categories learned in fit."""
        return self._code(estimator, as_pandas(X), reset=False, learn=False)

    def extend(self, estimator: Any, X: Any) -> Any:
        """Return the coded rows of further training data. New categories get the next free codes."""
        return self._code(estimator, as_pandas(X), reset=False, learn=True)

    def table_of(self, X: Any, columns: Any = None) -> Any:
        """Return coded rows with their categories in place of codes, as a DataFrame if ``columns`` gives the names."""
        if sparse.issparse(X) or (columns is None and not self.nominal.any()):
            return X
        import pandas as pd

        frame = pd.DataFrame(X, columns=columns)
        for j in np.flatnonzero(self.nominal).tolist():
            # A missing value takes the last label, which is None.
            labels = np.append(self.categories[j], [None])
            code = np.where(np.isnan(X[:, j]), len(labels) - 1, X[:, j]).astype(np.int64)
            frame.isetitem(j, labels[code])
        return frame if columns is not None else frame.to_numpy(dtype=object)

    def check_same(self, categorical_features: Any, who: str, X: Any) -> None:
        """Raise InvalidDataError if ``categorical_features`` means other columns than the columns learned here.

        ``who`` is the estimator that has the parameter, as the message names it. ``X`` is the coded table.
        """
        other = TableCoder(categorical_features, names=self.names).requested(X.shape[1])
        if np.array_equal(other, self.nominal):
            return
        here, there = ([self._name(j) for j in np.flatnonzero(mask).tolist()] for mask in (self.nominal, other))
        raise InvalidDataError(
            f"{who} has categorical_features={categorical_features!r}, the columns [{', '.join(there)}], and the "
            f"model those in [{', '.join(here)}]: weights learned under one distance mean nothing under another. "
            f"Give both the same, or leave those of {who} at 'from_dtype': it then takes the model's"
        )

    def _nominal_in(self, X: Any) -> BoolArray:
        """Return a mask of the columns that are categories, by their dtypes or by ``categorical_features``."""
        wanted = self.categorical_features
        if is_frame(X) and isinstance(wanted, str) and wanted == "from_dtype":
            return np.array([kind == "category" for kind in _check_kinds(X)], dtype=bool)
        return self.requested(X.shape[1] if getattr(X, "ndim", 0) == 2 else None)

    def requested(self, width: int | None) -> BoolArray:
        """Return a mask of the columns that ``categorical_features`` names, out of ``width`` columns."""
        wanted = self.categorical_features
        if wanted is None or (isinstance(wanted, str) and wanted == "from_dtype"):
            return np.zeros(width or 0, dtype=bool)
        if isinstance(wanted, str) or not isinstance(wanted, (Sequence, np.ndarray)):
            raise InvalidDataError(
                "categorical_features must be 'from_dtype', None, or a list of column names, numbers or bools; "
                f"got {wanted!r}"
            )
        width = 0 if width is None else width
        wanted = np.asarray(wanted)
        if wanted.size == 0:
            return np.zeros(width, dtype=bool)
        if wanted.dtype == bool:
            if wanted.shape != (width,):
                raise InvalidDataError(
                    f"categorical_features as a mask needs one entry per column ({width}); got shape {wanted.shape}"
                )
            return wanted.copy()
        mask = np.zeros(width, dtype=bool)
        mask[self._positions(wanted, width)] = True
        return mask

    def _positions(self, wanted: AnyArray, width: int) -> list[int]:
        """Return the positions of the columns ``wanted`` (numbers or names) in a table of ``width`` columns."""
        if wanted.dtype.kind in "iu":
            outside = [int(j) for j in wanted if not -width <= j < width]
            if outside:
                raise InvalidDataError(
                    f"categorical_features names columns {outside}, but the data have {width} columns"
                )
            return [int(j) for j in wanted]
        unknown = [str(name) for name in wanted if str(name) not in self.names]
        if unknown:
            known = ", ".join(self.names[:20]) or "none: X has no column names"
            raise InvalidDataError(f"categorical_features names columns that X lacks: {unknown}. Columns: {known}")
        return [self.names.index(str(name)) for name in wanted]

    def _code(self, estimator: Any, X: Any, *, reset: bool, learn: bool) -> Any:
        """Check a table and return its coded rows.

        ``reset`` is True in fit: the columns are learned, not compared. ``learn`` is True if new categories get codes.
        """
        kinds = _check_kinds(X) if is_frame(X) else []
        if not is_frame(X) and getattr(getattr(X, "dtype", None), "kind", "O") in "mM":
            refuse_column("0", "date", X.dtype)  # NumPy would turn dates into numbers without a warning.
        # scikit-learn converts tables of plain numbers. It cannot say which column holds something else, so all other
        # tables are coded column by column.
        if self.nominal.any() or "category" in kinds or (kinds and _has_arrow(X)):
            out: Any = self._code_columns(estimator, X, reset=reset, learn=learn)
        else:
            out = _check_float_table(estimator, X, reset=reset)
        if not len(self.nominal):  # lists of lists have no width before they are converted
            self.nominal = np.zeros(out.shape[1], dtype=bool)
        if np.isinf(out.data if sparse.issparse(out) else out).any():
            raise _infinity_error(out, self.names)
        if getattr(getattr(X, "dtype", None), "kind", "O") != "f":
            refuse_rounded_integers(X, out, self.nominal, self.names)
        return out

    def _code_columns(self, estimator: Any, X: Any, *, reset: bool, learn: bool) -> FloatArray:
        """Return the coded rows of a table, coded column by column. ``reset`` and ``learn`` are as in `_code`."""
        import pandas as pd

        try:
            validate_data(estimator, X, skip_check_array=True, reset=reset)
            frame = X if is_frame(X) else pd.DataFrame(check_array(X, dtype=None, ensure_all_finite=False))
        except ValueError as error:
            raise InvalidDataError(str(error)) from error
        if not is_frame(X):
            _check_kinds(frame)
        if frame.shape[1] != len(self.nominal):
            raise InvalidDataError(f"X has {frame.shape[1]} columns; {len(self.nominal)} were there in fit")
        if frame.shape[0] == 0:
            raise InvalidDataError("Found array with 0 sample(s): at least one row is needed")
        # The table is float32 only if all its numbers are, as scikit-learn would convert it.
        single = all(frame.dtypes.iloc[j] == np.float32 for j in np.flatnonzero(~self.nominal))
        out = np.empty(frame.shape, dtype=np.float32 if single and (~self.nominal).any() else np.float64)
        for j in range(frame.shape[1]):
            column = frame.iloc[:, j]
            if self.nominal[j]:
                out[:, j] = self._codes(column, j, learn)
            else:
                out[:, j] = _numbers(column, self._name(j), fitted=not reset)
        return out

    def _name(self, j: int) -> str:
        """Return the name of column number ``j`` for messages: its quoted name, or its number if there are no names."""
        return f"'{self.names[j]}'" if self.names else str(j)

    def _codes(self, column: pd.Series, j: int, learn: bool) -> FloatArray:
        """Return the codes of a column of categories, with NaN for missing cells.

        ``j`` is the number of the column. If ``learn`` is True, new categories get codes.
        """
        import pandas as pd

        values = _objects(column, self._name(j))
        present = values.notna().to_numpy()
        if learn:
            found = np.asarray(pd.unique(values[present]), dtype=object)
            require_text(found, f"column {self._name(j)}: the category")
            self.categories[j] = joined_categories(self.categories.get(j), found)
        # A category that was not seen in fit gets -1, which is no known code.
        known = pd.Index(self.categories[j], dtype=object)
        codes = known.get_indexer(pd.Index(values, dtype=object)).astype(np.float64)
        self._unknown(np.asarray(values)[present & (codes < 0)], j)
        return np.where(present, codes, np.nan)

    def _unknown(self, values: AnyArray, j: int) -> None:
        """Raise UnknownCategoryError if ``handle_unknown`` is "error" and ``values`` is not empty.

        ``values`` holds the cells of column number ``j`` whose category was not seen in fit.
        """
        if len(values) and self.handle_unknown == "error":
            found = ", ".join(sorted({repr(value) for value in values.tolist()})[:5])
            known = ", ".join(repr(value) for value in self.categories[j][:10].tolist())
            raise UnknownCategoryError(
                f"column {self._name(j)} has categories that were not there in fit: {found} (known: {known}). "
                "Use handle_unknown='different' to treat them as unlike every known one"
            )


class TakesTables:
    """Mixin with the scikit-learn tags of estimators that need labels and code their tables with a `TableCoder`."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags


def is_lazy(rows: Any) -> bool:
    """Return whether coded rows are in blocks, which are read when they are needed."""
    return hasattr(rows, "shape") and not hasattr(rows, "__array__") and not sparse.issparse(rows)


def refuse_lazy(estimator: Any, X: Any) -> None:
    """Raise InvalidDataError if the rows of ``X`` are not in memory, unless ``estimator`` reads tables in blocks."""
    lazy = is_lazy(X)
    if getattr(estimator, "_takes_blocks", False) or not (lazy or is_dask(X) or isinstance(X, (str, os.PathLike))):
        return
    found, read = "a table in blocks", "as a table in memory"
    if is_dask(X):
        found, read = "a Dask collection", "X.compute()"
    elif not lazy:
        found, read = f"the path {os.fspath(X)!r}", "weighbors.datasets.read_table(X)"
    raise InvalidDataError(
        f"{type(estimator).__name__} needs all rows in memory, and X is {found}. Read the rows first, {read}, or use "
        "an estimator that reads tables in blocks: ReliefF and the other weighers of its family, MBIW, "
        "RepresentativeIntervals, Stratified, the weighted k-NN, or learned votes"
    )


class SelectsColumns(SelectorMixin):
    """Base class of the estimators whose ``transform`` returns some columns of a table: those of ``support_``."""

    support_: BoolArray

    def transform(self, X: Any) -> Any:
        """Return the selected columns of ``X``.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_features_kept)
        """
        return super().transform(_without_arrow(as_pandas(X)))

    def _get_support_mask(self) -> BoolArray:
        """Return which columns are selected, for scikit-learn's mixin."""
        check_is_fitted(self)
        return self.support_


def _without_arrow(X: Any) -> Any:
    """Return the table with NumPy columns in place of Arrow columns, because scikit-learn cannot read Arrow text."""
    if not is_frame(X) or not _has_arrow(X):
        return X
    import pandas as pd

    X = X.copy(deep=False)
    for j, dtype in enumerate(X.dtypes):
        if isinstance(dtype, pd.ArrowDtype):
            column, number = X.iloc[:, j], column_kind(X, j, dtype) == "number"
            # NumPy integers cannot be missing, so such a column becomes float.
            if number and column.isna().any():
                X.isetitem(j, column.to_numpy(dtype=np.float64, na_value=np.nan))
            else:
                X.isetitem(j, column.to_numpy() if number else column.astype(object))
    return X


def _numbers(column: pd.Series, name: str, *, fitted: bool) -> FloatArray:
    """Return the numbers of a column. Raise InvalidDataError if it holds something else.

    ``fitted`` is True after fit: the message then says that the column was numeric in fit.
    """
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        problem = "was numeric in fit and now holds something else" if fitted else "holds something that is no number"
        raise InvalidDataError(
            f"column {name} {problem} ({error}). Convert it, or name it in categorical_features"
        ) from error


def _objects(column: pd.Series, name: str) -> pd.Series:
    """Return the cells of a column as Python objects. Raise InvalidDataError if Arrow finds text that is no UTF-8."""
    try:
        return column.astype(object)
    except Exception as error:  # Arrow has its own error classes, and Arrow must not be imported for this
        raise InvalidDataError(
            f"column {name} holds text that cannot be read ({error}): is it UTF-8? Write it anew in UTF-8"
        ) from error


def _has_arrow(X: pd.DataFrame) -> bool:
    """Return whether a frame has a column of an Arrow type, whose missing values scikit-learn cannot convert."""
    import pandas as pd

    return any(isinstance(dtype, pd.ArrowDtype) for dtype in X.dtypes)


def _check_kinds(X: Any) -> list[str]:
    """Return the kind of each column of a frame, "number" or "category". Raise InvalidDataError for any other kind."""
    kinds = [column_kind(X, j, dtype) for j, dtype in enumerate(X.dtypes)]
    for name, kind, dtype in zip(X.columns, kinds, X.dtypes, strict=True):
        refuse_column(repr(name), kind, dtype)
    return kinds


def _check_float_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check a table of numbers and return its rows as floats, in a layout that the compiled core can read.

    No later step changes them in the caller's memory. Sparse rows whose indices are not sorted, or that have
    duplicates, are copied and put in order: SciPy would do that in place. Dense rows that do not begin at a multiple of
    their item size are copied. ``reset`` is True in fit: the columns are learned, not compared.
    """
    try:
        rows = validate_data(
            estimator,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
            reset=reset,
        )
    except ValueError as error:
        raise InvalidDataError(str(error)) from error
    if not sparse.issparse(rows):
        return np.require(rows, requirements=["C_CONTIGUOUS", "ALIGNED"])
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


class InfiniteCellError(InvalidDataError):
    """A coded table holds infinity. ``row`` is the number of its row, or -1 if the table is sparse."""

    row = -1

    def moved(self, first: int) -> InfiniteCellError:
        """Return the error for a table in which the rows of this one begin at row ``first``."""
        error = InfiniteCellError(str(self).replace(f"(row {self.row},", f"(row {self.row + first},", 1))
        error.row = self.row + first
        return error


def _infinity_error(X: Any, names: list[str]) -> InfiniteCellError:
    """Return the error for a coded table that holds infinity. ``names`` are the column names, or empty."""
    where, row = "", -1
    if not sparse.issparse(X):
        row, j = np.argwhere(np.isinf(X))[0].tolist()
        where = f" (row {row}, column {repr(names[j]) if names else j})"
    error = InfiniteCellError(
        f"Input X contains infinity or a value too large for {X.dtype}{where}: distances to it mean nothing. "
        "Replace it by a number, or by NaN for a missing value"
    )
    error.row = row
    return error


def check_sample_weight(sample_weight: Any, X: Any) -> FloatArray | None:
    """Return the sample weights of the rows of ``X`` as floats, or None. Raise an error if a weight is negative."""
    if sample_weight is None:
        return None
    weight: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return weight


def joined_categories(known: AnyArray | None, found: AnyArray) -> AnyArray:
    """Return the categories ``known`` so far, followed by the categories of ``found`` that are new.

    ``found`` holds distinct categories. If ``known`` is None, ``found`` is returned.
    """
    import pandas as pd

    if known is None:
        return found
    # Known categories keep their codes, and new ones follow in the order of their first appearance.
    new = pd.Index(known, dtype=object).get_indexer(pd.Index(found, dtype=object)) < 0
    return np.concatenate([known, found[new]])
