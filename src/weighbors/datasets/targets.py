"""Split a table that was read from a file into features and target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._names import hint, known_names, quote_name
from .._typing import AnyArray
from ..exceptions import InvalidDataError
from ..tables.labels import looks_numeric
from ..tables.targets import check_numeric_target, recognize_target

if TYPE_CHECKING:
    import pandas as pd

#: A target with more different whole numbers than this could be classes or a number: a message says what was taken.
FEW_CLASSES = 10


def split_target(
    frame: pd.DataFrame, target: str | None = None, *, target_type: str = "classes"
) -> tuple[pd.DataFrame, pd.Series, tuple[str, ...]]:
    """Split a table into features and target. Rows without a target are left out, and a message says so.

    Parameters
    ----------
    frame : DataFrame
    target : str, optional
        Name of the target column. By default the column that the file declares, if `read_table` has read the table.
    target_type : {"classes", "numeric", "auto"}, default="classes"
        What the target is. "auto": a number to predict if a value is no whole number, or if most whole numbers differ.
        The notes then say what it was taken for, if it could be either.

    Returns
    -------
    X : DataFrame
        The features. The index is the row numbers of the table.
    y : Series
        Labels, as whole numbers or text, or float64 for a numeric target. The name of the Series is the target.
    notes : tuple of str

    Raises
    ------
    InvalidDataError
        If the target is not a column. If it should be classes: if it contains numbers that are not whole, has only one
        class, or a different label in every row. If it should be numeric: if it contains text or infinite numbers, is
        constant, or has a single row.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [1.5, 2.5, 3.5, 4.5], "kind": ["a", "a", "b", None]})
    >>> X, y, notes = split_target(table, "kind")
    >>> X.shape, y.tolist(), notes
    ((3, 1), ['a', 'a', 'b'], ("1 row has no label in 'kind' and was left out (row 3)",))
    """
    target = find_target(frame, target)
    if frame.shape[1] < 2:
        raise InvalidDataError(f"{quote_name(target)} is the only column: features are needed besides the target")
    labels = frame[target]
    known = labels.notna().to_numpy()
    known_names([target_type], ("auto", "classes", "numeric"), "target type")
    found = _recognize_column(labels[known], target) if target_type == "auto" else target_type
    notes = _missing_targets(known, target, "label" if found == "classes" else "number")
    if found == "numeric" and known.any():
        y = _target_numbers(labels[known], target)
    else:
        y = _class_labels(labels[known], target)
        _check_classes(y, len(frame), target)
    if target_type == "auto":
        notes += _describe_recognition(y, target)
    return frame.drop(columns=target)[known], y, tuple(notes)


def _missing_targets(known: AnyArray, target: str, what: str) -> list[str]:
    """Return a message on the rows without a target, if there are any. ``known`` marks the others."""
    if known.all():
        return []
    count = int((~known).sum())
    first = int(np.flatnonzero(~known)[0])
    no_label = f"no {what} in {quote_name(target)} and"
    one = f"1 row has {no_label} was left out (row {first})"
    return [one if count == 1 else f"{count} rows have {no_label} were left out (the first is row {first})"]


def _recognize_column(labels: pd.Series, target: str) -> str:
    """Return "numeric" or "classes" for a column without missing values. Text that looks like numbers is refused."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(labels.dtype) or isinstance(labels.dtype, pd.CategoricalDtype):
        return "classes"
    if pd.api.types.is_numeric_dtype(labels.dtype):
        # In a file it is an accident whether whole numbers are written as 7 or 7.0.
        whole = looks_numeric(np.unique(labels.to_numpy()), len(labels))
        return "numeric" if whole else recognize_target(labels.to_numpy())
    try:
        return recognize_target(labels.to_numpy(dtype=object))
    except InvalidDataError as error:
        raise InvalidDataError(
            f"the target {quote_name(target)} is text that looks like numbers ({quote_name(labels.iloc[0])}, ...). Say "
            f"what it is: {_switch('numeric')}, or {_switch('classes')}"
        ) from error


def _switch(target_type: str) -> str:
    """Return how the user decides what a target is, in Python and on the command line."""
    return f"target_type={target_type!r} (--target-type {target_type})"


