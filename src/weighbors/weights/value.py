"""Every kind of weight that shapes a neighbourhood, as one immutable value.

The distance from a query q to a stored instance x is::

    d²(q, x) = v_x² · Σ_j s_j · a_xj · (q_j − x_j)²      over instances with t_x = 1

and for p = 1 the sum of weighted absolute differences, times v_x. A `Weights` object holds a, v, s and t, and also ω,
the votes of the instances. Weighers return it, and the engine and the classifiers read it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from html import escape
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from .._display.html import bar, block, heading, paragraph, table
from .._names import require_text
from .._typing import AnyArray, BoolArray, FloatArray, IndexArray
from ..exceptions import InvalidWeightsError, WeightsFileError
from .file import read_state, write_state
from .intervals import IntervalTable, freeze

if TYPE_CHECKING:
    import pandas as pd


def check_non_negative(values: Any, name: str, ndim: tuple[int, ...]) -> FloatArray:
    """Return a read-only copy of weights, after checks.

    Raise InvalidWeightsError if a weight is negative or not finite, if all are zero, or if the number of dimensions is
    not one of ``ndim``. ``name`` is the name of the weights in the message.
    """
    raw = np.asarray(values)
    if raw.dtype.kind not in "fiub":
        raise InvalidWeightsError(f"{name} must be real numbers; got an array of {raw.dtype}")
    if raw.ndim not in ndim or raw.size == 0:
        wanted = " or ".join({1: "a vector", 2: "a matrix"}[n] for n in ndim)
        raise InvalidWeightsError(f"{name} must be {wanted} that is not empty; got shape {raw.shape}")
    out: FloatArray = np.array(raw, dtype=np.float64, order="C")
    out.setflags(write=False)
    bad = ~np.isfinite(out)
    if bad.any():
        where = np.argwhere(bad)[0].tolist()
        raise InvalidWeightsError(f"{name} must be finite; got {out[tuple(where)]} at position {_at(where)}")
    if (out < 0).any():
        where = np.argwhere(out < 0)[0].tolist()
        raise InvalidWeightsError(
            f"{name} must not be negative; got {out[tuple(where)]:g} at position {_at(where)}. "
            "Clip them to 0 (numpy.maximum(w, 0)) if a negative weight means an irrelevant feature."
        )
    if not (out > 0).any():
        raise InvalidWeightsError(
            f"{name} are all zero, so nothing would be told apart. Leave {name} out for equal weights"
        )
    return out


def check_mask(values: Any, name: str) -> BoolArray:
    """Return a read-only copy of a mask. Raise InvalidWeightsError if it is no vector of bool, or all False."""
    out = freeze(values, None)
    if out.ndim != 1 or out.dtype != bool:
        raise InvalidWeightsError(f"{name} must be a vector of bool; got {out.dtype} of shape {out.shape}")
    if not out.any():
        raise InvalidWeightsError(f"{name} keeps nothing: at least one entry must be True")
    return out


def _at(where: list[int]) -> str:
    """Format the indices ``where`` of an array entry for a message."""
    return str(where[0]) if len(where) == 1 else str(tuple(where))


@dataclass(frozen=True, eq=False, repr=False)
class Weights:
    """Feature weights, instance weights, votes and selections, as one immutable value.

    Parameters
    ----------
    feature_weights : array-like of shape (M,), (K, M) or (N, M), optional
        ``a``: factors of the squared differences (p = 2) or of the absolute differences (p = 1). A matrix has one row
        per class if ``classes`` is given, otherwise one row per training instance.
    instance_scales : array-like of shape (N,), optional
        ``v``: factors of the distances to the instances. A high value puts an instance far away, so it matters less.
    votes : array-like of shape (N,), optional
        ``ω``: factors of the votes of the instances.
    feature_mask : array-like of bool, shape (M,), optional
        ``s``: the features that count.
    instance_mask : array-like of bool, shape (N,), optional
        ``t``: the instances that may be neighbours.
    classes : array-like of shape (K,), optional
        Labels of the rows of ``feature_weights``, or of the classes of ``intervals``.
    intervals : IntervalTable, optional
        ``a`` as a table per class, feature and interval, instead of ``feature_weights``.
    feature_names : sequence of str, optional
    n_samples : int, optional
        Number of training rows. It is needed only if no other part has one entry per training row.
    fingerprint : str, optional
        `fingerprint` of the training rows. A classifier raises an error if its training rows are others.

    Raises
    ------
    InvalidWeightsError
        If a part is negative, not finite, all zero, or of the wrong type or shape.

    Examples
    --------
    >>> Weights(feature_weights=[0.9, 0.1, 0.0], feature_names=["size", "age", "id"])
    Weights of 3 features
      feature weights, largest of 3:
        size  0.9
        age   0.1
        id    0
    >>> Weights(feature_weights=[0.9, -0.1])
    Traceback (most recent call last):
    ...
    weighbors.exceptions.InvalidWeightsError: feature_weights must not be negative; got -0.1 at position 1. \
