"""From checked training rows to a search engine under learned weights: what ``fit`` and ``partial_fit`` do.

``model`` is the estimator: its parameters are read here, its state only in `grown`; nothing is set.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import _routing_enabled, process_routing
from sklearn.utils.validation import has_fit_parameter

from .._typing import AnyArray, FloatArray, IndexArray
from .._validation import TableCoder
from ..engine import NeighborEngine
from ..exceptions import InvalidWeightsError
from ..weights import Weights
from ._checks import check_fits, class_of_row
from ._training import Training, check_growth, indexable, masses

__all__ = ["Fitted", "grown", "learned"]


class Fitted(NamedTuple):
    """Everything a k-NN knows after it has learned."""

    training: Training
    coder: TableCoder
    classes: AnyArray
    weigher: Any  # fitted, or None
    weights: Weights
    engine: NeighborEngine
    mass: FloatArray | None  # repetitions of the stored rows; None: one each
    n_given: int  # rows that came, those of weight 0 included


def learned(
    model: Any,
    table: Any,
    X: Any,
    coder: TableCoder,
    classes: AnyArray,
    codes: IndexArray,
    sample_weight: FloatArray | None,
) -> Fitted:
    """Learn weights from rows and store them; rows of weight 0 are left out."""
    n = X.shape[0]
    mass = masses(codes, classes, sample_weight, model.class_weight)
    kept = np.arange(n) if mass is None else np.flatnonzero(mass > 0)
    table = X if sparse.issparse(X) else indexable(table, coder.nominal)
    weights = None if model.weigher is None else _given(model.weigher, X, kept, coder.names)
    rows = X
    if len(kept) < n:
        table = _safe_indexing(table, kept)
        # categories are coded as if the rows of weight 0 had never been there
        rows = coder.fit_transform(model, table) if coder.nominal.any() else X[kept]
    training = Training(rows, codes[kept], kept, None if sample_weight is None else sample_weight[kept])
    return _assembled(model, training, coder, classes, table, weights, n)


def grown(model: Any, before: Fitted, X: Any, codes: IndexArray, sample_weight: Any, refresh: bool | None) -> Fitted:
    """What was learned ``before``, with further rows; weights learned anew, or the old ones for all."""
    mass = masses(codes, before.classes, sample_weight, model.class_weight)
    kept = np.arange(len(codes)) if mass is None else np.flatnonzero(mass > 0)
    coder = deepcopy(before.coder)
    rows = coder.extend(model, X)
    if len(kept) < len(codes):  # categories are coded as if the others had never been there
        coder = deepcopy(before.coder)
        rows = coder.extend(model, _safe_indexing(X, kept)) if len(kept) else rows[:0]
    new = Training(rows, codes[kept], kept + before.n_given, None if sample_weight is None else sample_weight[kept])
    training, n = before.training.joined(new), before.n_given + len(codes)
    if refresh is None:
        refresh = before.weights.instance_bound
    if before.weigher is None or not refresh:
        check_growth(before.weights, before.classes, new.codes)
        fitted = _assembled(model, training, coder, before.classes, None, before.weights, n)
        return fitted._replace(weigher=before.weigher)
    table = coder.table_of(training.X, getattr(model, "feature_names_in_", None))
    return _assembled(model, training, coder, before.classes, table, None, n)


def _given(weigher: Any, X: Any, kept: IndexArray, names: list[str]) -> Weights | None:
    """Weights that came as they are, for the kept rows; None where a weigher will learn them."""
    if not isinstance(weigher, Weights):
        return None
    check_fits(weigher, X, names)
    return weigher if len(kept) == X.shape[0] or not weigher.instance_bound else weigher.take(kept)


def _assembled(
    model: Any,
    training: Training,
    coder: TableCoder,
    classes: AnyArray,
    table: Any,
    weights: Weights | None,
    n_given: int,
) -> Fitted:
    """Learn the weights where they are not there yet, and make the engine."""
    weigher = None
    if weights is None:
        weigher = _fitted_weigher(model, table, training, classes, coder)
        weights = _learned_weights(weigher)
    engine = NeighborEngine(
        training.X,
        weights=weights,
        p=int(model.p),
        nominal=coder.nominal if coder.nominal.any() else None,
        class_of_row=class_of_row(weights, classes, training.codes),
        backend=model.backend,
        n_jobs=model.n_jobs,
    )
    mass = masses(training.codes, classes, training.sample_weight, model.class_weight)
    return Fitted(training, coder, classes, weigher, weights, engine, mass, n_given)


def _fitted_weigher(model: Any, table: Any, training: Training, classes: AnyArray, coder: TableCoder) -> Any:
    """A clone of the weigher, fitted to the stored rows; None without one."""
    if model.weigher is None:
        return None
    weigher, sample_weight = clone(model.weigher), training.sample_weight
    named = weigher.get_params(deep=False).get("categorical_features", "unknown")
    if not isinstance(named, str):
        coder.check_same(named, type(weigher).__name__, training.X)
    elif named == "from_dtype" and coder.nominal.any():
        weigher.set_params(categorical_features=coder.nominal)
    params: dict[str, Any] = {}
    if _routing_enabled():
        params = dict(process_routing(model, "fit", sample_weight=sample_weight).weigher.fit)
    elif sample_weight is not None and has_fit_parameter(weigher, "sample_weight"):
        params = {"sample_weight": sample_weight}
    return weigher.fit(table, classes[training.codes], **params)


def _learned_weights(weigher: Any) -> Weights:
    if weigher is None:
        return Weights()
    weights: Any = getattr(weigher, "weights_", None)
    if not isinstance(weights, Weights):
        raise InvalidWeightsError(
            f"a weigher must leave a Weights as weights_ after fit; {type(weigher).__name__} left "
            f"{type(weights).__name__}"
        )
    return weights
