"""Targets: whether ``y`` holds labels of classes or a number to predict, and the checks of both.

Estimators that take both have the parameter ``target_type``: "auto", "classes" or "numeric". What counts as many
different numbers is decided by `looks_numeric`, for the warnings of labels as well.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.utils._param_validation import StrOptions

from .._names import require_text
from .._typing import AnyArray, FloatArray, IndexArray
from ..exceptions import InvalidDataError
from .frames import as_vector
from .labels import NUMERIC_ALTERNATIVES, check_labels, label_vector, looks_numeric

#: Constraint of the parameter ``target_type``, for ``_parameter_constraints``.
TARGET_TYPES = StrOptions({"auto", "classes", "numeric"})
_FILL = "Drop these rows, or fill the values in"
#: For estimators that take numeric targets only: what to use for classes.
CLASS_ALTERNATIVES = {"RReliefF": "ReliefF"}


@dataclass(frozen=True)
class Target:
    """A checked target of n rows: classes and their codes, or numbers.

    If the target is numeric, ``classes`` is empty and all rows have code 0, so that methods that group rows by their
    code see one group.
    """

    codes: IndexArray  # (n,) class of each row, as a position in `classes`
    classes: AnyArray  # (n_classes,) sorted; empty for a numeric target
    # (n,) the values of a numeric target, or (n, n_outputs) from `check_outputs`; None for classes
    numbers: FloatArray | None = None
    asked: str | None = None  # the parameter ``target_type`` of the estimator, None if it has none

    @property
    def type(self) -> str:
        """What the target is: "classes" or "numeric"."""
        return "classes" if self.numbers is None else "numeric"

    @property
    def decoded(self) -> AnyArray:
        """The target as estimators take it: the label of each row, or its number."""
        return self.classes[self.codes] if self.numbers is None else self.numbers

    def take(self, rows: IndexArray) -> Target:
        """Return the target of some rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return Target(self.codes[rows], self.classes, numbers, self.asked)

    @property
    def statement(self) -> str:
        """A sentence that says what the target was taken for, why, and how to change that."""
        n, values = len(self.codes), self.classes if self.numbers is None else np.unique(self.numbers)
        what = "classes" if self.numbers is None else "a number to predict"
        found = f"y was taken for {what}: {len(values)} different values in {n} rows"
        if self.asked != "auto":
            return found
        if self.numbers is None:
            kind = "whole numbers" if values.dtype.kind in "iuf" else "no numbers"
            return f"{found}, {kind}. Write target_type='numeric' if it is a number to predict"
        kind = "whole floats" if (values == np.rint(values)).all() else "not all of them whole"
        return f"{found}, {kind}. Write target_type='classes' if these are names of classes"


def accepted_target(weigher: Any) -> str | None:
    """Return the ``target_type`` of an estimator for `check_target`: its parameter, "numeric", or None for classes.

    Regressors take "outputs". A weigher around another one may say by ``_target_type`` what that one needs.
    """
    if is_regressor(weigher):
        return "outputs"
    if not getattr(weigher, "_takes_numeric_targets", False):
        return None
    accepted: str = getattr(weigher, "_target_type", getattr(weigher, "target_type", "numeric"))
    return accepted


def wanted_target(model: Any) -> str:
    """Return what an estimator inside another one is made for: "classes", "numeric", or "auto" if it takes both."""
    if is_regressor(model):
        return "numeric"
    return "classes" if is_classifier(model) else accepted_target(model) or "auto"


def check_target(y: Any, target_type: str | None = None, *, who: str = "") -> Target:
    """Check a target and return it, coded.

    Parameters
    ----------
    y : array-like of shape (n,)
    target_type : {"auto", "classes", "numeric", "outputs"} or None
        The parameter of the estimator. "auto" decides by `recognize_target`. None means that the estimator has no such
        parameter, because it takes classes only. "outputs" is for regressors, whose target may have several columns
        and may be constant.
    who : str
        Name of the estimator. If it takes one type of target only, a message says what to use in its place.

    Raises
    ------
    InvalidDataError
        If the target cannot be used as it is. The message says what to do.

    Examples
    --------
    >>> check_target(["b", "a", "b"], "auto").codes
    array([1, 0, 1])
    >>> check_target([0.5, 2.25, 1.0], "auto").type
    'numeric'
    """
    if target_type == "outputs":
        values = check_outputs(y)
    elif target_type == "numeric" or (target_type == "auto" and recognize_target(y) == "numeric"):
        values = check_numeric_target(y, who=who)
    else:
        classes, codes = check_labels(y, target_type, who=who)
        return Target(codes, classes, asked=target_type)
    return Target(np.zeros(len(values), dtype=np.int64), np.zeros(0), values, target_type)