Clip them to 0 (numpy.maximum(w, 0)) if a negative weight means an irrelevant feature.
    """

    feature_weights: FloatArray | None = None
    instance_scales: FloatArray | None = None
    votes: FloatArray | None = None
    feature_mask: BoolArray | None = None
    instance_mask: BoolArray | None = None
    classes: AnyArray | None = None
    intervals: IntervalTable | None = None
    feature_names: tuple[str, ...] | None = None
    n_samples: int | None = None
    fingerprint: str | None = None

    def __post_init__(self) -> None:
        # The dataclass is frozen. Arguments are replaced by checked, read-only copies before anybody sees it.
        put = object.__setattr__
        if self.feature_weights is not None:
            put(self, "feature_weights", check_non_negative(self.feature_weights, "feature_weights", (1, 2)))
        for name in ("instance_scales", "votes"):
            if getattr(self, name) is not None:
                put(self, name, check_non_negative(getattr(self, name), name, (1,)))
        for name in ("feature_mask", "instance_mask"):
            if getattr(self, name) is not None:
                put(self, name, check_mask(getattr(self, name), name))
        if self.classes is not None:
            put(self, "classes", _labels(self.classes))
        if self.n_samples is not None and (not isinstance(self.n_samples, Integral) or self.n_samples < 1):
            raise InvalidWeightsError(f"n_samples must be a whole number of at least 1; got {self.n_samples!r}")
        if self.feature_names is not None:
            put(self, "feature_names", tuple(str(name) for name in self.feature_names))
            require_text(self.feature_names, "feature name", InvalidWeightsError)
        if self.intervals is not None and self.feature_weights is not None:
            raise InvalidWeightsError("feature_weights and intervals are two ways to say the same; give one of them")
        if self.classes is not None or self.intervals is not None:
            self._check_rows_of_classes()
        sizes: dict[str, dict[str, Any]] = {
            "n_features": {
                "feature_weights": None if self.feature_weights is None else self.feature_weights.shape[-1],
                "intervals": None if self.intervals is None else self.intervals.n_features,
                "feature_mask": self.feature_mask,
                "feature_names": self.feature_names,
            },
            "n_samples": {
                "n_samples": self.n_samples,
                "feature_weights": self.feature_weights if self.kind == "instance" else None,
                "instance_scales": self.instance_scales,
                "votes": self.votes,
                "instance_mask": self.instance_mask,
            },
        }
        for what, parts in sizes.items():
            given = {name: part for name, part in parts.items() if part is not None}
            known = {name: int(part) if isinstance(part, Integral) else len(part) for name, part in given.items()}
            if len(set(known.values())) > 1:
                listed = ", ".join(f"{name}: {size}" for name, size in known.items())
                raise InvalidWeightsError(f"the parts disagree on {what} ({listed})")
        # The sizes looked at last are the numbers of rows. If one part has it, the value knows it.
        put(self, "n_samples", next(iter(known.values()), None))

    def _check_rows_of_classes(self) -> None:
        """Raise InvalidWeightsError if ``classes`` does not fit ``feature_weights`` or ``intervals``."""
        if self.classes is None:
            raise InvalidWeightsError("intervals need classes=, the label of each class in the table")
        if self.intervals is not None:
            per_class = self.intervals.n_classes
        elif self.feature_weights is not None and self.feature_weights.ndim == 2:
            per_class = len(self.feature_weights)
        else:
            raise InvalidWeightsError(
                "classes= goes with feature_weights of shape (n_classes, n_features) or intervals"
            )
        if per_class != len(self.classes):
            raise InvalidWeightsError(
                f"one row of weights per class is needed; got {per_class} rows for {len(self.classes)} classes"
            )

    @property
    def kind(self) -> str:
        """What the feature weights ``a`` depend on: "none", "feature", "class", "instance" or "interval"."""
        if self.intervals is not None:
            return "interval"
        if self.feature_weights is None:
            return "none"
        if self.feature_weights.ndim == 1:
            return "feature"
        return "instance" if self.classes is None else "class"

    @property
    def n_features(self) -> int | None:
        """Number of features, or None if no part has one entry per feature."""
        if self.feature_weights is not None:
            return int(self.feature_weights.shape[-1])
        if self.intervals is not None:
            return self.intervals.n_features
        named = self.feature_names if self.feature_mask is None else self.feature_mask
        return None if named is None else len(named)

    @property
    def instance_bound(self) -> bool:
        """Whether a part has one entry per training row, so that the weights do not fit other rows."""
        parts = (self.instance_scales, self.votes, self.instance_mask)
        return self.kind == "instance" or any(part is not None for part in parts)

    def fold(self, X: Any, *, p: int = 2) -> FloatArray:
        """Scale the columns of ``X`` so that plain distances become the weighted ones.

        Parameters
        ----------
        X : array-like of shape (n, M)
        p : {1, 2}
            2: columns are multiplied by √a, for Euclidean distance. 1: they are multiplied by a, for city-block
            distance.

        Returns
        -------
        ndarray of shape (n, M)
            A column is 0 if its weight is 0 or ``feature_mask`` leaves it out.

        Examples
        --------
        >>> Weights(feature_weights=[4.0, 1.0], feature_mask=[True, False]).fold([[1.0, 5.0]])
        array([[2., 0.]])
        """
        if self.kind not in ("none", "feature"):
            raise InvalidWeightsError(
                f"only weights that are the same for all instances fold into the data; these are per {self.kind}"
            )
        if p not in (1, 2):
            raise InvalidWeightsError(f"p must be 1 or 2; got {p!r}")
        X = np.asarray(X)
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        M = self.n_features
        if X.ndim != 2 or (M is not None and X.shape[1] != M):
            raise InvalidWeightsError(f"fold needs an array of shape (n, {M}); got {X.shape}")
        factor = np.ones(X.shape[1]) if self.feature_weights is None else self.feature_weights
        factor = np.sqrt(factor) if p == 2 else factor
        # A factor of 0 takes a column out of every distance.
        if self.feature_mask is not None:
            factor = np.where(self.feature_mask, factor, 0.0)
        folded: FloatArray = X * factor.astype(X.dtype)
        folded[:, factor == 0] = 0.0  # also the missing values
        return folded

    def take(self, rows: IndexArray) -> Weights:
        """Return the weights of the training rows with the numbers ``rows``, in this order."""
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        for name in ("instance_scales", "votes", "instance_mask"):
            if parts[name] is not None:
                parts[name] = parts[name][rows]
        if self.kind == "instance":
            parts["feature_weights"] = parts["feature_weights"][rows]
        # A part of the rows has another fingerprint than all rows.
        return Weights(**{**parts, "n_samples": len(rows), "fingerprint": None})

    def frame(self) -> pd.DataFrame:
        """Return the feature weights as a table with one row per feature.

        Weights per class have one column per class.
        """
        import pandas as pd

        names = self._names()
        if self.kind == "feature":
            frame = pd.DataFrame({"weight": self.feature_weights}, index=names)
        elif self.kind == "class":
            assert self.feature_weights is not None
            frame = pd.DataFrame(self.feature_weights.T, index=names, columns=list(self.classes))  # type: ignore[arg-type]
        elif self.kind == "none":
            frame = pd.DataFrame({"weight": np.ones(len(names))}, index=names)
        else:
            raise InvalidWeightsError(f"weights per {self.kind} have no table of one row per feature")
        if self.feature_mask is not None:
            frame["kept"] = self.feature_mask
        return frame.rename_axis("feature")

    def _names(self) -> list[str]:
        """Return the feature names, or x0, x1, ... if there are no names."""
        return list(self.feature_names or (f"x{j}" for j in range(self.n_features or 0)))

    def __repr__(self) -> str:
        sizes = []
        if self.n_features:
            sizes.append(f"{self.n_features} features")
        if self.n_samples:
            sizes.append(f"{self.n_samples} instances")
        return "\n".join([f"Weights of {' and '.join(sizes) or 'nothing (plain distances)'}", *self._describe()])

    def _repr_html_(self) -> str:
        """Return the weights for a notebook: a bar for each of the largest feature weights, or a column per class."""
        first, *rest = repr(self).splitlines()
        if self.kind not in ("feature", "class"):
            return block(heading(first), *(paragraph(line.strip()) for line in rest))
        assert self.feature_weights is not None
        matrix = np.atleast_2d(self.feature_weights)
        largest, names = float(matrix.max()), self._names()
        top = np.argsort(-matrix.max(axis=0), kind="stable")[:10]
        head = ["feature", *(["weight", ""] if self.kind == "feature" else [str(label) for label in self.classes])]  # type: ignore[union-attr]
        bars = self.kind == "feature"
        lines = [
            [escape(names[j]), *(f"{a:.4g}" for a in matrix[:, j])]
            + [bar(matrix[0, j], largest, two_sided=False)] * bars
            for j in top
        ]
        hidden = len(names) - len(top)
        note = paragraph(f"{hidden} more features: see frame().", soft=True) if hidden else ""
        others = [line.strip() for line in rest if line.startswith("  ") and not line.startswith("    ")]
        notes = (paragraph(line) for line in others if not line.startswith("feature weights"))
        return block(heading(first), table(head, lines, raw=True), note, *notes)

    def _describe(self) -> list[str]:
        """Return the lines of `__repr__` after the first line."""
        lines = []
        names = self._names()
        if self.kind == "feature":
            assert self.feature_weights is not None
            top = np.argsort(-self.feature_weights, kind="stable")[:10]
            width = max(len(names[j]) for j in top)
            lines.append(f"  feature weights, largest of {len(names)}:")
            lines += [f"    {names[j]:<{width}}  {self.feature_weights[j]:.4g}" for j in top]
        elif self.kind == "class":
            assert self.feature_weights is not None
            assert self.classes is not None
            lines.append("  feature weights per class, largest:")
            for label, row in zip(self.classes, self.feature_weights, strict=True):
                top = np.argsort(-row, kind="stable")[:5]
                lines.append(f"    {label}: " + ", ".join(f"{names[j]} {row[j]:.4g}" for j in top))
        elif self.kind == "instance":
            lines.append("  feature weights per instance")
        elif self.kind == "interval":
            assert self.intervals is not None
            lines.append(f"  feature weights per interval: {len(self.intervals.weight)} intervals")
        if self.feature_mask is not None:
            lines.append(f"  features kept: {int(self.feature_mask.sum())} of {len(self.feature_mask)}")
        if self.instance_mask is not None:
            lines.append(f"  instances kept: {int(self.instance_mask.sum())} of {len(self.instance_mask)}")
        for name, values in (("instance scales", self.instance_scales), ("votes", self.votes)):
            if values is not None:
                lines.append(f"  {name}: {values.min():.4g} to {values.max():.4g}, mean {values.mean():.4g}")
        return lines

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Weights):
            return NotImplemented
        mine, theirs = self._state(), other._state()
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[key], theirs[key]) for key in mine)

    def __hash__(self) -> int:
        return hash((self.kind, self.n_features, self.n_samples))

    def _state(self) -> dict[str, AnyArray]:
        """Return every part that is not None, as arrays without Python objects. These are compared and saved."""
        state: dict[str, AnyArray] = {}
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(value, IntervalTable):
                for piece in fields(value):
                    state[f"intervals.{piece.name}"] = np.asarray(getattr(value, piece.name))
            elif value is not None:
                state[part.name] = np.asarray(value)
        return state

    def __reduce__(self) -> tuple[Any, ...]:  # through the constructor: copies are checked and stay read-only
        return type(self), tuple(getattr(self, part.name) for part in fields(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the weights to ``path`` (npz with a JSON header), in an atomic write."""
        write_state(path, self._state())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Weights:
        """Read weights that `save` wrote. Nothing in the file is executed.

        Raises
        ------
        WeightsFileError
            If the file is damaged, or holds no weights.
        """
        try:
            return cls(**parts_of(read_state(path)))
        except (TypeError, ValueError, KeyError, IndexError) as error:
            if isinstance(error, WeightsFileError):
                raise
            raise WeightsFileError(f"'{os.fspath(path)}' holds no valid weights: {error}") from error


def _labels(classes: Any) -> AnyArray:
    """Return class labels as a read-only vector.

    Raise InvalidWeightsError if labels repeat or are neither all numbers nor all text.
    """
    labels = freeze(np.asarray(classes).tolist(), None)
    if labels.ndim != 1 or labels.dtype.kind not in "biufUS" or len(np.unique(labels)) != len(labels):
        raise InvalidWeightsError("classes must be a vector of different labels, all numbers or all text")
    if labels.dtype.kind == "U" and not all(isinstance(label, str) for label in np.asarray(classes).tolist()):
        raise InvalidWeightsError("classes must be all numbers or all text; got a mixture")
    require_text(labels, "class", InvalidWeightsError)
    return labels


def parts_of(state: Mapping[str, AnyArray]) -> dict[str, Any]:
    """Return the arguments of `Weights` from the arrays ``state`` of a file."""
    parts: dict[str, Any] = {}
    table: dict[str, Any] = {}
    for key, value in state.items():
        target, name = (table, key.removeprefix("intervals.")) if key.startswith("intervals.") else (parts, key)
        target[name] = value.item() if value.ndim == 0 else value
    if table:
        parts["intervals"] = IntervalTable(**table)
    return parts
