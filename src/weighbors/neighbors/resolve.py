"""From the parameter ``weigher`` to the weights of a search: a weigher is fitted, given weights are checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import _routing_enabled, process_routing
from sklearn.utils.validation import has_fit_parameter

from ..exceptions import InvalidDataError, InvalidWeightsError
from ..tables.coded import CodedTable, fit_model
from ..tables.labels import NUMERIC_ALTERNATIVES
from ..tables.targets import deciding_weigher, expect_target
from ..tables.unscaled import columns_checked
from ..tables.validation import TableCoder, TakesTables
from ..weights import Weights
from .checks import check_fits


def resolve_weights(model: Any, table: CodedTable) -> tuple[Any, Weights]:
    """Return the fitted weigher of ``model``, or None, and the weights of its distance.

    ``model.weigher`` is None, for no weights; `Weights`, which must fit the rows; or an estimator, of which a clone is
    fitted to the rows.

    Parameters
    ----------
    model : estimator
        It routes sample weights to its weigher.
    table : CodedTable
        Its sample weights are those that the weigher gets.
    """
    if model.weigher is None:
        return None, Weights()
    if isinstance(model.weigher, Weights):
        check_fits(model.weigher, table.rows, table.coder.names)
        return None, model.weigher
    weigher, coder, target = clone(model.weigher), table.coder, table.target
    if target.asked == "outputs":  # a regressor; a column of numbers is a vector for weighers
        assert target.numbers is not None
        several = target.numbers.ndim == 2 and target.numbers.shape[1] > 1
        expect_numbers(weigher, target.numbers.shape[1] if several else 1)
        table = table if several else replace(table, target=replace(target, numbers=target.numbers.reshape(-1)))
    elif target.asked is None:  # a classifier
        expect_target(weigher, numeric=False)
    # The weigher must treat the same columns as categories as the model does.
    named = weigher.get_params(deep=False).get("categorical_features", "unknown")
    if not isinstance(named, str):
        coder.check_same(named, type(weigher).__name__, table.rows)
    elif named == "from_dtype" and coder.nominal.any():
        weigher.set_params(categorical_features=coder.nominal)
    params: dict[str, Any] = {}
    if table.given_weight is not None and _routing_enabled():
        params = dict(process_routing(model, "fit", sample_weight=table.given_weight).weigher.fit)
    elif table.given_weight is not None and has_fit_parameter(weigher, "sample_weight"):
        params = {"sample_weight": table.given_weight}
    try:
        with columns_checked():  # the model has the same columns, and warned of them if need be
            weigher = fit_model(weigher, table, **params)
    except (TypeError, ValueError) as error:
        # A weigher of the user's own often takes means of all columns, and the error it meets then names no column.
        if coder.nominal.any() and not isinstance(weigher, TakesTables):
            error.add_note(_categories_note(type(weigher).__name__, coder))
        raise
    weights: Any = getattr(weigher, "weights_", None)
    if not isinstance(weights, Weights):
        raise InvalidWeightsError(
            f"a weigher must leave a Weights as weights_ after fit; {type(weigher).__name__} left "
            f"{type(weights).__name__}"
        )
    if weights.instance_bound and weights.n_samples != table.shape[0]:  # the weigher may have drawn some rows
        check_fits(weights, table.rows, [])  # which raises the error
    return weigher, weights


def _categories_note(name: str, coder: TableCoder) -> str:
    """Return the advice for a weigher that failed on a table with categories."""
    columns = [
        repr(coder.names[j]) if coder.names else f"number {j}" for j in range(len(coder.nominal)) if coder.nominal[j]
    ]
    shown = ", ".join(columns[:5]) + (f" and {len(columns) - 5} more" if len(columns) > 5 else "")
    return (
        f"{name} got a table with categories (column {shown}). A weigher that computes with numbers only needs a table "
        "without them: encode these columns first, for example with sklearn.preprocessing.OneHotEncoder, or leave them "
        "out"
    )


def expect_numbers(weigher: Any, n_outputs: int = 1) -> None:
    """Tell a weigher that the target is numeric and has ``n_outputs`` outputs.

    Raise InvalidDataError if the weigher cannot learn from it.
    """
    weigher = deciding_weigher(weigher)
    name, params = type(weigher).__name__, weigher.get_params(deep=False)
    # A weigher of this library says that it takes numbers. Any other weigher is tried.
    takes = "target_type" in params or getattr(weigher, "_takes_numeric_targets", not isinstance(weigher, TakesTables))
    if not takes or params.get("target_type") == "classes":
        other = f"Use {NUMERIC_ALTERNATIVES.get(name, 'a weigher for numeric targets, for example RReliefF')}"
        change = "Write target_type='numeric'" if takes else other
        raise InvalidDataError(f"{name} needs classes, and this is a regressor. {change}; or give Weights")
    several = hasattr(weigher, "__sklearn_tags__") and get_tags(weigher).target_tags.multi_output
    if n_outputs > 1 and not several:
        raise InvalidDataError(
            f"{name} learns from one numeric target, and y has {n_outputs} outputs. Use weigher=None or give Weights, "
            "or fit one regressor per output, for example with sklearn.multioutput.MultiOutputRegressor"
        )
    expect_target(weigher, numeric=True)
