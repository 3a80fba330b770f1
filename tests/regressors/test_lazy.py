"""KStarRegressor and LWLRegressor. What they share with the classifiers is tested there."""

import numpy as np
import pandas as pd
import pytest
from lazy_tables import generated
from naive.lazy import KERNELS, kstar_numbers, linear, lwl_numbers, numeric_stump
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from weighbors import KStarRegressor, LWLRegressor
from weighbors.classifiers import kstar as kstar_module
from weighbors.classifiers import lwl as lwl_module
from weighbors.exceptions import InvalidDataError, UnknownCategoryError
from weighbors.regressors.lazy import ScaledTargets

MODELS = {"K*": KStarRegressor(), "stump": LWLRegressor(), "linear": LWLRegressor("linear")}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def numbers(data, seed=0):
    """A numeric target that depends on some columns; some values repeat."""
    rng = np.random.default_rng(seed)
    rows = np.nan_to_num(data.rows, nan=1.0)
    return 100.0 + np.rint(3 * rows[:, 0] + rows[:, 1] / 10 + rng.normal(size=len(rows)))


def smooth(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, 5 + np.sin(X[:, 0]) + X[:, 1] * X[:, 2], rng.normal(size=(9, 3)) / 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("blend", [5, 60])
@pytest.mark.parametrize("mode", ["average", "farthest"])
def test_kstar_equals_the_oracle(seed, blend, mode):
    data = generated(seed, missing=0.15 * (seed > 0))
    y = numbers(data, seed)
    found = KStarRegressor(blend, missing=mode).fit(data.X, y).predict(data.Q)
    wanted = kstar_numbers(data.queries, data.rows, y, blend / 100, nominal=data.nominal, missing=mode)
    np.testing.assert_allclose(found, wanted, rtol=1e-7)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [None, 12, 3])
def test_the_stump_equals_the_oracle(seed, k):
    data = generated(seed, missing=0.15 * (seed > 1))
    y = numbers(data, seed)
    found = LWLRegressor("stump", k).fit(data.X, y).predict(data.Q)
    np.testing.assert_allclose(found, lwl_numbers(data.queries, data.rows, y, nominal=data.nominal, k=k), rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [None, 12, 3])
def test_the_linear_function_equals_the_oracle(seed, k):
    # With 3 and with 12 of 40 rows there are often fewer rows than columns.
    data = generated(seed, missing=0.15 * (seed > 1))
    y = numbers(data, seed)
    found = LWLRegressor("linear", k, ridge=1e-6).fit(data.X, y).predict(data.Q)
    options = {"nominal": data.nominal, "model": linear, "k": k, "ridge": 1e-6}
    np.testing.assert_allclose(found, lwl_numbers(data.queries, data.rows, y, **options), rtol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_equals_the_oracle(kernel):
    data = generated(10)
    y = numbers(data)
    for model, options in ((numeric_stump, {}), (linear, {"ridge": 1e-4})):
        name = "stump" if model is numeric_stump else "linear"
        found = LWLRegressor(name, 9, kernel=kernel, **options).fit(data.X, y).predict(data.Q)
        wanted = lwl_numbers(
            data.queries, data.rows, y, nominal=data.nominal, model=model, kernel=kernel, k=9, **options
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-7)


def test_a_stump_by_hand():
    # query 0: weights 1.0001, 0.6001, 0.0001 of the kernel, scaled; x <= 1 separates 1 from 5 and 5
    X, y = np.array([[0.0], [2.0], [5.0]]), [1.0, 5.0, 5.0]
    np.testing.assert_allclose(LWLRegressor().fit(X, y).predict([[0.0], [1.0], [1.1]]), [1, 1, 5])
    # a missing query: no row lacks the value, so all rows answer, and all are equally far
    np.testing.assert_allclose(LWLRegressor().fit(X, y).predict([[np.nan]]), [11 / 3])
    holes = np.array([[0.0], [0.1], [0.9], [1.0], [np.nan], [np.nan]])
    found = LWLRegressor().fit(holes, [1, 1, 2, 2, 7, 9]).predict([[0.0], [1.0], [np.nan]])
    np.testing.assert_allclose(found, [1, 2, 8])


@pytest.mark.parametrize("k", [None, 25])
def test_stump_and_linear_are_those_of_scikit_learn(k):
    X, y, Q = smooth()
    for ours, theirs in (
        (LWLRegressor("stump", k), DecisionTreeRegressor(max_depth=1, random_state=0)),
        (LWLRegressor("linear", k, ridge=0.0), LinearRegression()),
    ):
        general = LWLRegressor(theirs, k).fit(X, y).predict(Q)
        np.testing.assert_allclose(ours.fit(X, y).predict(Q), general, rtol=1e-9)


def test_an_exact_linear_function_is_found_with_categories_and_dependent_columns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=50), "c": pd.Categorical(rng.choice(list("xyz"), 50))})
    frame["twice"], frame["constant"] = 2 * frame["a"], 4.0
    y = 3 * frame["a"] + frame["c"].map({"x": 0.0, "y": 10.0, "z": 20.0}).astype(float)
    for ridge in (0.0, 1e-10):
        for k in (None, 20):
            model = LWLRegressor("linear", k, ridge=ridge).fit(frame[:40], y[:40])
            np.testing.assert_allclose(model.predict(frame[40:]), y[40:], atol=1e-5)