def _describe_recognition(y: pd.Series, target: str) -> list[str]:
    """Return a message on what a target was taken for, if it is numeric or could be."""
    if y.dtype.kind not in "if":
        return []
    number, name = y.nunique(), quote_name(target)
    if y.dtype.kind == "f":
        found = f"the target {name} is taken as a number to predict ({number} values, {y.min():g} to {y.max():g})"
        # Numbers with a fraction are refused as classes, so the switch would not help.
        whole = bool((y.dropna() % 1 == 0).all())
        return [f"{found}; if these are names of classes: {_switch('classes')}" if whole else found]
    if number <= FEW_CLASSES:
        return []
    return [
        f"the target {name} is taken as classes ({number} different whole numbers, {y.min()} to {y.max()}); if it is a "
        f"number to predict: {_switch('numeric')}"
    ]


def _target_numbers(labels: pd.Series, target: str) -> pd.Series:
    """Return a numeric target as float64. Raise `InvalidDataError` if there is text, or if it cannot be predicted."""
    import pandas as pd

    numbers = pd.to_numeric(labels.astype(object), errors="coerce").astype(np.float64)
    if numbers.isna().any():
        strange = labels[numbers.isna()]
        raise InvalidDataError(
            f"the target {quote_name(target)} should be a number, and {len(strange)} of {len(labels)} rows hold text "
            f"({quote_name(strange.iloc[0])}, ...). Correct them, name another column, or take classes: "
            f"{_switch('classes')}"
        )
    try:
        check_numeric_target(numbers.to_numpy())
    except InvalidDataError as error:
        raise InvalidDataError(f"the target {quote_name(target)} cannot be predicted: {error}") from error
    return numbers


def find_target(frame: pd.DataFrame, target: str | None = None) -> str:
    """Return the name of the class column: ``target``, or the column that the file declares if ``target`` is None."""
    names = [str(name) for name in frame.columns]
    ends = names if len(names) <= 30 else [*names[:20], *names[-5:]]  # classes are often last
    listed = ", ".join(quote_name(name) for name in ends) + (f" (of {len(names)} columns)" if len(names) > 30 else "")
    wanted = target or frame.attrs.get("weighbors", {}).get("target")
    if wanted is None:
        raise InvalidDataError(f"which column holds the classes? Name one of {listed}")
    if wanted not in names:
        close = hint(wanted, names)
        near = f" {close}" if close.startswith("Did") and len(close) < 80 and close.isprintable() else ""
        raise InvalidDataError(f"there is no column {quote_name(wanted)}.{near} The columns are {listed}")
    return wanted


def _class_labels(labels: pd.Series, target: str) -> pd.Series:
    """Return labels as whole numbers or text. Raise `InvalidDataError` if there are numbers that are not whole."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(labels.dtype) or not pd.api.types.is_numeric_dtype(labels.dtype):
        return labels.astype(object).map(str).astype(object)
    numbers = labels.to_numpy(dtype=np.float64)
    if len(numbers) and not (np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()):
        strange = labels[~(np.isfinite(numbers) & (numbers == np.floor(numbers)))].iloc[0]
        raise InvalidDataError(
            f"the target {quote_name(target)} holds measurements ({strange:.6g}, ...), not classes. Name another "
            f"column, turn it into classes, or predict the number: {_switch('numeric')}"
        )
    if len(numbers) and np.abs(numbers).max() >= 2**53:  # such large whole numbers are not exact as floats
        return labels.astype(object).map(str).astype(object)
    return labels.astype(np.int64)


def _check_classes(y: pd.Series, rows: int, target: str) -> None:
    """Raise `InvalidDataError` if there are no labels, only one class, or a different label in every row.

    ``rows`` is the number of rows of the table, including rows without a label.
    """
    if rows == 0:
        raise InvalidDataError("the table has column names and no rows")
    counts = y.value_counts()
    if len(counts) == 0:
        raise InvalidDataError(f"the target {quote_name(target)} is empty: no row has a label")
    if len(counts) == 1:
        raise InvalidDataError(
            f"at least 2 classes are needed; the target {quote_name(target)} has one, {quote_name(counts.index[0])}, "
            f"in all {len(y)} rows"
            if len(y) > 1
            else "at least 2 classes are needed, and the table has 1 row"
        )
    if counts.iloc[0] < 2:
        raise InvalidDataError(
            f"all {len(y)} rows have a label of their own in {quote_name(target)}: it holds no classes, or there are "
            "too few rows. Name another column as target"
            + (f", or predict the number: {_switch('numeric')}" if y.dtype.kind == "i" else "")
        )
