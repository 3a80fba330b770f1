"""One cell of a study: fit to the training rows, predict the test rows, and write the result or the failure."""

from __future__ import annotations

import platform
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from ..._typing import AnyArray, IndexArray
from ...exceptions import InvalidDataError
from ...metrics import reduction
from ..model_features import clone_with_seed, feature_scores, selected_features
from ..targets import told_model
from .cell_file import write_cell
from .scores import NotFiniteError, compute_score

_LONGEST_TEXT = 100_000  # characters of an error that are stored


@dataclass(frozen=True, eq=False)
class StudyData:
    """A data set of a study.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame of shape (n, M)
    y : array-like of shape (n,)
        Labels, or a numeric target.
    groups : array-like of shape (n,), optional
        Group of each row. Rows of one group stay together in the folds.
    splits : list of (train, test), optional
        Row numbers of the folds, for data that come with their own partitions. They replace the ``cv`` of the study.
    """

    X: Any
    y: Any
    groups: Any = None
    splits: Any = None


@dataclass(frozen=True, eq=False)
class Cell:
    """One method on one fold of one data set.

    ``identity`` is a digest of all that the result depends on. ``train`` and ``test`` are the row numbers of the fold,
    ``model`` is the method, and ``target_type`` is "classes" or "numeric".
    """

    identity: str
    dataset: str
    method: str
    repeat: int
    fold: int
    seed: int
    train: IndexArray
    test: IndexArray
    model: Any
    target_type: str

    @property
    def place(self) -> list[Any]:
        """Position of the cell in the study: data set, method, repeat and fold."""
        return [self.dataset, self.method, self.repeat, self.fold]


@dataclass(frozen=True, eq=False)
class Scores:
    """What all cells of a study measure: names of scores, and functions by name."""

    scoring: tuple[str, ...]
    measures: Mapping[str, Callable[..., Any]]


@lru_cache
def package_versions() -> dict[str, str]:
    """Return the versions of the packages that results may depend on."""
    found = {name: version(name) for name in ("weighbors", "numpy", "scipy", "scikit-learn")}
    return {"python": platform.python_version(), **found}


def _cell_header(cell: Cell) -> dict[str, Any]:
    """Return the part of the header that all cells have: position in the study, seed and versions."""
    place = {"dataset": cell.dataset, "method": cell.method, "repeat": cell.repeat, "fold": cell.fold}
    return {**place, "seed": cell.seed, "versions": package_versions()}


def write_failure(cell: Cell, path: Path, kind: str, error: str, trace: str, seconds: float) -> None:
    """Write a cell that failed to ``path``.

    ``kind`` is "raised", "nan" or "died". ``error`` is the error message, and ``trace`` the whole traceback.
    """
    # A message may contain a whole table. The end of a traceback says most.
    error, trace = error[:_LONGEST_TEXT], trace[-_LONGEST_TEXT:]
    header = {"status": "failed", "kind": kind, "error": error, "traceback": trace, "seconds": seconds}
    write_cell(path, {**_cell_header(cell), **header}, {})


def run_cell(cell: Cell, X: Any, y: Any, scores: Scores, path: Path) -> str:
    """Compute a cell, write it to ``path`` and return its status, "done" or "failed".

    An error of the method is not raised but written as a failed cell.
    """
    begin = time.perf_counter()
    try:
        # All warnings of a method are stored with its result, and none is shown among those of other cells. Text that
        # a method prints goes to stderr, because standard output is that of the command.
        with warnings.catch_warnings(record=True) as caught, redirect_stdout(sys.stderr):
            warnings.simplefilter("always")
            header, arrays = _fit_and_score(cell, X, np.asarray(y), scores)
        header["warnings"] = sorted({f"{type(w.message).__name__}: {w.message}" for w in caught})[:20]
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit: no method may end the study
        kind = "nan" if isinstance(error, NotFiniteError) else "raised"
        message = ". ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
        write_failure(cell, path, kind, message, traceback.format_exc(), time.perf_counter() - begin)
        return "failed"
    write_cell(path, {**_cell_header(cell), "status": "done", **header}, arrays)
    return "done"


