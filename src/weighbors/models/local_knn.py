"""The weighted k-NN for tables in memory: it stores rows, chooses values for "auto", and learns weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..engine import Plan
from ..exceptions import InvalidDataError
from ..tables.frames import as_pandas
from ..tables.labels import require_labels
from ..tables.targets import Target
from ..tables.validation import TableCoder, check_sample_weight
from .base_knn import BaseKNeighbors
from .choice import AUTO, KNNChoice, choose_values, is_auto, use_values
from .learning import Fitted, PreparedRows, build_model, join_rows, prepare_rows

if TYPE_CHECKING:
    import pandas as pd

#: Constraints of the parameters that may be "auto", for ``_parameter_constraints``.
AUTO_CONSTRAINTS = {name: [*BaseKNeighbors._parameter_constraints[name], StrOptions({"auto"})] for name in AUTO}


class LocalKNeighbors(BaseKNeighbors):
    """Mixin of the weighted k-NN for tables in memory. A subclass defines ``fit`` and ``partial_fit``.

    The other base class says what votes become, and makes the judge of candidates for "auto" (``_make_judge``).
    """

    _choice: KNNChoice | None

    def _fit_rows(
        self, X: Any, y: Any, check: Callable[[Any], Target], sample_weight: Any, *, least_classes: int = 1
    ) -> Self:
        """Store the first training rows and learn their weights.

        Parameters
        ----------
        X, y, sample_weight
            As the user gave them.
        check : callable
            Checks and codes ``y``.
        least_classes : int
            How many classes must remain after rows of weight 0 are left out.
        """
        require_labels(self, y)
        coder = TableCoder(self.categorical_features, self.handle_unknown)
        table = as_pandas(X)
        rows = coder.fit_transform(self, table)
        target = check(y)
        check_consistent_length(rows, target.codes)
        weight = check_sample_weight(sample_weight, rows)
        return self._learn(prepare_rows(self, table, rows, coder, target, weight, least_classes=least_classes))

    def _add_rows(
        self, X: Any, y: Any, check: Callable[[Any], Target], sample_weight: Any, refresh: bool | None
    ) -> Self:
        """Store further training rows. The parameters are those of `_fit_rows` and of ``partial_fit``."""
        require_labels(self, y)
        target = check(y)
        check_consistent_length(X, target.codes)
        weight = check_sample_weight(sample_weight, X)
        rows = join_rows(self, self._fitted, X, target, weight, refresh)
        return self._learn(rows, None if refresh else self._choice, self._fitted.weigher)

    def _learn(self, rows: PreparedRows, choice: KNNChoice | None = None, weigher: Any = None) -> Self:
        """Choose values for "auto", learn the weights, and set the fitted attributes.

        Parameters
        ----------
        rows : PreparedRows
        choice : KNNChoice, optional
            Values that were chosen before. None: they are chosen now.
        weigher : estimator, optional
            The fitted weigher that learned ``rows.weights`` in an earlier call.
        """
        automatic = [name for name in AUTO if is_auto(getattr(self, name))]
        if not automatic:
            choice = None
        elif choice is None:
            choice = choose_values(self, rows)
        model = use_values(self, **{name: getattr(choice, name) for name in automatic})
        fitted = build_model(model, *rows)
        if rows.weights is not None:
            fitted = fitted._replace(weigher=weigher)
        return self._use(fitted, choice)

    def _use(self, fitted: Fitted, choice: KNNChoice | None = None) -> Self:
        """Set the fitted attributes, and return the estimator."""
        super()._use(fitted)
        self._choice = choice
        return self

    def _value_of(self, name: str) -> Any:
        """Return the value of a parameter, or the value that was chosen for "auto"."""
        value = getattr(self, name)
        if not is_auto(value):
            return value
        if self._choice is None:
            raise InvalidDataError(f"{name}='auto' was set after fit, and values are chosen in fit. Fit again")
        return getattr(self._choice, name)

    @property
    def n_neighbors_(self) -> int:
        """The number of neighbours in use."""
        check_is_fitted(self, "weights_")
        return int(self._value_of("n_neighbors"))

    @property
    def p_(self) -> int:
        """The p in use."""
        check_is_fitted(self, "weights_")
        return int(self._value_of("p"))

    @property
    def vote_kind_(self) -> Any:
        """The value of ``weights`` in use."""
        check_is_fitted(self, "weights_")
        return self._value_of("weights")

    @property
    def choice_(self) -> pd.DataFrame | None:
        """The candidates for "auto", one per row, or None if no parameter is "auto"."""
        import pandas as pd

        check_is_fitted(self, "weights_")
        return None if self._choice is None else pd.DataFrame(self._choice.tried)

    @property
    def plan_(self) -> Plan:
        """Which search ``predict`` uses, and why."""
        plan: Plan = super().plan_
        return plan