def test_an_unseen_category_has_the_mean_effect():
    frame = pd.DataFrame({"c": ["x", "x", "x", "y"]})
    model = LWLRegressor("linear", kernel="constant", ridge=0.0).fit(frame, [1.0, 1.0, 1.0, 5.0])
    np.testing.assert_allclose(model.predict(pd.DataFrame({"c": ["x", "y", "new"]})), [1, 5, 3], rtol=1e-6)
    # a missing category is the weighted mean of the rows
    np.testing.assert_allclose(model.predict(pd.DataFrame({"c": [None]}, dtype=object)), [2], rtol=1e-6)
    with pytest.raises(UnknownCategoryError, match="'new'"):
        LWLRegressor(handle_unknown="error").fit(frame, [1, 1, 1, 5]).predict(pd.DataFrame({"c": ["new"]}))


def test_the_penalty_of_the_linear_function():
    X, y, Q = smooth()
    strong = LWLRegressor("linear", kernel="constant", ridge=1e9).fit(X, y).predict(Q)
    np.testing.assert_allclose(strong, y.mean(), rtol=1e-6)
    scaler = MinMaxScaler().fit(X)
    # scikit-learn's penalty is not multiplied by the weight of the rows
    ridge = Ridge(0.01 * len(y)).fit(scaler.transform(X), y).predict(scaler.transform(Q))
    ours = LWLRegressor("linear", kernel="constant", ridge=0.01).fit(X, y).predict(Q)
    np.testing.assert_allclose(ours, ridge, rtol=1e-9)


def test_any_regressor_with_sample_weight():
    data = generated(2)
    y = numbers(data)
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder="passthrough")
    with pytest.raises(InvalidDataError, match="must take sample_weight in fit; Pipeline does not"):
        LWLRegressor(make_pipeline(encode, SVR())).fit(data.X, y)
    X, y, Q = smooth()
    model = LWLRegressor(SVR(tol=1e-9), 30).fit(X, y)
    span = np.ptp(X, axis=0)
    for q in Q[:3]:
        d = np.sqrt((((X - q) / span) ** 2).sum(axis=1))
        near = np.sort(np.argsort(d, kind="stable")[:30])
        w = 1.0001 - d[near] / d[near].max()
        alone = SVR(tol=1e-9).fit(X[near], y[near], sample_weight=w * 30 / w.sum())
        np.testing.assert_allclose(model.predict(q[None]), alone.predict(q[None]), rtol=1e-6)


@pytest.mark.parametrize("model", [*MODELS.values(), LWLRegressor("linear", 8), LWLRegressor("stump", 8)], ids=str)
def test_integer_sample_weights_are_repeated_rows(model):
    data = generated(3)
    y = numbers(data)
    repeats = np.random.default_rng(0).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), repeats)
    one = model.fit(data.X, y, sample_weight=repeats).predict(data.Q)
    other = model.fit(data.X.iloc[repeated], y[repeated]).predict(data.Q)
    np.testing.assert_allclose(one, other, rtol=1e-6)


@every_model
def test_threads_batches_and_layout_change_no_bit(model, monkeypatch):
    data = generated(1, n=90, n_queries=50, missing=0.1)
    y = numbers(data)
    found = model.fit(data.X, y).predict(data.Q)
    alone = np.concatenate([model.predict(data.Q.iloc[[i]]) for i in range(len(data.Q))])
    np.testing.assert_array_equal(found, alone)
    monkeypatch.setattr(lwl_module, "_BATCH_CELLS", 1)
    monkeypatch.setattr(kstar_module, "_CELLS", 1)
    np.testing.assert_array_equal(found, model.set_params(n_jobs=2).fit(data.X, y).predict(data.Q))
    model.set_params(n_jobs=None)
    X, y, Q = smooth()
    np.testing.assert_array_equal(model.fit(X, y).predict(Q), model.fit(np.asfortranarray(X), y).predict(Q))