def adopt_target(target: Target, target_type: str | None = None, *, who: str = "") -> Target:
    """Return a target that has been checked, as another estimator takes it.

    The parameters are those of `check_target`. The rows may be some of those that were checked: classes that none of
    them has are left out, and a numeric target must still vary.
    """
    if target.numbers is None and target_type in (None, "auto", "classes"):
        present = np.bincount(target.codes, minlength=len(target.classes)) > 0
        if present.all():
            return replace(target, asked=target_type)
        if present.sum() > 1:
            return Target((np.cumsum(present) - 1)[target.codes], target.classes[present], asked=target_type)
    elif target.numbers is not None and target_type == "outputs":
        return replace(target, asked=target_type)
    elif target.numbers is not None and target.numbers.ndim == 1 and target_type in ("auto", "numeric"):
        _check_range(target.numbers)
        return replace(target, asked=target_type)
    return check_target(target.decoded, target_type, who=who)  # it raises an error, or takes labels as numbers


def recognize_target(y: Any) -> str:
    """Return "numeric" if ``y`` looks like a number to predict, else "classes".

    Numeric are floats of which at least one is no whole number, and whole floats if many of them differ
    (`looks_numeric`). Text, bools, integers and categories are classes.

    Raises
    ------
    InvalidDataError
        If values are missing, or if ``y`` holds text that looks like a numeric target.

    Examples
    --------
    >>> recognize_target([1.0, 2.0, 1.0]), recognize_target([1.0, 2.5, 1.0]), recognize_target([1, 2, 1])
    ('classes', 'numeric', 'classes')
    """
    import pandas as pd

    if isinstance(getattr(y, "dtype", None), pd.CategoricalDtype):
        return "classes"
    vector = label_vector(y)
    if vector.dtype.kind == "O" and pd.api.types.infer_dtype(vector) in ("floating", "mixed-integer-float", "decimal"):
        vector = vector.astype(np.float64)
    if vector.dtype.kind == "f":
        # Infinity is no whole number here, so that the checks of numeric targets refuse it.
        whole = bool(np.isfinite(vector).all()) and bool((vector == np.rint(vector)).all())
        return "numeric" if not whole or looks_numeric(np.unique(vector), len(vector)) else "classes"
    if vector.dtype.kind in "OUST":
        _refuse_numbers_as_text(vector)
    return "classes"


def _refuse_numbers_as_text(vector: AnyArray) -> None:
    """Raise InvalidDataError if text holds so many different numbers that a numeric target was probably meant."""
    import pandas as pd

    require_text(vector, "label")  # pandas cannot hold text with half of a character
    labels = pd.unique(pd.Series(vector))
    if not all(isinstance(label, str) for label in labels):
        return
    numbers = pd.to_numeric(pd.Series(labels), errors="coerce").to_numpy(dtype=np.float64)
    if np.isfinite(numbers).all() and (numbers != np.rint(numbers)).any() and looks_numeric(numbers, len(vector)):
        raise InvalidDataError(
            f"y is text that looks like a numeric target ({labels[0]!r}, {labels[1]!r}, ...; {len(labels)} different "
            f"values in {len(vector)} rows). Convert it to numbers, for example with pandas.to_numeric(y), or write "
            "target_type='classes' if these are names of classes"
        )


def check_numeric_target(y: Any, *, who: str = "") -> FloatArray:
    """Check a numeric target and return it as float64.

    ``who`` is the name of the estimator, as in `check_target`.

    Raises
    ------
    InvalidDataError
        If ``y`` has several columns, text, missing or infinite values, fewer than two rows, or a single value.

    Examples
    --------
    >>> check_numeric_target([1, 2, 4])
    array([1., 2., 4.])
    """
    vector = label_vector(y, warn_column=True, what="targets", advice=_FILL)
    other = CLASS_ALTERNATIVES.get(who)
    values = _check_numbers(vector, f"use {other}" if other else "write target_type='classes'")
    _check_range(values)
    return values


def _check_range(values: FloatArray) -> None:
    """Raise InvalidDataError if the values of a numeric target do not differ, or differ too much."""
    if len(values) < 2:
        raise InvalidDataError(f"a numeric target needs at least 2 rows; got n_samples = {len(values)}")
    low, high = float(values.min()), float(values.max())
    if low == high:
        raise InvalidDataError(
            f"y is constant ({low:g} in all {len(values)} rows): no feature can tell its values apart. Check the target"
        )
    if not np.isfinite(high - low):
        raise InvalidDataError(
            f"y spans {low:.3g} to {high:.3g}, and differences overflow float64: rescale it, for example divide it by "
            "its standard deviation"
        )


