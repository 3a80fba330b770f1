"""Mixed tables: what stays, what goes and why; scaling to 0 and 1."""

import warnings
from datetime import date, time
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from weighbors.datasets import load_builtin
from weighbors.exceptions import InvalidDataError
from weighbors.tables import TableEncoder, clean_table

N = 20


def reasons(X, **options):
    return {column.name: column.reason for column in clean_table(X, **options).left_out}


def test_what_is_left_out_and_why():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "id": rng.permutation(N) * 1000 + 7,
            "patient_id": rng.permutation(N) * 13,
            "counts": np.arange(5, N + 5)[::-1],
            "income": rng.permutation(N) * 1000 + 7,  # all different, but not called an id
            "name": [f"Mr {i}" for i in range(N)],
            "colour": ["red", "blue"] * (N // 2),
            "same": 1.0,
            "unit": "cm",
            "one or nothing": [1.0, np.nan] * (N // 2),
            "empty": np.nan,
            "no text": pd.Series([None] * N, dtype=object),
            "when": pd.date_range("2020-01-01", periods=N),
            "lists": [[1], [2]] * (N // 2),
            "weight": rng.normal(size=N),
            "flag": [True, False] * (N // 2),
        }
    )
    clean = clean_table(X)
    assert list(clean.X.columns) == ["income", "colour", "weight", "flag"]
    assert clean.X.dtypes.astype(str).tolist() == ["float64", "category", "float64", "category"]
    told = {column.name: column.reason for column in clean.left_out}
    assert told["counts"] == "it counts the rows"
    assert told["id"] == told["patient_id"] == "it is called an identifier and is different in every row"
    assert told["name"] == "it names the rows (20 different texts in 20 rows)"
    assert told["same"] == told["unit"] == told["one or nothing"] == "all its values are the same"
    assert told["empty"] == told["no text"] == "it is empty"
    assert "dates" in told["when"]
    assert "objects" in told["lists"]
    assert len(told) == 11
    assert str(clean.left_out[0]) == "'id' is left out: it is called an identifier and is different in every row"


def test_keep_and_drop():
    X = pd.DataFrame({"id": range(N), "name": [f"n{i}" for i in range(N)], "x": np.arange(N) / 3})
    assert list(clean_table(X, keep=["id", "name"], drop=["x"]).X.columns) == ["id", "name"]
    assert list(clean_table(X, keep="name", drop="id").X.columns) == ["name", "x"]  # a name alone is one column
    with pytest.raises(InvalidDataError, match="there is no column 'ids'. Did you mean 'id'"):
        clean_table(X, keep=["ids"])
    with pytest.raises(InvalidDataError, match="the name of a column, or several, is wanted; got 5"):
        clean_table(X, drop=5)
    with pytest.raises(InvalidDataError, match="a DataFrame is needed.*; got ndarray"):
        clean_table(X.to_numpy())
    with pytest.raises(InvalidDataError, match=r"no feature is left .*'id' is left out: it counts the rows"):
        clean_table(X, drop=["name", "x"])


def test_few_rows_have_no_identifiers():
    X = pd.DataFrame({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    assert clean_table(X).left_out == ()


def test_the_table_given_is_not_changed():
    X = pd.DataFrame({"a": [1.0, np.inf, 2.0], "b": ["x", "y", "x"]})
    before = X.copy()
    clean = clean_table(X)
    pd.testing.assert_frame_equal(X, before)
    assert np.isnan(clean.X["a"][1])
    assert clean.notes == ("'a': 1 infinite values count as missing",)


def test_a_few_words_among_numbers_are_missing_values():
    values = [str(i / 4) for i in range(N)]
    values[3], values[4] = "much", "unknown"
    clean = clean_table(pd.DataFrame({"a": values, "b": [1, 2] * (N // 2)}))
    assert clean.X["a"].dtype == np.float64
    assert clean.X["a"].isna().sum() == 2
    assert clean.notes[0] == "'a': 1 cell is no number ('much') and counts as missing"
    half = [str(i) if i % 2 else "word" for i in range(N)]
    assert clean_table(pd.DataFrame({"a": half})).X["a"].dtype == "category"


def test_categories_are_text_whatever_they_came_as():
    X = pd.DataFrame({"a": pd.Categorical([1.0, 2.0, None, 1.0]), "b": pd.Categorical(["2", "1", "1", "2"])})
    clean = clean_table(X).X
    assert clean["a"].tolist()[:2] == ["1", "2"]
    assert clean["a"].isna().tolist() == [False, False, True, False]
    assert list(clean["b"].cat.categories) == ["1", "2"]


def test_nullable_and_single_precision_columns():
    X = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": np.array([1, 2, 3], dtype="f4")})
    clean = clean_table(X).X
    assert clean.dtypes.tolist() == [np.float64, np.float64]
    assert np.isnan(clean["a"][1])


def test_decimals_are_numbers_and_days_are_dates():
    days = [date(2020, 1, 1 + i % 3) for i in range(N)]
    X = pd.DataFrame({"price": [Decimal(i) / 8 if i else None for i in range(N)], "day": days, "at": [time(1)] * N})
    clean = clean_table(X)
    np.testing.assert_array_equal(clean.X["price"], [np.nan, *(np.arange(1, N) / 8)])
    assert [str(one) for one in clean.left_out] == [
        f"'{name}' is left out: it holds dates or durations; turn them into numbers, such as days since a date"
        for name in ("day", "at")
    ]
    read, notes = TableEncoder.learn(clean.X, "range").read(X)
    np.testing.assert_array_equal(read["price"], clean.X["price"])
    assert not any("price" in note for note in notes)


def test_names_that_are_numbers_and_names_that_repeat():
    X = pd.DataFrame([[1.0, 2.0], [3.0, 5.0]])
    assert list(clean_table(X).X.columns) == ["0", "1"]
    scaler = TableEncoder.learn(clean_table(X).X, "range")
    assert scaler.read(X)[0].to_numpy().tolist() == X.to_numpy().tolist()
    X.columns = ["a", "a"]
    for use in (clean_table, scaler.read):
        with pytest.raises(InvalidDataError, match="there is more than one column 'a': rename them"):
            use(X)


BIG = 2**53 + 1  # the first integer that no float64 equals


@pytest.mark.parametrize("dtype", ["int64", "uint64", "Int64", "int64[pyarrow]"])
def test_integers_that_floats_round_are_left_out(dtype):
    # As floats, half of these 20 integers would be equal to the one before.
    large = pd.Series([BIG + i for i in range(20)], dtype="int64").astype(dtype)
    X = pd.DataFrame({"code": large, "size": np.arange(20) % 7 / 4, "whole": [2**53 + 2 * (i % 7) for i in range(20)]})
    clean = clean_table(X)
    assert list(clean.X.columns) == ["size", "whole"]  # integers that floats hold are numbers
    assert clean.left_out[0].reason == f"it holds integers beyond 2**53, which floats round ({BIG} to {BIG - 1})"
    assert clean_table(X, drop="code").left_out[0].reason == "as asked"
    with pytest.raises(InvalidDataError, match="'code' cannot be kept: it holds integers beyond 2.*53"):
        clean_table(X, keep="code")


def test_texts_of_many_digits_are_names_if_floats_round_them():
    X = pd.DataFrame(
        {"code": [str(10**40 + i // 2) for i in range(20)], "size": [f"{i % 7 / 4}e20" for i in range(20)]}
    )
    clean = clean_table(pd.concat([X] * 2, ignore_index=True))
    assert clean.X["code"].nunique() == 10
    assert clean.X["code"].dtype == "category"
    many = pd.DataFrame({"code": X["code"], "size": [f"{i / 4}e20" for i in range(20)]})
    assert clean_table(many).X["size"].dtype == np.float64


def test_wide_tables_are_quick_and_whole():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 3000)))
    X.columns = X.columns.astype(str)
    assert clean_table(X).X.shape == (12, 3000)


def test_scaling_is_min_max_over_what_was_learned():
    X = pd.DataFrame({"a": [2.0, 4.0, np.nan], "c": pd.Categorical(["x", "y", None]), "b": [-1.0, 0.0, 1.0]})
    scaler = TableEncoder.learn(X, "range")
    scaled = scaler.scale(X)
    assert list(scaled.columns) == ["a", "c", "b"]
    assert scaled["a"].tolist()[:2] == [0.0, 1.0]
    assert np.isnan(scaled["a"][2])
    assert scaled["b"].tolist() == [0.0, 0.5, 1.0]
    new, notes = scaler.read(pd.DataFrame({"b": [3], "c": ["z"], "a": ["3"], "more": [0]}))
    assert scaler.scale(new).astype(object).to_numpy().tolist() == [[0.5, "z", 2.0]]
    assert notes == (
        "1 column the model does not use: 'more'",
        "'c': 'z' was not there in fit (1 row); such a category differs from every known one",
    )


def test_columns_of_new_tables_that_are_empty():
    scaler = TableEncoder.learn(pd.DataFrame({"a": [1.0, 2.0], "c": pd.Categorical(["x", "y"])}), "range")
    for a, c in (([None, None], [None, None]), ([np.nan, np.nan], pd.Categorical([None, None]))):
        frame, notes = scaler.read(pd.DataFrame({"a": a, "c": c}))
        assert frame.isna().to_numpy().all()
        assert frame["a"].dtype == np.float64
        assert notes == ()


def test_scaling_agrees_with_scikit_learn():
    from sklearn.preprocessing import MinMaxScaler

    X = load_builtin("wine").X
    ours = TableEncoder.learn(X, "range").scale(X)
    np.testing.assert_allclose(ours, MinMaxScaler().fit_transform(X), atol=1e-12)


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ({"a": [1.0]}, "lacks 1 of the 2 columns the model was fitted to: 'c'.* It has 'a'"),
        ({"a": ["big"], "c": ["x"]}, "column 'a' was numbers in fit and holds text now .'big'"),
        ({"a": [b"\xff\x00"], "c": ["x"]}, "column 'a' was numbers in fit and holds text now"),
        ({"a": [], "c": []}, "no rows"),
        ({"a": [1.0], "c": [[1]]}, "column 'c' was categories in fit, and now it holds objects"),
    ],
)
def test_tables_that_do_not_fit(new, message):
    scaler = TableEncoder.learn(pd.DataFrame({"a": [1.0, 2.0], "c": pd.Categorical(["x", "y"])}), "range")
    with pytest.raises(InvalidDataError, match=message):
        scaler.read(pd.DataFrame(new))


def test_a_range_beyond_all_numbers():
    huge = pd.DataFrame({"a": np.linspace(-1.0, 1.0, 20) * 1.7e308})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clean_table(huge).left_out == ()
    with pytest.raises(InvalidDataError, match="too much to be scaled"):
        TableEncoder.learn(pd.DataFrame({"a": [-1.7e308, 1.7e308]}), "range")


def test_built_in_data():
    with pytest.raises(InvalidDataError, match="there is no built-in data set 'whine'. Did you mean 'wine'"):
        load_builtin("whine")