@every_model
def test_units_do_not_matter(model):
    X, y, Q = smooth()
    found = model.fit(X, y).predict(Q)
    np.testing.assert_allclose(model.fit(X * 512, y).predict(Q * 512), found, rtol=1e-9)
    for factor, shift in ((1e-200, 0.0), (1e200, 0.0), (1e-3, 1e6)):
        scaled = model.fit(X, factor * y + shift).predict(Q)
        np.testing.assert_allclose(scaled, factor * found + shift, rtol=1e-7)


@every_model
def test_constant_targets_and_single_rows_are_predicted(model):
    X, _, Q = smooth()
    assert set(model.fit(X, np.full(len(X), 0.1)).predict(Q)) == {0.1}
    assert model.fit(X[:1], [0.3]).predict(Q).tolist() == [0.3] * len(Q)
    # extreme targets, columns without any value, and queries without any value
    assert np.isfinite(model.fit(X[:2], [-1e300, 1e300]).predict(Q)).all()
    assert np.isfinite(model.fit(np.c_[X, np.full(len(X), np.nan)], X[:, 0]).predict(np.c_[Q, Q[:, 0]])).all()
    assert np.isfinite(model.fit(X, X[:, 0]).predict(np.full((1, 3), np.nan))).all()


def test_targets_are_scaled_without_overflow():
    largest = np.finfo(np.float64).max
    targets = ScaledTargets.from_targets(np.array([-largest, 0.0, largest]))
    assert targets.scaled.tolist() == [-1.0, 0.0, 1.0]
    np.testing.assert_array_equal(targets.restore(targets.scaled), [-largest, 0.0, largest])


@every_model
def test_bad_targets(model):
    X, y, _ = smooth()
    for bad, message in (
        (None, "the target y is None"),
        (np.where(y > 5, np.inf, y), "contains infinity: .*the first in row"),
        (np.where(y > 5, np.nan, y), "contains NaN: .* targets are missing"),
        (y.astype(str), r"must hold numbers; got .* pandas.to_numeric\(y\), or use a classifier"),
        (np.where(y > 5, "high", "low"), "must hold numbers"),
        (np.c_[y, y], "one output.*MultiOutputRegressor"),
        (y[:-1], "inconsistent numbers of samples"),
        (sparse.csr_matrix(y[:, None]), "y is a sparse matrix"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, bad)
    with pytest.warns(UserWarning, match="column-vector"):
        column = model.fit(X, y[:, None]).predict(X[:3])
    np.testing.assert_array_equal(column, model.fit(X, y).predict(X[:3]))


@every_model
def test_bad_rows(model):
    X, y, Q = smooth()
    with pytest.raises(InvalidDataError, match="Sparse data was passed to"):
        model.fit(sparse.csr_matrix(X), y)
    with pytest.raises(InvalidDataError, match="infinity"):
        model.fit(X, y).predict(np.where(Q > 0, np.inf, Q))
    with pytest.raises(ValueError, match="non-zero|is 0 for all rows"):
        model.fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="[Nn]egative"):
        model.fit(X, y, sample_weight=-np.ones(len(y)))


def test_bad_parameters():
    X, y, Q = smooth()
    with pytest.raises(InvalidDataError, match="n_neighbors=61 neighbours are wanted"):
        LWLRegressor(n_neighbors=61).fit(X, y).predict(Q)
    with pytest.raises(InvalidDataError, match="KNeighborsRegressor does not. Use 'stump', 'linear' or"):
        LWLRegressor(KNeighborsRegressor()).fit(X, y)
    for bad in (LWLRegressor("naive_bayes"), LWLRegressor(kernel="cosine"), LWLRegressor(ridge=-1.0)):
        with pytest.raises(ValueError, match="parameter of LWLRegressor must be"):
            bad.fit(X, y)
    with pytest.raises(ValueError, match="'blend' parameter of KStarRegressor must be"):
        KStarRegressor(0).fit(X, y)
    holes = np.where(X > 1, np.nan, X)
    with pytest.raises(InvalidDataError, match="Ridge, the estimator of LWLRegressor, takes no missing values"):
        LWLRegressor(Ridge()).fit(holes, y)
    assert np.isfinite(LWLRegressor(DecisionTreeRegressor(max_depth=1)).fit(holes, y).predict(holes[:3])).all()
