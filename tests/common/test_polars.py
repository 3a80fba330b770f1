"""Tables of polars, and of Arrow's types, are taken wherever those of pandas are, with the same results."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from weighbors import (
    MBIW,
    ReliefF,
    WeightedKNeighborsClassifier,
)
from weighbors.evaluation import Study, permutation_test, stability_curve
from weighbors.exceptions import InvalidDataError
from weighbors.plots import InstanceMapDisplay, MarginProfileDisplay
from weighbors.report import build_report
from weighbors.tables import clean_table

LEVELS = ["low", "middle", "high"]


def tables(n=60):
    """The same table of pandas, polars and Arrow's types, each with its labels."""
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], n)
    colour = np.where(rng.random(n) < 0.8, np.where(y == "a", "red", "blue"), "green")
    size = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) + 2 * (y == "a"))
    count, level = rng.integers(0, 4, n), rng.choice(LEVELS, n)
    plain = pd.DataFrame(
        {"size": size, "count": count, "colour": colour, "level": pd.Categorical(level, LEVELS, ordered=True)}
    )
    of_polars = pl.DataFrame({"size": size, "count": count, "colour": colour.tolist()}).with_columns(
        pl.Series("level", level.tolist(), dtype=pl.Enum(LEVELS)), pl.col("size").fill_nan(None)
    )
    arrow = {"size": pa.float64(), "count": pa.int32(), "colour": pa.large_string()}
    of_arrow = plain.astype({name: pd.ArrowDtype(kind) for name, kind in arrow.items()})
    return {
        "pandas": (plain, y),
        "polars": (of_polars, pl.Series("kind", y.tolist())),
        "arrow": (of_arrow, pd.Series(y, dtype=pd.ArrowDtype(pa.string()))),
    }


TABLES = tables()
PLAIN, Y = TABLES["pandas"]
others = pytest.mark.parametrize("kind", ["polars", "arrow"])
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::weighbors.exceptions.{name}")
    for name in ("NoPositiveWeightWarning", "NothingSelectedWarning", "FewPermutationsWarning")
]


def test_missing_text_of_polars_is_missing():
    X = pl.DataFrame(
        {"colour": ["red", None, "blue", None] * 3, "level": pl.Series(["low", None] * 6, dtype=pl.Enum(LEVELS))}
    )
    rows = WeightedKNeighborsClassifier(1).fit(X, [0, 1] * 6)._table.rows
    np.testing.assert_array_equal(rows[:4], [[0, 0], [np.nan, np.nan], [1, 0], [np.nan, np.nan]])


def test_polars_keeps_float32_and_wide_tables_stay_whole():
    X = np.random.default_rng(0).normal(size=(12, 300)).astype(np.float32)
    model = WeightedKNeighborsClassifier(1).fit(pl.DataFrame(X), [0, 1] * 6)
    assert model._table.rows.dtype == np.float32
    np.testing.assert_array_equal(model._table.rows, X)


@others
def test_everything_else_that_reads_tables(kind, tmp_path):
    X, y = TABLES[kind]
    pd.testing.assert_frame_equal(clean_table(X).X, clean_table(PLAIN).X)
    for test in (
        lambda X, y: permutation_test(ReliefF(3), X, y, n_permutations=9, random_state=0).p_values,
        lambda X, y: stability_curve(ReliefF(3), X, y, cv=3).frequencies(2).to_dict(),
        lambda X, y: (
            Study({"d": (X, y)}, {"k-NN": WeightedKNeighborsClassifier(3)}, tmp_path / str(id(X)), cv=3)
            .run()
            .frame()["accuracy"]
            .tolist()
        ),
    ):
        np.testing.assert_equal(test(X, y), test(PLAIN, Y))
    votes = MBIW().fit(X, y)
    InstanceMapDisplay.from_estimator(votes, X, y)
    MarginProfileDisplay.from_estimator(votes, X, y)


def test_a_report_of_polars():
    """Of one library only: a report takes seconds, and every table goes through the same conversion."""
    rows = [row["name"] for row in build_report(*TABLES["polars"]).data["features"]["rows"]]
    assert rows == [row["name"] for row in build_report(PLAIN, Y).data["features"]["rows"]]


@others
def test_labels_as_a_frame_of_one_column(kind):
    X, y = TABLES[kind]
    table = X.with_columns(y) if kind == "polars" else X.assign(kind=y)
    one_column = WeightedKNeighborsClassifier(3)
    with pytest.warns(UserWarning, match="column-vector"):
        one_column.fit(X, table[["kind"]])
    expected = WeightedKNeighborsClassifier(3).fit(PLAIN, Y).predict(PLAIN)
    np.testing.assert_array_equal(one_column.predict(X), expected)


def test_a_lazy_table_is_to_be_collected():
    lazy, y = TABLES["polars"][0].lazy(), Y
    model = ReliefF(3).fit(PLAIN, y)
    for what in (
        lambda: model.transform(lazy),
        lambda: WeightedKNeighborsClassifier(3).fit(PLAIN, y).predict(lazy),
        lambda: clean_table(lazy),
        lambda: build_report(lazy, y),
        lambda: stability_curve(ReliefF(), lazy, y),
        lambda: permutation_test(ReliefF(), lazy, y),
    ):
        with pytest.raises(InvalidDataError, match=r"LazyFrame.*call \.collect\(\) first"):
            what()


def test_messages_name_the_columns_of_polars():
    X, y = TABLES["polars"]
    with pytest.raises(InvalidDataError, match=r"lacks: \['hue'\]. Columns: size, count, colour, level"):
        ReliefF(categorical_features=["hue"]).fit(X, y)
    with pytest.raises(InvalidDataError, match=r"columns \[4\], but the data have 4 columns"):
        ReliefF(categorical_features=[4]).fit(X, y)
    with pytest.raises(InvalidDataError, match="yet now missing"):
        WeightedKNeighborsClassifier(3).fit(X, y).predict(X[["size", "count"]])


def test_polars_needs_no_pyarrow():
    code = """
import sys
sys.modules["pyarrow"] = None
import polars as pl
from weighbors import WIBK, WeightedKNeighborsClassifier
X = pl.DataFrame({"size": [1.0, None, 3.0, 4.0], "count": [1, 2, None, 4], "colour": ["red", "blue", "red", None],
                  "level": pl.Series(["low", "high", None, "low"], dtype=pl.Enum(["low", "high"]))})
y = pl.Series(["a", "b", "a", "b"])
print(WeightedKNeighborsClassifier(1).fit(X, y).predict(X).tolist(), WIBK(1).fit(X, y).predict(X).tolist())
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split("] [")[0] == "['a', 'b', 'a', 'b'"
