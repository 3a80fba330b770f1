"""Covariates: what is known of the rows beside their features, such as age, sex and batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import BoolArray, FloatArray, IndexArray
from .._warnings import warn
from ..exceptions import InvalidDataError, UnusedCovariateWarning
from .frames import as_pandas, as_vector, is_frame
from .validation import TableCoder

_DEPENDENT = 1e-8  # a column whose rest has less than this share of its norm follows from the columns before it


@dataclass(frozen=True)
class Covariates:
    """Checked covariates: none is missing, infinite or constant."""

    coded: FloatArray  # (n, n_covariates); categories are codes
    nominal: BoolArray  # (n_covariates,) columns that hold categories
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    def pair_differences(self, first: IndexArray, second: IndexArray) -> FloatArray:
        """Return the differences of pairs of rows, of shape (n_pairs, n_covariates).

        Numbers differ by |a − b| divided by the range of the covariate, categories by 0 or 1.
        """
        a, b = self.coded[first], self.coded[second]
        # Halves do not overflow, even if the range of a covariate does.
        span = np.ptp(self.coded / 2, axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.nominal, (a != b).astype(np.float64), np.abs(a / 2 - b / 2) / span)

    def strata(self) -> IndexArray:
        """Return a number for each row. Rows have the same number if all their covariates are equal."""
        return np.asarray(np.unique(self.coded, axis=0, return_inverse=True)[1]).reshape(-1)

    def design(self) -> FloatArray:
        """Return the columns of a regression on the covariates: standardised numbers, and 0 or 1 per category.

        The first category of a covariate has no column, and there is no column for the intercept.
        """
        columns: list[FloatArray] = []
        for column, nominal in zip(self.coded.T, self.nominal, strict=True):
            if nominal:
                columns.extend((column == kind).astype(np.float64) for kind in np.unique(column)[1:])
            else:
                scaled = column / np.abs(column).max()
                columns.append((scaled - scaled.mean()) / scaled.std())
        return np.column_stack(columns) if columns else np.zeros((len(self.coded), 0))


def check_covariates(covariates: Any, n: int) -> Covariates:
    """Check covariates and code their categories.

    Parameters
    ----------
    covariates : array-like, Series or DataFrame of shape (n_samples,) or (n_samples, n_covariates)
        Columns of text or of a categorical dtype are categories, all others are numbers.
    n : int
        The number of rows that the features have.

    Returns
    -------
    Covariates
        Without constant covariates, of which an `UnusedCovariateWarning` is given.

    Raises
    ------
    InvalidDataError
        If there is another number of rows, or a value is missing or infinite.

    Examples
    --------
    >>> import pandas as pd
    >>> found = check_covariates(pd.DataFrame({"age": [30, 50, 40], "sex": ["f", "m", "f"]}), 3)
    >>> found.pair_differences(np.array([0, 0]), np.array([1, 2]))
    array([[1. , 1. ],
           [0.5, 0. ]])
    """
    frame = _as_frame(covariates)
    if len(frame) != n:
        raise InvalidDataError(f"covariates have {len(frame)} rows and X has {n}: give one row of covariates per row")
    if frame.shape[1] == 0:
        raise InvalidDataError("covariates have no columns. Leave them out to fit without covariates")
    names = tuple(str(name) for name in frame.columns)
    coder = TableCoder()
    try:
        values = np.asarray(coder.fit_transform(BaseEstimator(), frame), dtype=np.float64)
    except InvalidDataError as error:
        raise InvalidDataError(f"the covariates cannot be used: {error}") from error
    lacking = np.flatnonzero(np.isnan(values).any(axis=0))
    if len(lacking):
        first = int(lacking[0])
        raise InvalidDataError(
            f"covariate {names[first]!r} has {int(np.isnan(values[:, first]).sum())} missing value(s), and a row "
            "without its covariate cannot be adjusted for it. Drop these rows, or fill the values in before"
        )
    varying = (values != values[0]).any(axis=0)
    if not varying.all():
        unused = ", ".join(repr(name) for name, keep in zip(names, varying, strict=True) if not keep)
        warn(f"constant covariates change nothing and are left out: {unused}", UnusedCovariateWarning)
    kept = tuple(name for name, keep in zip(names, varying, strict=True) if keep)
    return Covariates(values[:, varying], coder.nominal[varying], kept)


def _as_frame(covariates: Any) -> Any:
    """Return covariates of any container as a pandas DataFrame. A vector becomes one column."""
    import pandas as pd

    table = as_vector(as_pandas(covariates))
    if isinstance(table, (str, bytes)) or not hasattr(table, "__len__"):
        raise InvalidDataError(f"covariates must be a table or a vector with one value for each row; got {table!r:.80}")
    if is_frame(table):
        return table
    if isinstance(table, pd.Series):
        return table.to_frame("covariate 0" if table.name is None else table.name)
    if hasattr(table, "toarray"):
        table = table.toarray()
    # A list that mixes text and numbers would become an array of text, so that numbers would be lost.
    array = table if isinstance(table, np.ndarray) else pd.DataFrame(table).to_numpy()
    if array.ndim not in (1, 2):
        raise InvalidDataError(f"covariates must have one or two dimensions; got shape {array.shape}")
    frame = pd.DataFrame(array).infer_objects()
    return frame.set_axis([f"covariate {j}" for j in range(frame.shape[1])], axis=1)


def independent_columns(columns: FloatArray, weight: FloatArray) -> BoolArray:
    """Return a mask of the columns that do not follow from a constant and the kept columns before them.

    ``weight`` has the weight of each row of ``columns``; rows of weight 0 do not count.
    """
    root = np.sqrt(weight)
    basis = [root / max(np.linalg.norm(root), 1e-300)]
    keep = np.zeros(columns.shape[1], dtype=bool)
    for j, column in enumerate((columns * root[:, None]).T):
        rest = column.copy()
        # Twice is enough for Gram and Schmidt: the second pass removes the rounding errors of the first.
        for _ in range(2):
            for direction in basis:
                rest -= (direction @ rest) * direction
        norm = np.linalg.norm(rest)
        if norm > _DEPENDENT * np.linalg.norm(column):
            keep[j] = True
            basis.append(rest / norm)
    return keep
