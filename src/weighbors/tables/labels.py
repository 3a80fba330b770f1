"""Labels: they are checked and converted to codes, the positions of their classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._names import require_text
from .._typing import AnyArray, IndexArray
from .._warnings import warn
from ..exceptions import InvalidDataError, NumericTargetWarning
from .frames import as_vector

#: For estimators that take classes only: what to use for a number to predict. This is the only place of these pairs.
NUMERIC_ALTERNATIVES = {
    "ClassRelief": "RReliefF",
    "IB1": "WeightedKNeighborsRegressor",
    "IBk": "WeightedKNeighborsRegressor",
    "IRelief": "RReliefF or NCAWeights",
    "KStar": "WeightedKNeighborsRegressor",
    "LearnedVotesClassifier": "LearnedVotesRegressor",
    "LWL": "WeightedKNeighborsRegressor",
    "MBIW": "no instance weights: a LearnedVotesRegressor learns a vote for each row itself",
    "Relief": "RReliefF",
    "ReliefF": "RReliefF",
    "RelievedF": "RReliefF",
    "RepresentativeIntervals": "RReliefF or NCAWeights",
    "Simba": "RReliefF or NCAWeights",
    "SimbaMBIW": "RReliefF or NCAWeights",
    "WIBK": "WeightedKNeighborsRegressor",
    "WeightedKNeighborsClassifier": "WeightedKNeighborsRegressor",
    **dict.fromkeys(
        ("DROP3", "DROP5", "FCNN", "HMNEI", "IB2", "IB3", "ICF"),
        "EvolutionaryWeigher with the task IS, which selects rows for numbers too",
    ),
}
#: What estimators that are not in the table get as advice.
_ANY_REGRESSION = (
    "a regressor (WeightedKNeighborsRegressor, LearnedVotesRegressor), or a weigher for numeric targets (RReliefF, "
    "NCAWeights)"
)

#: A target with more different floats than this is probably numeric.
MANY_FLOATS = 50
#: Up to this many rows it does not count that most labels differ, since a few rows prove little.
FEW_ROWS = 20


def require_labels(estimator: Any, y: Any) -> None:
    """Raise InvalidDataError if ``y`` is None. ``estimator`` is named in the message."""
    if y is None:
        raise InvalidDataError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: one label per row is needed"
        )


def looks_numeric(distinct: AnyArray, n_rows: int) -> bool:
    """Return whether so many numbers differ that they look like a target to predict, and not like classes.

    ``distinct`` holds every value once. This is the only place of this rule.

    Examples
    --------
    >>> looks_numeric(np.arange(60), 100), looks_numeric(np.arange(3.0), 100), looks_numeric(np.arange(51.0), 1000)
    (True, False, True)
    """
    number, kind = len(distinct), distinct.dtype.kind
    most_differ = n_rows > FEW_ROWS and number > round(0.5 * n_rows)  # the rule of scikit-learn
    return kind in "iuf" and (most_differ or (kind == "f" and number > MANY_FLOATS))


def check_labels(y: Any, target_type: str | None = None, *, who: str = "") -> tuple[AnyArray, AnyArray]:
    """Check labels and return ``(classes, codes)``: the sorted classes, and the position of the class of every row.

    Parameters
    ----------
    y : array-like of shape (n,)
    target_type : {"auto", "classes"} or None
        The parameter of an estimator that takes numeric targets, too: the warning that labels look like a numeric
        target then names it. With "classes" the user has decided, and there is no warning.
    who : str
        Name of the estimator: the message for a numeric target says what to use in its place.

    Raises
    ------
    InvalidDataError
        If labels are missing, are no valid text or are no classes, or if there is only one class.
    """
    plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iub"  # none is missing, and all can be classes
    if not plain:
        y = label_vector(y, warn_column=True)
        _check_kind(y, len(y), who)  # This comes before np.unique sorts the labels, because some cannot be sorted.
    classes, codes = np.unique(y, return_inverse=True)
    if not plain:
        require_text(classes, "label")
    _check_number(classes, len(codes), target_type, who)
    return classes, codes


def known_codes(y: Any, classes: AnyArray) -> IndexArray:
    """Return the position of every label among the classes that fit has seen.

    Raises
    ------
    InvalidDataError
        If a label is missing or is none of the classes.
    """
    import pandas as pd

    y = label_vector(y)
    codes = codes_of(y, classes)
    if (codes < 0).any():
        strange = pd.unique(pd.Series(y[codes < 0])).tolist()[:5]
        raise InvalidDataError(
            f"y has labels that were not there in fit: {strange}. The classes are {classes.tolist()[:20]}: leave these "
            "rows out, or fit with all classes"
        )
    return codes


def codes_of(labels: Any, classes: AnyArray) -> IndexArray:
    """Return the position of each label among the classes, or -1 if the label is none of the classes.

    Examples
    --------
    >>> codes_of(["b", "a", "c"], np.array(["a", "b"]))
    array([ 1,  0, -1])
    """
    import pandas as pd

    found: IndexArray = pd.Index(classes).get_indexer(pd.Index(np.asarray(labels))).astype(np.int64)
    return found


def check_classes(classes: AnyArray, n_rows: int) -> None:
    """Check the distinct labels of a table with ``n_rows`` rows: their type and their number."""
    _check_kind(classes, n_rows)
    _check_number(classes, n_rows)


def _check_kind(y: AnyArray, n_rows: int, who: str = "") -> None:
    """Raise InvalidDataError if the labels cannot be classes.

    ``y`` holds the labels of all rows, or every distinct label once. ``n_rows`` is the number of rows in both cases.
    ``who`` is as in `check_labels`.
    """
    from sklearn.utils.multiclass import check_classification_targets

    if y.dtype.kind in "iuf" and np.isfinite(y).all():
        broken = y[y != np.rint(y)] if y.dtype.kind == "f" else y[:0]
        if len(broken):
            raise InvalidDataError(
                f"Unknown label type: continuous. y looks like a numeric target ({broken[0]:.6g}, ...; "
                f"{len(np.unique(y))} different values in {n_rows} rows), and {who or 'this method'} needs classes. "
                f"Use {NUMERIC_ALTERNATIVES.get(who, _ANY_REGRESSION)}; or cut y into classes (for example "
                "with pandas.cut or pandas.qcut)"
            )
        return  # scikit-learn would only repeat the warning that `_check_number` gives
    try:
        # If y holds every label once, scikit-learn would think that the labels of all rows differ.
        check_classification_targets(y if len(y) == n_rows else y[:FEW_ROWS])
    except (TypeError, ValueError) as error:
        raise InvalidDataError(
            f"{str(error).strip()} Labels are whole numbers or text: convert y, for example with astype(str)"
        ) from error


def _check_number(classes: AnyArray, n_rows: int, target_type: str | None = None, who: str = "") -> None:
    """Raise InvalidDataError for a single class. Warn if so many numbers differ that the target looks numeric.

    ``target_type`` and ``who`` are as in `check_labels`.
    """
    if n_rows == 0:
        raise InvalidDataError("y is empty: one label for each row of X is needed")
    if len(classes) < 2:
        raise InvalidDataError(
            f"at least 2 classes are needed; got 1 class ({classes.tolist()[0]!r}) in {n_rows} rows. "
            "Check the labels: nothing can be told apart"
        )
    if target_type != "classes" and looks_numeric(classes, n_rows):
        advice = (
            f"If they are numbers to predict, use {NUMERIC_ALTERNATIVES.get(who, _ANY_REGRESSION)}, or cut y into "
            "classes (for example with pandas.cut or pandas.qcut); if they are names of classes, ignore this warning"
            if target_type is None
            else "Write target_type='numeric' if y is a number to predict, or target_type='classes' if these are names "
            "of classes"
        )
        warn(
            f"y looks like a numeric target: {len(classes)} different numbers ({classes[0]:g} to {classes[-1]:g}) in "
            f"{n_rows} rows, and each counts as a class of its own. {advice}",
            NumericTargetWarning,
        )


def as_column(y: Any, *, warn: bool = False) -> AnyArray:
    """Return a target of shape (n,) or (n, 1) as a vector. ``warn``: the shape (n, 1) causes a warning.

    Raises
    ------
    InvalidDataError
        If ``y`` has another shape.

    Examples
    --------
    >>> as_column([[1], [2]])
    array([1, 2])
    """
    from sklearn.utils import column_or_1d

    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufU" and y.flags.c_contiguous:
        return y  # It needs no checks, which take their time.
    try:
        vector: AnyArray = column_or_1d(as_vector(y), warn=warn)
    except ValueError as error:
        raise InvalidDataError(f"{error} Give one label or number per row") from error
    return vector


def label_vector(
    y: Any,
    *,
    warn_column: bool = False,
    what: str = "labels",
    advice: str = "Drop these rows: a row without a label cannot vote",
) -> AnyArray:
    """Return labels, or the values of a numeric target, as a vector. Raise InvalidDataError if one is missing.

    Parameters
    ----------
    y : array-like of shape (n,) or (n, 1)
    warn_column : bool
        Whether the shape (n, 1) causes a warning.
    what, advice : str
        For the message: what is missing, and what to do about it.
    """
    import pandas as pd

    vector = as_column(y, warn=warn_column)
    absent = np.flatnonzero(pd.isna(vector))
    if len(absent):
        raise InvalidDataError(
            f"Input y contains NaN: {len(absent)} {what} are missing (the first in row {absent[0]}). {advice}"
        )
    return vector
