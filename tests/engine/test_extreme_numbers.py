"""Numbers too large or too close for distances are refused with a reason, and without NumPy's own warnings."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from naive import simba as naive
from scipy import sparse

from weighbors import (
    IB1,
    LWL,
    MBIW,
    SURF,
    WIBK,
    ClassRelief,
    IBk,
    IRelief,
    MultiSURF,
    Relief,
    ReliefF,
    Simba,
    SimbaMBIW,
    WeightedKNeighborsClassifier,
    WeightedKNeighborsRegressor,
    Weights,
)
from weighbors.engine import NeighborEngine
from weighbors.engine.margins import Margins, simba_steps
from weighbors.exceptions import InvalidDataError

pl = pytest.importorskip("polars")  # not there under the thread sanitizer

MODELS = [IB1(), IBk(3), LWL(), WeightedKNeighborsClassifier(3), ReliefF(), Relief(), IRelief(), SURF(), MultiSURF(),
          MBIW(), ClassRelief()]  # fmt: skip
X = np.random.default_rng(0).normal(size=(40, 3))
Y = X[:, 0] > X[:, 1]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_ranges_that_overflow_are_refused(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(InvalidDataError, match="overflow|cannot be scaled"):
            model.fit(X * 2.0**1022, Y)


@pytest.mark.parametrize("model", [ReliefF(), IRelief(), SURF(), MultiSURF()], ids=lambda model: type(model).__name__)
def test_ranges_that_vanish_are_refused(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(InvalidDataError, match="cannot be scaled to 1.*StandardScaler"):
            model.fit(X * 2.0**-1060, Y)


def test_bins_take_any_range():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = WIBK(3, discretize="frequency").fit(X * 2.0**1022, Y).predict(X * 2.0**1022)
    np.testing.assert_array_equal(found, WIBK(3, discretize="frequency").fit(X, Y).predict(X))


SIMBAS = [Simba(random_state=0), Simba(2, random_state=0),
          SimbaMBIW(), SimbaMBIW(compose="simba_first", random_state=0), SimbaMBIW(synergy=True)]  # fmt: skip


@pytest.mark.parametrize("exponent", [-130, -40, 30, 38, 39, 40, 60])
def test_simba_of_large_and_small_numbers_is_that_of_the_loops(exponent):
    rows = X * 10.0**exponent
    order, step = np.random.default_rng(1).permutation(len(X)), np.full(len(X), 1.0)
    margins = Margins(rows, Y.astype(np.int64), 2, np.zeros(3, dtype=bool), None)
    found = simba_steps(margins, np.ones(3), order, step)
    expected = naive.simba(rows, Y, order, step)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize("model", SIMBAS, ids=lambda model: f"{type(model).__name__}")
@pytest.mark.parametrize("exponent", [-200, -150, 30, 38, 40, 76, 80, 100, 150, 160, 200, 300])
@pytest.mark.parametrize("missing", [False, True])
def test_simba_of_extreme_numbers_is_refused_or_finite(model, exponent, missing):
    rows = X * 10.0**exponent
    if missing:
        rows[::7, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = model.fit(rows, Y).feature_weights_
        except InvalidDataError as error:
            assert "rescale the features" in str(error)  # noqa: PT017 - either outcome is right
            assert exponent not in (30,)
            return
    assert -150 < exponent < 77
    assert np.isfinite(found).all()
    assert found.max() == 1


@pytest.mark.parametrize("exponent", [-32, 38, 40])
@pytest.mark.parametrize("kind", ["missing", "nominal"])
def test_simba_refuses_mixed_tables_that_float32_cannot_hold(exponent, kind):
    # Tables with missing cells or categories are packed in float32, in which such numbers are infinite or lose digits.
    rows, nominal = X * 10.0**exponent, np.zeros(3, dtype=bool)
    if kind == "missing":
        rows[::7, 1] = np.nan
    else:
        rows[:, 1], nominal[1] = np.arange(40) % 2, True
    with pytest.raises(InvalidDataError, match="which SIMBA cannot compare beside categories or missing values"):
        Margins(rows, Y.astype(np.int64), 2, nominal, None)


def test_differences_that_vanish_beside_larger_columns_are_refused():
    rows = np.array([[0, 0], [3e-24, 0], [1e-24, 0], [0, 1]])
    for backend in ("scan", "tree"):
        with pytest.raises(InvalidDataError, match="column 0 spans only 3e-24.*float32.*float64"):
            NeighborEngine(rows.astype(np.float32), backend=backend)
        # Squares of 1e-24 fit in float64, and city-block distances need no squares.
        expected = [[0, 2, 1, 3], [1, 2, 0, 3], [2, 0, 1, 3]]
        assert NeighborEngine(rows, backend=backend).search(rows[:3], 4)[1].tolist() == expected
        single = rows.astype(np.float32)
        assert NeighborEngine(single, p=1, backend=backend).search(single[:3], 4)[1].tolist() == expected
    with pytest.raises(InvalidDataError, match="column 0 spans only 3e-164"):
        NeighborEngine(rows * [1e-140, 1])
    # A small weight says that a column matters little, and a large one lifts its differences.
    for weights in ([1e-30, 1.0], [1.0, 1e-30]):
        NeighborEngine(np.eye(2, dtype=np.float32), weights=Weights(feature_weights=weights))
    lifted = NeighborEngine(rows.astype(np.float32), weights=Weights(feature_weights=[1e30, 1.0]))
    assert lifted.search(rows[:3].astype(np.float32), 3)[1].tolist() == [[0, 2, 1], [1, 2, 0], [2, 0, 1]]
    NeighborEngine(np.array([[0.0, 7.0], [1.0, 7.0]]))  # a constant column has no differences


BIG = 2**53 + 1  # the first integer that no float64 equals
TABLES = {
    "int64": np.array([[BIG, 0], [0, 1], [3, 2], [-5, 3]]),
    "uint64": np.array([[2**63 + 1, 0], [0, 1], [3, 2], [5, 3]], dtype=np.uint64),
    "negative": np.array([[-BIG, 0], [0, 1], [3, 2], [5, 3]]),
    "objects": np.array([[BIG, 0], [0, 1], [3, 2], [5, 3]], dtype=object),
    "lists": [[BIG, 0], [0, 1], [3, 2], [5, 3]],
    "frame": pd.DataFrame({"id": [BIG, 0, 3, 5], "x": [0.5, 1, 2, 3]}),
    "Int64": pd.DataFrame({"id": pd.array([BIG, None, 3, 5], dtype="Int64"), "x": [0.5, 1, 2, 3]}),
    "mixed": pd.DataFrame({"id": [BIG, 0, 3, 5], "x": list("abca")}),
    "polars": pl.DataFrame({"id": [BIG, 0, 3, 5], "x": [0.5, 1, 2, 3]}),
    "polars, missing": pl.DataFrame({"id": [BIG, None, 3, 5], "x": [0.5, 1, 2, 3]}),
    "polars, unsigned": pl.DataFrame({"id": pl.Series([2**63 + 1, None, 3, 5], dtype=pl.UInt64), "x": [0.5, 1, 2, 3]}),
    "polars, 128 bits": pl.DataFrame({"id": pl.Series([BIG, None, 3, 5], dtype=pl.Int128), "x": [0.5, 1, 2, 3]}),
    "Arrow": pa.table({"id": [BIG, 0, 3, 5], "x": [0.5, 1, 2, 3]}),
    "Arrow, missing": pa.table({"id": [BIG, None, 3, 5], "x": [0.5, 1, 2, 3]}),
    "Arrow, unsigned": pa.table({"id": pa.array([2**63 + 1, None, 3, 5], pa.uint64()), "x": [0.5, 1, 2, 3]}),
    "sparse": sparse.csr_matrix(np.array([[BIG, 0], [0, 1], [3, 2], [5, 3]])),
}


@pytest.mark.parametrize("kind", TABLES)
def test_integers_that_floats_round_are_refused(kind):
    y = np.array([0, 1, 0, 1])
    for model in (WeightedKNeighborsClassifier(1), WeightedKNeighborsRegressor(1)):
        with pytest.raises(InvalidDataError, match=r"beyond 2\*\*53, which float64 rounds"):
            model.fit(TABLES[kind], y)


def test_integers_that_floats_hold_are_exact():
    for table in (pl.DataFrame({"id": [2**53, None, 2**60, 5]}), pa.table({"id": [2**53, None, 2**60, 5]})):
        model = WeightedKNeighborsClassifier(1).fit(table, [0, 1, 0, 1])
        assert model.kneighbors(table)[1].ravel()[[0, 2, 3]].tolist() == [0, 2, 3]
    rows = np.array([[2**53 - 1], [2**53], [2**60], [2**60 + 2**10]])
    assert WeightedKNeighborsClassifier(1).fit(rows, [0, 1, 0, 1]).kneighbors(rows)[1].ravel().tolist() == [0, 1, 2, 3]
    names = pd.DataFrame({"id": pd.Categorical([BIG, BIG + 1, BIG, BIG + 1])})  # categories are not rounded
    assert WeightedKNeighborsClassifier(1).fit(names, [0, 1, 0, 1]).predict(names).tolist() == [0, 1, 0, 1]