def check_outputs(y: Any) -> FloatArray:
    """Check the target of a regressor, which may have several outputs, and return it as float64, in its shape.

    Unlike `check_numeric_target`, it takes a single row and a constant target, since a mean needs no more.

    Parameters
    ----------
    y : array-like of shape (n,) or (n, n_outputs)

    Raises
    ------
    InvalidDataError
        If ``y`` has text, missing or infinite values, no output, or another number of dimensions.

    Examples
    --------
    >>> check_outputs([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    import pandas as pd

    if sparse.issparse(y):
        raise InvalidDataError("y is a sparse matrix; a numeric target must be dense. Use y.toarray()")
    try:
        array = np.asarray(as_vector(y))
    except ValueError as error:  # lists of different lengths
        raise InvalidDataError(
            f"y must have the shape (n_samples,) or (n_samples, n_outputs); its rows have different lengths: {error}"
        ) from error
    if array.ndim not in (1, 2) or 0 in array.shape[1:]:
        raise InvalidDataError(
            f"y must have the shape (n_samples,) or (n_samples, n_outputs); got the shape {array.shape}"
        )
    if len(array) == 0:
        raise InvalidDataError("y is empty: one number for each row of X is needed")
    absent = np.argwhere(pd.isna(array))
    if len(absent):
        raise InvalidDataError(
            f"Input y contains NaN: {len(absent)} targets are missing (the first in row {absent[0][0]}). {_FILL}"
        )
    return _check_numbers(array, "use a classifier")


def _check_numbers(values: AnyArray, for_classes: str) -> FloatArray:
    """Return values as float64. Raise InvalidDataError if they are no finite numbers.

    ``for_classes`` says in the message what to do if the values are names of classes.
    """
    found = values.dtype.kind
    if found == "O" and not any(isinstance(value, str) for value in values.ravel()):
        try:
            with suppress(TypeError, ValueError):  # If it fails, the message below says what was found.
                values, found = values.astype(np.float64), "f"
        except OverflowError as error:
            raise InvalidDataError(
                "y holds whole numbers that are too large for float64: rescale it, for example divide it by a power "
                "of 10"
            ) from error
    if found not in "fiub":
        convert = "pandas.to_numeric(y)" if found in "OUST" else "y.astype(float)"
        convert = "y.real" if found == "c" else convert
        raise InvalidDataError(
            f"a numeric target must hold numbers; got {values.dtype} (for example {values.ravel().tolist()[0]!r}). "
            f"Convert it, for example with {convert}, or {for_classes} if these are names of classes"
        )
    numbers: FloatArray = values.astype(np.float64)
    infinite = np.argwhere(~np.isfinite(numbers))
    if len(infinite):
        raise InvalidDataError(
            f"Input y contains infinity: {len(infinite)} targets are infinite or too large for float64 (the first in "
            f"row {infinite[0][0]}). Drop these rows, or replace the values by numbers"
        )
    return numbers


def standardize_outputs(
    Y: FloatArray, sample_weight: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return outputs with mean 0 and standard deviation 1, their means, and their standard deviations.

    Then all outputs count alike, and squares neither overflow nor vanish. A constant output becomes 0, and its standard
    deviation counts as 1.

    Parameters
    ----------
    Y : ndarray of shape (n, n_outputs)
    sample_weight : ndarray of shape (n,), optional

    Examples
    --------
    >>> standardize_outputs(np.array([[1.0, 5.0], [3.0, 5.0]]))
    (array([[-1.,  0.],
           [ 1.,  0.]]), array([2., 5.]), array([1., 1.]))
    """
    center = np.average(Y, axis=0, weights=sample_weight)
    # The division by the largest one keeps squares of extreme targets finite and above 0.
    largest = np.abs(Y - center).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    spread = largest * np.sqrt(np.average(((Y - center) / largest) ** 2, axis=0, weights=sample_weight))
    spread = np.where(spread > 0, spread, 1.0)
    return (Y - center) / spread, center, spread


def deciding_weigher(weigher: Any) -> Any:
    """Return the weigher that decides which targets are taken: the one inside a `FeatureSelector`, or ``weigher``."""
    return weigher.weigher if getattr(weigher, "_takes_targets_of_weigher", False) else weigher


def expect_target(weigher: Any, *, numeric: bool) -> Any:
    """Tell a weigher with ``target_type="auto"`` what the target holds, and return the weigher.

    A classifier or regressor knows this; the weigher alone could take many different labels for a numeric target.

    Raises
    ------
    InvalidDataError
        If the weigher takes only the other type of target.
    """
    outer, weigher = weigher, deciding_weigher(weigher)
    takes_numeric, name = getattr(weigher, "_takes_numeric_targets", None), type(weigher).__name__
    if numeric and takes_numeric is False and name in NUMERIC_ALTERNATIVES:
        raise InvalidDataError(f"{name} needs classes, and the target is numeric. Use {NUMERIC_ALTERNATIVES[name]}")
    if not numeric and takes_numeric and name in CLASS_ALTERNATIVES:
        raise InvalidDataError(f"{name} needs a numeric target, and these are classes. Use {CLASS_ALTERNATIVES[name]}")
    if weigher.get_params(deep=False).get("target_type") == "auto":
        weigher.set_params(target_type="numeric" if numeric else "classes")
    return outer