def _use_one_thread(model: Any) -> Any:
    """Set all ``n_jobs`` parameters of a model to 1, because cells already run in parallel, and return the model."""
    names = [
        name
        for name, value in model.get_params(deep=True).items()
        # None means one thread, or the number of an active joblib context, and stays as it is.
        if (name == "n_jobs" or name.endswith("__n_jobs")) and value not in (None, 1)
    ]
    return model.set_params(**dict.fromkeys(names, 1)) if names else model


def _fit_and_score(cell: Cell, X: Any, y: AnyArray, scores: Scores) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Fit the method to the training rows and return the header and the arrays of the cell."""
    train, test = cell.train, cell.test
    X_train, X_test = (_safe_indexing(X, rows) for rows in (train, test))
    model = told_model(clone_with_seed(cell.model, cell.seed), y, cell.target_type)
    model = _use_one_thread(model)
    begin = time.perf_counter()
    model.fit(X_train, y[train])
    fitted_at = time.perf_counter()
    arrays: dict[str, AnyArray] = {"rows": test.astype(np.int32)}
    header: dict[str, Any] = {
        "n_train": len(train),
        "n_test": len(test),
        "n_features": int(X.shape[1]),
        "fit_seconds": fitted_at - begin,
    }
    header["scores"] = {}
    if hasattr(model, "predict"):
        found = np.asarray(model.predict(X_test))
        header["predict_seconds"] = time.perf_counter() - fitted_at
        if found.shape != test.shape:
            raise ValueError(f"predict must return one value per row, {test.shape}; got shape {found.shape}")
        header["labels"], codes = _encode(np.concatenate([y[test], found]), cell.target_type)
        arrays["truth"], arrays["predictions"] = codes[: len(test)], codes[len(test) :]
        header["scores"] = {name: compute_score(name, model, X_test, y[test], found) for name in scores.scoring}
    _add_features(model, header, arrays)
    header["measures"] = _compute_measures(scores.measures, model, (X_train, y[train], X_test, y[test]))
    return header, arrays


def _encode(values: AnyArray, target_type: str) -> tuple[list[Any], AnyArray]:
    """Return the labels and the codes of true and predicted values. Numbers have no labels and are their own codes.

    True and predicted values are coded together, so that a label has the same code in both.
    """
    if target_type == "classes":
        return _encode_labels(values)
    numbers = values.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise NotFiniteError(f"{int((~np.isfinite(numbers)).sum())} predictions are NaN or infinite")
    return [], numbers


def _encode_labels(labels: AnyArray) -> tuple[list[Any], AnyArray]:
    """Return the distinct labels as plain values, and the code of each label."""
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise NotFiniteError(f"{int((~np.isfinite(labels)).sum())} predictions are NaN or infinite")
    if labels.dtype == object and any(label is None or label != label for label in labels):
        raise NotFiniteError("some predictions are missing (None or NaN)")
    # JSON stores the labels once, and the arrays hold codes.
    kinds, codes = np.unique(labels, return_inverse=True)
    plain = [one if isinstance(one, (str, int, float, bool)) else str(one) for one in kinds.tolist()]
    return plain, codes.astype(np.int32)


def _add_features(model: Any, header: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
    """Add feature weights, selected features and the reduction to a cell, if the model has them."""
    scores = feature_scores(model)
    if scores is not None:
        if not np.isfinite(scores).all():
            raise NotFiniteError(f"{int((~np.isfinite(scores)).sum())} feature weights are NaN or infinite")
        arrays["weights"] = scores
    mask = selected_features(model)
    if mask is not None:
        arrays["selected"] = mask
        header["n_selected"] = int(mask.sum())
    weights = getattr(model[-1] if hasattr(model, "steps") else model, "weights_", None)
    kept = getattr(weights, "instance_mask", None)
    if kept is not None or getattr(weights, "feature_mask", None) is not None:
        header["reduction"] = reduction(kept, weights.feature_mask)  # type: ignore[union-attr]


def _compute_measures(
    measures: Mapping[str, Callable[..., Any]], model: Any, parts: tuple[Any, AnyArray, Any, AnyArray]
) -> dict[str, float | None]:
    """Return the user-defined measures of the fitted model. A measure that is not finite becomes None.

    ``parts`` are training rows, training labels, test rows and test labels.
    """
    out: dict[str, float | None] = {}
    for name, function in measures.items():
        value = function(model, *parts)
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            raise InvalidDataError(f"measure {name!r} must return one number; got {value!r}") from error
        out[name] = number if np.isfinite(number) else None
    return out
