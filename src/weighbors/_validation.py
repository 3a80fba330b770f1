"""The public door: tables and labels are checked and coded here, once.

A table comes as array, sparse matrix or DataFrame. It leaves as float rows: numbers as they are,
categories as codes, missing cells as NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight, validate_data

from ._names import require_text
from ._typing import AnyArray, BoolArray, FloatArray, IndexArray
from .exceptions import InvalidDataError, UnknownCategoryError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "TableCoder",
    "TakesTables",
    "check_labels",
    "checked_sample_weight",
    "codes_of",
    "joined_categories",
    "require_labels",
]

_NUMBER_KINDS = {"integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty"}


def _is_frame(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")


@dataclass
class TableCoder:
    """Which columns are categories, and the code of each category, as learned in fit.

    Parameters
    ----------
    categorical_features : "from_dtype", None, or sequence of bool, int or str, default="from_dtype"
        "from_dtype": the columns of a DataFrame whose dtype is category, string or object (unless
        an object column holds only numbers).
    handle_unknown : {"different", "error"}
        What a category means that was not there in fit: different from every known one, or an error.
    """

    categorical_features: Any = "from_dtype"
    handle_unknown: str = "different"
    nominal: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    categories: dict[int, pd.Index] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def fit_transform(self, estimator: Any, X: Any) -> Any:
        """Learn the columns of ``X`` and code it."""
        self.categories = {}
        if not hasattr(X, "shape") and self.categorical_features not in ("from_dtype", None):
            X = np.asarray(X, dtype=object)
        self.names = [str(name) for name in X.columns] if _is_frame(X) else []
        require_text(self.names, "column")
        self.nominal = self._nominal_in(X)
        if self.nominal.any() and sparse.issparse(X):
            raise InvalidDataError("categorical_features need a dense table; got a sparse matrix. Use X.toarray()")
        return self._code(estimator, X, reset=True, learn=True)

    def transform(self, estimator: Any, X: Any) -> Any:
        """Code queries with the columns learned in fit."""
        return self._code(estimator, X, reset=False, learn=False)

    def extend(self, estimator: Any, X: Any) -> Any:
        """Code further training rows; new categories get the next codes, as if all rows had come at once."""
        return self._code(estimator, X, reset=False, learn=True)

    def table_of(self, X: Any, columns: Any = None) -> Any:
        """The table that coded rows came from, with ``columns`` as names: categories, not codes."""
        if sparse.issparse(X) or (columns is None and not self.nominal.any()):
            return X
        import pandas as pd

        frame = pd.DataFrame(X, columns=columns)
        for j in np.flatnonzero(self.nominal).tolist():
            labels = np.append(self.categories[j].to_numpy(dtype=object), [None])
            code = np.where(np.isnan(X[:, j]), len(labels) - 1, X[:, j]).astype(np.int64)
            frame.isetitem(j, labels[code])
        return frame if columns is not None else frame.to_numpy(dtype=object)

    def nominal_of(self, X: Any) -> BoolArray:
        """Mask of the nominal columns of a coded table."""
        return self.nominal if len(self.nominal) == X.shape[1] else np.zeros(X.shape[1], dtype=bool)

    def check_same(self, categorical_features: Any, who: str, X: Any) -> None:
        """Refuse columns named as categories that are other than those learned here; ``X`` is the coded table."""
        nominal = self.nominal_of(X)
        other = TableCoder(categorical_features, names=self.names)._requested(X.shape[1])
        if np.array_equal(other, nominal):
            return
        here, there = ([self._name(j) for j in np.flatnonzero(mask).tolist()] for mask in (nominal, other))
        raise InvalidDataError(
            f"{who} has categorical_features={categorical_features!r}, the columns [{', '.join(there)}], and the "
            f"classifier those in [{', '.join(here)}]: weights learned under one distance mean nothing under another. "
            f"Give both the same, or leave those of {who} at 'from_dtype': it then takes the classifier's"
        )

    def _nominal_in(self, X: Any) -> BoolArray:
        wanted = self.categorical_features
        if _is_frame(X) and isinstance(wanted, str) and wanted == "from_dtype":
            return np.array([_holds_categories(X, j, dtype) for j, dtype in enumerate(X.dtypes)], dtype=bool)
        return self._requested(X.shape[1] if getattr(X, "ndim", 0) == 2 else None)

    def _requested(self, width: int | None) -> BoolArray:
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
        _refuse_kinds(X)
        if not self.nominal.any():
            X = validate_data(
                estimator,
                X,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",
                ensure_all_finite=False,
                reset=reset,
            )
            _refuse_infinity(X, self.names)
            return X
        import pandas as pd

        validate_data(estimator, X, skip_check_array=True, reset=reset)
        frame = X if _is_frame(X) else pd.DataFrame(check_array(X, dtype=None, ensure_all_finite=False))
        if frame.shape[1] != len(self.nominal):
            raise InvalidDataError(f"X has {frame.shape[1]} columns; {len(self.nominal)} were there in fit")
        if frame.shape[0] == 0:
            raise InvalidDataError("Found array with 0 sample(s): at least one row is needed")
        single = all(frame.dtypes.iloc[j] == np.float32 for j in np.flatnonzero(~self.nominal))
        out = np.empty(frame.shape, dtype=np.float32 if single and (~self.nominal).any() else np.float64)
        for j in range(frame.shape[1]):
            column = frame.iloc[:, j]
            out[:, j] = self._codes(column, j, learn) if self.nominal[j] else _numbers(column, self._name(j))
        _refuse_infinity(out, self.names)
        return out

    def _name(self, j: int) -> str:
        return f"'{self.names[j]}'" if self.names else str(j)

    def _codes(self, column: pd.Series, j: int, learn: bool) -> FloatArray:
        import pandas as pd

        values = column.astype(object)
        present = values.notna().to_numpy()
        if learn:
            known, found = self.categories.get(j), pd.Index(pd.unique(values[present]), dtype=object)
            require_text(found, f"column {self._name(j)}: the category")
            self.categories[j] = joined_categories(known, found)
        # a category that was not there in fit gets -1, which equals no known one
        codes = self.categories[j].get_indexer(pd.Index(values, dtype=object)).astype(np.float64)
        self._unknown(np.asarray(values)[present & (codes < 0)], j)
        return np.where(present, codes, np.nan)

    def _unknown(self, values: AnyArray, j: int) -> None:
        if len(values) and self.handle_unknown == "error":
            found = ", ".join(sorted({repr(value) for value in values.tolist()})[:5])
            known = ", ".join(repr(value) for value in self.categories[j][:10].tolist())
            raise UnknownCategoryError(
                f"column {self._name(j)} has categories that were not there in fit: {found} (known: {known}). "
                "Use handle_unknown='different' to treat them as unlike every known one"
            )


class TakesTables:
    """Tags of the estimators that read their tables with a `TableCoder`, and need labels."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags


def _holds_categories(X: pd.DataFrame, j: int, dtype: Any) -> bool:
    import pandas as pd

    if isinstance(dtype, (pd.CategoricalDtype, pd.StringDtype)):
        return True
    if dtype != np.dtype(object):  # to take a column costs more than to look at its type
        return False
    return pd.api.types.infer_dtype(X.iloc[:, j], skipna=True) not in _NUMBER_KINDS


def _numbers(column: pd.Series, name: str) -> FloatArray:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(
            f"column {name} was numeric in fit and now holds something else ({error}). "
            "Convert it, or name it in categorical_features"
        ) from error


def _refuse_kinds(X: Any) -> None:
    """Dates and complex numbers have no place among features."""
    if not _is_frame(X):
        return
    for name, dtype in zip(X.columns, X.dtypes, strict=True):
        kind = getattr(dtype, "kind", "O")
        if kind in "mM":
            raise InvalidDataError(
                f"column {name!r} holds dates or durations ({dtype}), which have no distance as they are. "
                "Turn it into numbers (for example days since a date) or drop it"
            )
        if kind == "c":
            raise InvalidDataError(f"Complex data not supported: column {name!r} is {dtype}")


def _refuse_infinity(X: Any, names: list[str]) -> None:
    values = X.data if sparse.issparse(X) else X
    if values.size == 0 or not np.isinf(values).any():
        return
    where = ""
    if not sparse.issparse(X):
        row, j = np.argwhere(np.isinf(X))[0].tolist()
        where = f" (row {row}, column {repr(names[j]) if names else j})"
    raise InvalidDataError(
        f"Input X contains infinity or a value too large for {values.dtype}{where}: distances to it mean nothing. "
        "Replace it by a number, or by NaN for a missing value"
    )


def require_labels(estimator: Any, y: Any) -> None:
    """Refuse to be fitted without labels."""
    if y is None:
        raise InvalidDataError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: one label per row is needed"
        )


def checked_sample_weight(sample_weight: Any, X: Any) -> FloatArray | None:
    """One number >= 0 per row, or None."""
    if sample_weight is None:
        return None
    weight: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return weight


def joined_categories(known: pd.Index | None, found: pd.Index) -> pd.Index:
    """Categories known before, with the new ones among those found behind them."""
    return found if known is None else known.append(found[known.get_indexer(found) < 0])


def codes_of(labels: Any, classes: AnyArray) -> IndexArray:
    """Position of each label among the classes; -1 where it is none of them.

    Examples
    --------
    >>> codes_of(["b", "a", "c"], np.array(["a", "b"]))
    array([ 1,  0, -1])
    """
    import pandas as pd

    found: IndexArray = pd.Index(classes).get_indexer(pd.Index(np.asarray(labels))).astype(np.int64)
    return found


def check_labels(y: Any) -> tuple[AnyArray, AnyArray]:
    """Labels as a vector: ``classes`` and the code of every row.

    Raises
    ------
    InvalidDataError
        Where labels are missing or no valid text, or there is only one class.
    """
    import pandas as pd
    from sklearn.utils import column_or_1d
    from sklearn.utils.multiclass import check_classification_targets

    y = column_or_1d(y, warn=True)
    absent = np.flatnonzero(pd.isna(y))
    if len(absent):
        raise InvalidDataError(
            f"Input y contains NaN: {len(absent)} labels are missing (the first in row {absent[0]}). "
            "Drop these rows: a row without a label cannot vote"
        )
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    require_text(classes, "label")
    if len(classes) < 2:
        raise InvalidDataError(
            f"at least 2 classes are needed; got 1 class ({classes.tolist()[0]!r}) in {len(codes)} rows. "
            "Check the labels: nothing can be told apart"
        )
    return classes, codes
