"""What no estimator takes, and what it says then: one table of input and message for all of them."""

from numbers import Real

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from contract.cases import CASES, make, needs_numbers, small_table
from contract.test_tables import NAMES, WEIGHTED
from weighbors.tables.targets import accepted_target

pytestmark = pytest.mark.filterwarnings("ignore")
every_case = pytest.mark.parametrize("name", CASES)
#: These need no target.
UNSUPERVISED = {"WeightedNearestNeighbors"}
#: These may predict the same for all rows.
CONSTANT = {name for name in CASES if "Regressor" in name or name.startswith(("k-NN of num", "learned votes of num"))}
#: These find out the kinds of columns, and leave columns out that they cannot use.
TABLES = {"TableClassifier", "TableRegressor"}
CLEANED = {"infinity", "text", "dates", "lists"}
BROKEN = "size\ud800"  # half a character


def with_cell(X, value):
    X = X.astype(complex if isinstance(value, complex) else float)
    X[3, 1] = value
    return X


def with_column(X, values):
    return pd.DataFrame(X, columns=NAMES).assign(b=values)


def broken_categories(n):
    return pd.Categorical.from_codes(np.arange(n) % 2, categories=pd.Index(["u", BROKEN], dtype=object))


#: What is done to a good table, and what is said of it.
BAD_ROWS = {
    "infinity": (lambda X: with_cell(X, np.inf), "infinity"),
    "complex": (lambda X: with_cell(X, 1j), "[Cc]omplex"),
    "a vector": (lambda X: X[:, 0], "2D|two dimensions|table"),
    "a cube": (lambda X: X[None], "dim|2D|table|inconsistent"),
    "no columns": (lambda X: X[:, :0], r"0 feature|no column|at least"),
    "text": (
        lambda X: X.astype(str).astype("<U9") if False else np.full(X.shape, "x"),
        "no number|text|convert|string",
    ),
    "dates": (lambda X: with_column(X, pd.date_range("2020", periods=len(X))), "'b' .*dates or durations"),
    "lists": (lambda X: with_column(X, [[1]] * len(X)), "'b' .*lists, dicts"),
    "half a character in a name": (
        lambda X: pd.DataFrame(X, columns=pd.Index([*"abcd", BROKEN], dtype=object)),
        "half of a character",
    ),
    "half a character in a cell": (
        lambda X: with_column(X, broken_categories(len(X))),
        "half of a",
    ),
    "two columns of one name": (lambda X: pa.table(list(X.T), names=list("aabcd")), "more than one column of one name"),
    "a lazy table": (lambda X: pl.DataFrame(X, schema=NAMES).lazy(), r"call \.collect\(\) first|polars.lazyframe"),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in CASES for kind in BAD_ROWS if not (name in TABLES and kind in CLEANED)],
)
def test_bad_rows(name, kind):
    X, y = small_table(name)
    change, message = BAD_ROWS[kind]
    with pytest.raises((ValueError, TypeError), match=message):
        make(name).fit(change(X), y)


