"""One cell of a study: fit on the training rows, predict the others, write what happened."""

from __future__ import annotations

import platform
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, f1_score, get_scorer
from sklearn.utils import _safe_indexing

from .._typing import AnyArray, IndexArray
from ..exceptions import InvalidDataError
from ..metrics import g_mean, reduction
from ._fitting import feature_scores, seeded, selected_features
from ._store import write_cell

__all__ = ["Cell", "Job", "StudyData", "failure", "run_cell", "versions"]

#: Scores that need labels only; any other name is one of scikit-learn's scorers.
LABEL_SCORES: dict[str, Callable[[Any, Any], float]] = {
    "accuracy": lambda true, found: float(np.mean(true == found)),
    "balanced_accuracy": lambda true, found: float(balanced_accuracy_score(true, found)),
    "error_rate": lambda true, found: float(np.mean(true != found)),
    "f1_macro": lambda true, found: float(f1_score(true, found, average="macro", zero_division=0.0)),
    "g_mean": g_mean,
}


@dataclass(frozen=True, eq=False)
class StudyData:
    """A data set of a study.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame of shape (n, M)
    y : array-like of shape (n,)
    groups : array-like of shape (n,), optional
        Rows that stay together.
    splits : list of (train, test), optional
        Row numbers to use instead of the study's ``cv``, for data with partitions of their own.
    """

    X: Any
    y: Any
    groups: Any = None
    splits: Any = None


@dataclass(frozen=True)
class Cell:
    """One method on one fold of one data set."""

    identity: str
    dataset: str
    method: str
    repeat: int
    fold: int
    seed: int


@dataclass(frozen=True, eq=False)
class Job:
    """What all cells of a study share. Sent once to every worker."""

    methods: Mapping[str, Mapping[str, Any]]  # of each data set
    scoring: tuple[str, ...]
    measures: Mapping[str, Callable[..., Any]]


class NotFiniteError(ValueError):
    """A score, a prediction or a weight is NaN or infinite."""


@lru_cache
def versions() -> dict[str, str]:
    """Versions that results may depend on."""
    found = {name: version(name) for name in ("weighbors", "numpy", "scipy", "scikit-learn")}
    return {"python": platform.python_version(), **found}


def _head(cell: Cell) -> dict[str, Any]:
    place = {"dataset": cell.dataset, "method": cell.method, "repeat": cell.repeat, "fold": cell.fold}
    return {**place, "seed": cell.seed, "versions": versions()}


def failure(cell: Cell, path: Path, kind: str, error: str, trace: str, seconds: float) -> None:
    """Write a cell that failed: ``kind`` is "raised", "nan", "timeout" or "died"."""
    header = {"status": "failed", "kind": kind, "error": error, "traceback": trace, "seconds": seconds}
    write_cell(path, {**_head(cell), **header}, {})


def run_cell(job: Job, data: StudyData, cell: Cell, train: IndexArray, test: IndexArray, path: Path) -> str:
    """Compute a cell and write it; returns its status. Errors are results, too."""
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            header, arrays = _computed(job, data, cell, train, test)
        header["warnings"] = sorted({f"{type(w.message).__name__}: {w.message}" for w in caught})[:20]
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit: whatever a method does ends in its own cell
        kind = "nan" if isinstance(error, NotFiniteError) else "raised"
        told = f"{type(error).__name__}: {error}"
        failure(cell, path, kind, told, traceback.format_exc(), time.perf_counter() - begin)
        return "failed"
    write_cell(path, {**_head(cell), "status": "done", **header}, arrays)
    return "done"


def _one_thread(model: Any) -> Any:
    """Parallel work happens outside, over cells."""
    names = [
        name
        for name, value in model.get_params(deep=True).items()
        if (name == "n_jobs" or name.endswith("__n_jobs")) and value not in (None, 1)
    ]
    return model.set_params(**dict.fromkeys(names, 1)) if names else model


def _computed(
    job: Job, data: StudyData, cell: Cell, train: IndexArray, test: IndexArray
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    X_train, X_test = (_safe_indexing(data.X, rows) for rows in (train, test))
    y = np.asarray(data.y)
    model = _one_thread(seeded(job.methods[cell.dataset][cell.method], cell.seed))
    begin = time.perf_counter()
    model.fit(X_train, y[train])
    fitted_at = time.perf_counter()
    arrays: dict[str, AnyArray] = {"rows": test.astype(np.int32)}
    header: dict[str, Any] = {
        "n_train": len(train),
        "n_test": len(test),
        "n_features": int(data.X.shape[1]),
        "fit_seconds": fitted_at - begin,
    }
    scores: dict[str, float] = {}
    if hasattr(model, "predict"):
        found = np.asarray(model.predict(X_test))
        header["predict_seconds"] = time.perf_counter() - fitted_at
        if found.shape != test.shape:
            raise ValueError(f"predict must return one label per row, {test.shape}; got shape {found.shape}")
        header["labels"], codes = _coded(np.concatenate([y[test], found]))
        arrays["truth"], arrays["predictions"] = codes[: len(test)], codes[len(test) :]
        scores = {name: _score(name, model, X_test, y[test], found) for name in job.scoring}
    header["scores"] = scores
    _add_features(model, header, arrays)
    header["measures"] = _measured(job, model, (X_train, y[train], X_test, y[test]))
    return header, arrays


def _score(name: str, model: Any, X_test: Any, true: AnyArray, found: AnyArray) -> float:
    score = LABEL_SCORES[name](true, found) if name in LABEL_SCORES else float(get_scorer(name)(model, X_test, true))
    if not np.isfinite(score):
        raise NotFiniteError(f"the score {name} is {score}")
    return score


def _coded(labels: AnyArray) -> tuple[list[Any], AnyArray]:
    """Labels as plain values, and the code of each."""
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise NotFiniteError(f"{int((~np.isfinite(labels)).sum())} predictions are NaN or infinite")
    if labels.dtype == object and any(label is None or label != label for label in labels):
        raise NotFiniteError("some predictions are missing (None or NaN)")
    kinds, codes = np.unique(labels, return_inverse=True)
    plain = [one if isinstance(one, (str, int, float, bool)) else str(one) for one in kinds.tolist()]
    return plain, codes.astype(np.int32)


def _add_features(model: Any, header: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
    """Weights, selected features and reduction, where the model has any."""
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


def _measured(job: Job, model: Any, parts: tuple[Any, AnyArray, Any, AnyArray]) -> dict[str, float | None]:
    """What the study's own functions make of the fitted model; NaN is an answer of theirs."""
    out: dict[str, float | None] = {}
    for name, function in job.measures.items():
        value = function(model, *parts)
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            raise InvalidDataError(f"measure {name!r} must return one number; got {value!r}") from error
        out[name] = number if np.isfinite(number) else None
    return out
