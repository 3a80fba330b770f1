"""Files of the estimators of tables: an archive of arrays with a version and digests, without pickle."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .._io.archive import DAMAGE, ArchiveKind, read_archive
from .._io.state import read_state, write_state
from .._typing import FloatArray
from ..exceptions import ModelFileError, WeighborsError

_KIND = ArchiveKind(
    format="weighbors.TableEstimator",
    version=1,
    error=ModelFileError,
    unreadable="'{path}' is no readable model file ({reason}): it is cut off, damaged, or something else. Fit it again",
    foreign="'{path}' is an archive, but no model of a table: save did not write it",
    other_version=(
        "'{path}' has version {found} of the format and this release reads version {version}. "
        "Upgrade weighbors, or fit the model again"
    ),
    changed="'{path}' was changed or damaged: its content is not what was saved. Fit it again",
)
_PROBE_ROWS = 5  # training rows whose predictions are in the file
_BROKEN = (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError, StopIteration, WeighborsError)


def save_estimator(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator of tables to a file, in an atomic write."""
    from importlib.metadata import version

    text, arrays = write_state(model)
    _KIND.write(
        path, {"state": np.array(text), "probe": _probe(model), **arrays},
        kind=type(model).__name__, weighbors=version("weighbors"),
    )  # fmt: skip


def load_estimator(path: str | os.PathLike[str], kind: type) -> Any:
    """Return the estimator of tables in a file. Nothing in the file is executed.

    ``kind`` is the class that the file must hold.

    Raises
    ------
    ModelFileError
        If the file is damaged, was changed, is of another kind or release, or does not answer as it did when saved.
    """
    name = os.fspath(path)
    header, arrays = _KIND.read(path)
    by = f"weighbors {header.get('weighbors')} wrote it"
    try:
        text, probe = str(arrays.pop("state")), arrays.pop("probe")
        model = read_state(text, arrays)
        found = _probe(model) if isinstance(model, kind) else probe
    except _BROKEN as error:
        raise ModelFileError(f"'{name}' holds no valid model ({error}); {by}. Fit it again") from error
    if not isinstance(model, kind):
        raise ModelFileError(
            f"'{name}' is a {type(model).__name__}, not a {kind.__name__}: load it with {type(model).__name__}.load"
        )
    # The same arrays can mean something else to another release. So the model must answer as it did when saved.
    if found.shape != probe.shape or not np.allclose(found, probe, rtol=1e-6, atol=1e-9, equal_nan=True):
        raise ModelFileError(f"'{name}' does not answer as it did when it was saved; {by}. Fit it again")
    return model


def kind_in_file(path: str | os.PathLike[str]) -> str | None:
    """Return the name of the class that loads a model file, or None if it is any other file."""
    try:
        header, _ = read_archive(path)
    except DAMAGE:
        return None
    return str(header.get("kind")) if header.get("format") == _KIND.format else None


def _probe(model: Any) -> FloatArray:
    """Return what the estimator says of a few training rows: probabilities, or labels or numbers."""
    rows = model._reader.encoder.encode(model._table.iloc[:_PROBE_ROWS])
    queries, inner = model._coded(rows), model.estimator_
    if hasattr(inner, "predict_proba"):
        return np.asarray(inner.predict_proba(queries), dtype=np.float64)
    answer = inner.predict(queries)
    return np.asarray(np.searchsorted(model.classes_, answer) if hasattr(model, "classes_") else answer, np.float64)
