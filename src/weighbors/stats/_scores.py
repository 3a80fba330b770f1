"""Tables of scores, data sets × methods: input checks, and ranks within each data set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from .._names import hint
from .._typing import AnyArray, FloatArray
from ..exceptions import InvalidDataError

#: Types that are accepted as one number.
NUMBERS = (int, float, np.integer, np.floating)
#: Decimals kept, relative to the largest score: 0.1 + 0.2 and 0.3 are the same score.
DECIMALS = 12


def round_off_noise(values: FloatArray, scale: float | None = None) -> FloatArray:
    """Round values to twelve digits, so that scores that differ only by rounding are equal.

    ``scale`` is the number from which digits are counted; by default the largest absolute value.
    """
    scale = float(np.abs(values).max(initial=0.0)) if scale is None else scale
    if not scale:
        return values
    # Digits are counted from a power of ten, so that rounding does not depend on the scores themselves.
    unit = 10.0 ** np.ceil(np.log10(scale))
    return np.round(values / unit, DECIMALS) * unit


def check_table(table: Any) -> pd.DataFrame:
    """Convert a table of scores to a float frame (data sets × methods) and check that it is complete.

    Raises
    ------
    InvalidDataError
        If cells are missing or infinite, if names repeat, or if there are fewer than two data sets or methods.
    """
    frame = _as_frame(table)
    if frame.shape[1] < 2 or frame.shape[0] < 2:
        raise InvalidDataError(
            f"a table of at least 2 data sets (rows) and 2 methods (columns) is needed; got {frame.shape[0]} × "
            f"{frame.shape[1]}. Is it transposed?"
        )
    for what, names in (("methods", frame.columns), ("data sets", frame.index)):
        if names.has_duplicates:
            raise InvalidDataError(
                f"{what} must have different names; got twice: {names[names.duplicated()].unique().tolist()}. "
                "Average repeated runs first: tests take one score per data set and method"
            )
    try:
        frame = frame.astype(float)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(
            f"a table of scores must hold numbers only ({error}). Move the names of data sets into the index"
        ) from error
    _refuse_missing_cells(frame)
    return frame


def _as_frame(table: Any) -> pd.DataFrame:
    """Convert a dict or an array to a frame; columns without names are numbered."""
    if isinstance(table, pd.DataFrame):
        return table
    values = pd.DataFrame(table) if isinstance(table, dict) else np.asarray(table)
    if values.ndim != 2:
        raise InvalidDataError(f"a table of data sets × methods is needed; got {values.ndim} dimension(s)")
    if isinstance(values, pd.DataFrame):
        return values
    return pd.DataFrame(values, columns=[f"method {j}" for j in range(values.shape[1])])


def _refuse_missing_cells(frame: pd.DataFrame) -> None:
    """Raise InvalidDataError if cells are missing or infinite. The message names the first five cells."""
    bad = ~np.isfinite(frame.to_numpy())
    if not bad.any():
        return
    where = np.argwhere(bad)
    cells = ", ".join(f"({frame.index[i]!r}, {frame.columns[j]!r})" for i, j in where[:5].tolist())
    raise InvalidDataError(
        f"the table has {len(where)} missing or infinite cell(s): {cells}{', ...' if len(where) > 5 else ''}. "
        "Ranks need complete rows: compute these cells, or drop their data sets (table.dropna())"
    )


def check_control(control: Any, columns: pd.Index) -> Any:
    """Return the name of the control method, or raise an error with the nearest match."""
    if control in columns:
        return control
    raise InvalidDataError(f"no method {control!r} in the table. {hint(control, columns)}")


def check_pairs(x: Any, y: Any, least: int = 2) -> FloatArray:
    """Return the differences ``x − y`` of paired scores, without rounding errors.

    If ``y`` is None, ``x`` holds the differences. ``least`` is the smallest allowed number of pairs.
    """
    first = _vector(x, "x")
    second = np.zeros_like(first) if y is None else _vector(y, "y")
    if len(first) != len(second):
        raise InvalidDataError(f"x and y are paired and must have the same length; got {len(first)} and {len(second)}")
    if len(first) < least:
        raise InvalidDataError(f"at least {least} paired scores are needed; got {len(first)}")
    # The scale is that of the scores. A difference of two large scores carries the rounding errors of those scores, so
    # its own size would not tell what is noise.
    scale = float(max(np.abs(first).max(), np.abs(second).max()))
    return round_off_noise(first - second, scale)


def as_numbers(values: Any, name: str) -> FloatArray:
    """Convert values to an array of float64, or raise an error that names the argument."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"{name} must be numbers ({error})") from error


def _vector(values: Any, name: str) -> FloatArray:
    """Convert values to a finite vector of float64."""
    out = as_numbers(values, name)
    if out.ndim != 1:
        raise InvalidDataError(f"{name} must be a vector of scores; got shape {out.shape}")
    if not np.isfinite(out).all():
        raise InvalidDataError(f"{name} has missing or infinite scores; a paired test needs all of them")
    return out


def resolve_direction(table: Any, higher_is_better: bool | None) -> bool:
    """Return whether higher scores are better: as given, or as the table says in its ``attrs``, or True.

    `StudyResults.table` writes there that lower errors and times are better.

    Examples
    --------
    >>> errors = pd.DataFrame({"ours": [0.1], "old": [0.2]})
    >>> errors.attrs["higher_is_better"] = False
    >>> resolve_direction(errors, None), resolve_direction(errors, True), resolve_direction([[1, 2]], None)
    (False, True, True)
    """
    if higher_is_better is None:
        return bool(getattr(table, "attrs", {}).get("higher_is_better", True))
    return bool(higher_is_better)


def rank_rows(frame: pd.DataFrame, *, higher_is_better: bool | None = None) -> FloatArray:
    """Return the ranks of the methods within each data set. The best has rank 1, and ties share their mean rank.

    ``higher_is_better`` is as in `resolve_direction`.
    """
    values = frame.to_numpy()
    # Scores of one data set are rounded together, because data sets may have scores of very different sizes.
    scores = np.array([round_off_noise(row) for row in values])
    ranks: FloatArray = rankdata(-scores if resolve_direction(frame, higher_is_better) else scores, axis=1)
    return ranks


def mean_ranks(frame: pd.DataFrame, *, higher_is_better: bool | None = None) -> pd.Series:
    """Return the mean rank of each method over the data sets."""
    ranks = rank_rows(frame, higher_is_better=higher_is_better)
    return pd.Series(ranks.mean(axis=0), index=frame.columns, name="mean rank")


def tie_sizes(ranks: FloatArray) -> list[AnyArray]:
    """Return the sizes of the groups of tied ranks within each data set."""
    return [np.unique(row, return_counts=True)[1] for row in ranks]
