"""Targets of an evaluation: classes or a number. It is decided once, and every model of the evaluation is set to it."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone, is_classifier, is_regressor

from .._typing import AnyArray
from ..exceptions import InvalidDataError
from ..tables.targets import check_numeric_target, deciding_weigher, recognize_target


def check_target_type(target_type: Any) -> str:
    """Return the parameter ``target_type`` of an evaluation. Raise InvalidDataError if it is none of the three."""
    if target_type not in ("auto", "classes", "numeric"):
        raise InvalidDataError(f"target_type must be 'auto', 'classes' or 'numeric'; got {target_type!r}")
    return str(target_type)


def decide_target_type(y: Any, target_type: Any = "auto", expected: str | None = None) -> str:
    """Return "classes" or "numeric", and check a numeric target.

    Parameters
    ----------
    y : array-like of shape (n,)
    target_type : {"auto", "classes", "numeric"}
        The parameter of the evaluation.
    expected : {"classes", "numeric"} or None
        What "auto" means, if the model or the score can predict only one of both. None: ``y`` decides.

    Raises
    ------
    InvalidDataError
        If a numeric target is text, missing, infinite or constant, or has a single row.

    Examples
    --------
    >>> decide_target_type([0.5, 1.5, 2.0]), decide_target_type([1, 2, 2]), decide_target_type([1, 2, 2], "numeric")
    ('numeric', 'classes', 'numeric')
    """
    found = check_target_type(target_type)
    if found == "auto":
        found = expected or recognize_target(y)
    if found == "numeric":
        check_numeric_target(y)
    return found


def expected_target(model: Any) -> str | None:
    """Return what a model predicts or weighs for, if this is certain: "classes", "numeric", or None.

    A pipeline is what its last step is.
    """
    if not hasattr(model, "get_params"):
        return None
    if is_regressor(model):
        return "numeric"
    if is_classifier(model):
        return "classes"
    last = deciding_weigher(model.steps[-1][1] if getattr(model, "steps", None) else model)
    takes_numeric = getattr(last, "_takes_numeric_targets", None)
    # A weigher that takes numbers and has no such parameter, as RReliefF, takes nothing else.
    wanted = getattr(last, "target_type", "numeric" if takes_numeric else None)
    return wanted if wanted in ("classes", "numeric") else None


def tell_target(model: Any, target_type: str) -> Any:
    """Set every ``target_type`` of a model that is "auto", also in its parts, and return the model.

    The rows of a fold alone could look otherwise than all rows, for example if they hold whole numbers only.
    """
    names = [
        name
        for name, value in model.get_params(deep=True).items()
        if (name == "target_type" or name.endswith("__target_type")) and isinstance(value, str) and value == "auto"
    ]
    return model.set_params(**dict.fromkeys(names, target_type)) if names else model


def told_model(model: Any, y: AnyArray, target_type: str) -> Any:
    """Return a clone of a model that is set to the type of the target. A function is returned unchanged.

    Labels that are no floats are always classes, so nothing is set. The model then warns of numbers that look like a
    numeric target.
    """
    if not hasattr(model, "get_params") or (target_type == "classes" and y.dtype.kind != "f"):
        return model
    return tell_target(clone(model), target_type)
