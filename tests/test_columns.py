"""The kind of a column follows from its values, not from its dtype; columns without a distance are refused by name."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from weighbors import ReliefF, WeightedKNeighborsClassifier
from weighbors.exceptions import InvalidDataError
from weighbors.tables import clean_table
from weighbors.tables.columns import column_kind

DAY = dt.date(2020, 1, 1)
DAYS = [DAY + dt.timedelta(days=i) for i in range(12)]


def of_arrow(values, kind):
    return pd.Series(pd.array(pa.array(values, type=kind), dtype=pd.ArrowDtype(kind)))


TEXT = ["x", "y", "z"] * 4
#: columns that hold the same categories, whatever they are called
CATEGORIES = {
    "object": pd.Series(TEXT, dtype=object),
    "string": pd.Series(TEXT, dtype="string"),
    "category": pd.Series(TEXT, dtype="category"),
    "arrow string": of_arrow(TEXT, pa.string()),
    "arrow large string": of_arrow(TEXT, pa.large_string()),
    "arrow dictionary": pd.Series(
        pd.arrays.ArrowExtensionArray(pa.array(TEXT).dictionary_encode()),
    ),
    "polars string": pl.Series(TEXT),
    "polars categorical": pl.Series(TEXT, dtype=pl.Categorical),
    "polars enum": pl.Series(TEXT, dtype=pl.Enum(["x", "y", "z"])),
}
NUMBERS = {
    "int": pd.Series(range(12)),
    "nullable": pd.Series(range(12), dtype="Int64"),
    "decimal": pd.Series([Decimal(i) for i in range(12)]),
    "arrow int": of_arrow(list(range(12)), pa.int64()),
    "arrow decimal": of_arrow([Decimal(i) for i in range(12)], pa.decimal128(10, 2)),
    "polars int": pl.Series(range(12)),
    "polars decimal": pl.Series([Decimal(i) for i in range(12)]),
    "polars wide int": pl.Series(range(12), dtype=pl.Int128),
}
#: columns that have no distance, and what is said of them
STRANGE = {
    "datetime64": (pd.Series(pd.date_range(DAY, periods=12)), "dates or durations"),
    "with a time zone": (pd.Series(pd.date_range(DAY, periods=12, tz="UTC")), "dates or durations"),
    "timedelta64": (pd.Series(pd.timedelta_range("1 day", periods=12)), "dates or durations"),
    "date objects": (pd.Series(DAYS, dtype=object), "dates or durations"),
    "datetime objects": (pd.Series([dt.datetime(2020, 1, i + 1) for i in range(12)], dtype=object), "dates"),
    "time objects": (pd.Series([dt.time(i) for i in range(12)], dtype=object), "dates or durations"),
    "timedelta objects": (pd.Series([dt.timedelta(i) for i in range(12)], dtype=object), "dates or durations"),
    "dates among text": (pd.Series([*DAYS[:6], *TEXT[:6]], dtype=object), "dates or durations"),
    "dates and missing": (pd.Series([*DAYS[:6], *[None] * 6], dtype=object), "dates or durations"),
    "periods": (pd.Series(pd.period_range("2020", periods=12, freq="M")), "dates or durations"),
    "period objects": (pd.Series(list(pd.period_range("2020", periods=12, freq="M")), dtype=object), "dates"),
    "arrow dates": (of_arrow(DAYS, pa.date32()), "dates or durations"),
    "arrow timestamps": (of_arrow([dt.datetime(2020, 1, 1)] * 12, pa.timestamp("us")), "dates or durations"),
    "arrow times": (of_arrow([dt.time(1)] * 12, pa.time64("us")), "dates or durations"),
    "arrow durations": (of_arrow([dt.timedelta(1)] * 12, pa.duration("us")), "dates or durations"),
    "polars dates": (pl.Series(DAYS), "dates or durations"),
    "polars datetimes": (pl.Series([dt.datetime(2020, 1, 1)] * 12), "dates or durations"),
    "polars times": (pl.Series([dt.time(1)] * 12), "dates or durations"),
    "polars durations": (pl.Series([dt.timedelta(1)] * 12), "dates or durations"),
    "intervals": (pd.Series(pd.interval_range(0, 12)), "holds intervals.*astype"),
    "interval objects": (pd.Series(list(pd.interval_range(0, 12)), dtype=object), "holds intervals"),
    "lists": (pd.Series([[1], [2]] * 6), "lists, dicts"),
    "tuples": (pd.Series([(1, 2), (2, 3)] * 6), "lists, dicts"),
    "dicts": (pd.Series([{"a": 1}] * 12), "lists, dicts"),
    "arrays": (pd.Series([np.zeros(2)] * 12), "lists, dicts"),
    "arrow lists": (of_arrow([[1]] * 12, pa.list_(pa.int64())), "lists, dicts"),
    "polars lists": (pl.Series([[1]] * 12), "lists, dicts"),
    "polars arrays": (pl.Series([[1, 2]] * 12, dtype=pl.Array(pl.Int64, 2)), "lists, dicts"),
    "polars structs": (pl.Series([{"a": 1}] * 12), "lists, dicts"),
    "complex": (pd.Series(np.arange(12) * 1j), "complex numbers"),
    "complex objects": (pd.Series([1j] * 12, dtype=object), "complex numbers"),
    "bytes": (pd.Series([b"x", b"y"] * 6), "holds bytes.*[Dd]ecode"),
    "arrow bytes": (of_arrow([b"x"] * 12, pa.binary()), "holds bytes"),
    "polars bytes": (pl.Series([b"x"] * 12), "holds bytes"),
}
Y = np.array(["a", "b"] * 6)
pytestmark = pytest.mark.filterwarnings("ignore::weighbors.exceptions.NothingSelectedWarning")
SIZE = np.random.default_rng(0).normal(size=12) + np.arange(12) % 2 * 3


def framed(column):
    """A table of a number and the column, of pandas or polars as the column is."""
    if isinstance(column, pl.Series):
        return pl.DataFrame({"size": SIZE}).with_columns(column.alias("what"))
    return pd.DataFrame({"size": SIZE, "what": column})


@pytest.mark.parametrize("name", CATEGORIES)
def test_text_is_categories_whatever_holds_it(name):
    expected = ReliefF(2).fit(framed(CATEGORIES["object"]), Y).feature_weights_
    X = framed(CATEGORIES[name])
    np.testing.assert_array_equal(ReliefF(2).fit(X, Y).feature_weights_, expected)
    model = WeightedKNeighborsClassifier(1).fit(X, Y)
    assert model.kneighbors(X)[0].max() == 0
    assert model._table.coder.categories[1].tolist() == ["x", "y", "z"]
    assert clean_table(X).X["what"].tolist() == TEXT


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_numbers_whatever_holds_them(name):
    expected = ReliefF(2).fit(framed(NUMBERS["int"]), Y).feature_weights_
    X = framed(NUMBERS[name])
    model = ReliefF(2).fit(X, Y)
    np.testing.assert_array_equal(model.feature_weights_, expected)
    np.testing.assert_array_equal(np.asarray(model.transform(X), dtype=float)[:, 1], np.arange(12))
    assert clean_table(X, keep="what").X["what"].tolist() == list(range(12))


@pytest.mark.parametrize("name", STRANGE)
def test_what_has_no_distance_is_refused_by_name(name):
    column, told = STRANGE[name]
    X = framed(column)
    good = framed(pl.Series(TEXT) if isinstance(column, pl.Series) else CATEGORIES["object"])
    for what in (
        lambda: ReliefF(2).fit(X, Y),
        lambda: WeightedKNeighborsClassifier(1).fit(X, Y),
        lambda: WeightedKNeighborsClassifier(1, categorical_features=["what"]).fit(X, Y),
        lambda: WeightedKNeighborsClassifier(1).fit(good, Y).predict(X),
    ):
        with pytest.raises(InvalidDataError, match=f"column 'what' .*{told}"):
            what()
    [left_out] = clean_table(X).left_out
    assert left_out.name == "what"
    assert left_out.reason.startswith(("it holds", "all its values"))


def test_missing_numbers_of_arrow_and_polars():
    for values in (of_arrow([1.0, None] * 6, pa.float64()), of_arrow([1, None] * 6, pa.int64()), [1, None] * 6):
        X = framed(pl.Series(values) if isinstance(values, list) else values)
        rows = WeightedKNeighborsClassifier(1).fit(X, Y)._table.rows
        np.testing.assert_array_equal(rows[:, 1], [1, np.nan] * 6)


def test_categories_may_be_anything_that_is_declared_so():
    dates = pd.Series(DAYS[:3] * 4, dtype="category")
    assert column_kind(framed(dates), 1, dates.dtype) == "category"
    cut = pd.Series(pd.cut(SIZE, 3))
    assert WeightedKNeighborsClassifier(1).fit(framed(cut), Y).kneighbors(framed(cut))[0].max() == 0


def test_arrays_of_dates_are_no_numbers():
    X = np.array(DAYS, dtype="datetime64[D]")[:, None]
    with pytest.raises(InvalidDataError, match="dates or durations"):
        ReliefF(2).fit(X, Y)
    mixed = np.column_stack([np.array(TEXT, dtype=object), np.array(DAYS, dtype=object)])
    with pytest.raises(InvalidDataError, match="column 1 holds dates"):
        ReliefF(2, categorical_features=[0, 1]).fit(mixed, Y)


def test_text_among_numbers_is_refused_by_name():
    X = framed(CATEGORIES["object"])
    with pytest.raises(InvalidDataError, match="column 'what' holds something that is no number.*'x'"):
        ReliefF(2, categorical_features=None).fit(X, Y)
    model = ReliefF(2).fit(framed(NUMBERS["int"]), Y)
    with pytest.raises(InvalidDataError, match="column 'what' was numeric in fit"):
        WeightedKNeighborsClassifier(1).fit(framed(NUMBERS["int"]), Y).predict(X)
    assert model.transform(framed(NUMBERS["int"])).shape == (12, 2)