#: What stands in place of a target, for which of them, and what is said.
BAD_TARGETS = {
    "nothing": (lambda y: None, "both", "y is None|requires y|y to be passed|got None"),
    "none": (lambda y: [], "both", "y is empty|at least 2 rows|inconsistent|empty"),
    "too few": (lambda y: y[:-1], "both", "inconsistent|per row"),
    "missing": (lambda y: np.where(np.arange(len(y)) == 2, None, y.astype(object)), "both", "missing|NaN|NoneType"),
    "masked": (
        lambda y: np.ma.masked_array(np.arange(len(y)) % 3 * 1.0, np.arange(len(y)) == 1),
        "both",
        "NaN|missing",
    ),
    "one class": (lambda y: np.zeros(len(y), dtype=int), "classes", "2 classes"),
    "numbers": (lambda y: np.linspace(0, 1, len(y)), "only classes", "looks like a numeric target|resample classes"),
    "half a character": (lambda y: np.where(y == "barolo", BROKEN, y), "classes", "half of a character"),
    "constant": (lambda y: np.ones(len(y)), "numbers", "constant"),
    "labels": (lambda y: np.array(["x", "y"] * (len(y) // 2)), "numbers", "must hold numbers|looks like|number"),
    "infinity": (lambda y: np.where(np.arange(len(y)) == 2, np.inf, y), "numbers", "infinity"),
}


def concerns(name, kind):
    wanted = BAD_TARGETS[kind][1]
    if name in UNSUPERVISED or (kind == "constant" and name in CONSTANT):
        return False
    if (name, kind) == ("InstanceSampler", "masked"):  # as imbalanced-learn does
        return False
    if needs_numbers(name):
        return wanted in ("both", "numbers")
    return wanted in ("both", "classes") or (wanted == "only classes" and only_classes(name))


def only_classes(name):
    return accepted_target(CASES[name]) is None and name not in ("StabilitySelection", "InstanceSampler")


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in CASES for kind in BAD_TARGETS if concerns(name, kind)]
)
def test_bad_targets(name, kind):
    X, y = small_table(name)
    change, _, message = BAD_TARGETS[kind]
    with pytest.raises((ValueError, TypeError), match=message):
        make(name).fit(X, change(y))


BAD_WEIGHTS = {
    "all zero": (lambda n: np.zeros(n), "zero"),
    "missing": (lambda n: np.where(np.arange(n) == 3, np.nan, 1.0), "NaN"),
    "negative": (lambda n: np.where(np.arange(n) == 3, -1.0, 1.0), "[Nn]egative"),
    "too few": (lambda n: np.ones(n - 1), "sample_weight"),
    "two columns": (lambda n: np.ones((n, 2)), "1D|sample_weight"),
}


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("kind", BAD_WEIGHTS)
def test_bad_weights_of_rows(name, kind):
    X, y = small_table(name)
    change, message = BAD_WEIGHTS[kind]
    with pytest.raises(ValueError, match=message):
        make(name).fit(X, y, sample_weight=change(len(X)))


#: What is done to the table of fit before it is asked about.
BAD_QUERIES = {
    "fewer columns": (lambda X: X.drop(columns="e"), "missing|lacks|expecting|features"),
    "other names": (lambda X: X.rename(columns={"b": "z"}), "unseen|lacks|missing|names"),
    "infinity": (lambda X: X.assign(b=np.inf), "infinity"),
    "text in place of numbers": (lambda X: X.assign(b="tall"), "'b' .*numeric"),
    "no rows": (lambda X: X[:0], "0 sample|no row|empty|at least"),
}
OF_NAMES = ("fewer columns", "other names")
QUESTIONS = ["predict", "predict_proba", "kneighbors", "transform"]


@every_case
def test_bad_queries(name):
    X, y = small_table(name)
    frame = pd.DataFrame(X, columns=NAMES)
    model = make(name).fit(frame, y)
    for question in (one for one in QUESTIONS if hasattr(model, one)):
        for kind, (change, message) in BAD_QUERIES.items():
            # transform takes columns by their names and looks at no cell
            if kind not in OF_NAMES and (question == "transform" or name in TABLES):
                continue
            with pytest.raises(ValueError, match=message):
                getattr(model, question)(change(frame))


@every_case
def test_what_is_not_fitted_says_so(name):
    X, _ = small_table(name)
    model = make(name)
    with pytest.raises(NotFittedError, match="not fitted"):
        check_is_fitted(model)
    for question in (one for one in QUESTIONS if hasattr(model, one)):
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(model, question)(X)
    assert not hasattr(model, "feature_importances_")


ANY_NUMBER = {("WeightedNearestNeighbors", "radius"), ("FeatureSelector", "threshold")}


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e9])
@every_case
def test_numbers_out_of_range_are_refused_as_parameters(name, value):
    X, y = small_table(name)
    for parameter, constraints in CASES[name]._parameter_constraints.items():
        if (name, parameter) not in ANY_NUMBER and any(
            isinstance(one, Interval) and one.type is Real for one in constraints
        ):
            with pytest.raises(ValueError, match=parameter):
                make(name).set_params(**{parameter: value}).fit(X, y)
