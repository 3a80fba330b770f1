"""NCAWeights against loops written from the paper, and what its users meet."""

import warnings

import numpy as np
import pandas as pd
import pytest
from naive import nca as naive
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_iris, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbors import NCAWeights, Stratified, WeightedKNeighborsClassifier
from weighbors.engine import NeighborEngine
from weighbors.engine.pairs import PackedRows
from weighbors.exceptions import InvalidDataError, LonelyClassWarning, NoPositiveWeightWarning
from weighbors.tables.coded import CodedTable
from weighbors.tables.targets import Target
from weighbors.tables.validation import TableCoder
from weighbors.weighers.nca import make_problem, objective
from weighbors.weighers.rows import weigh_pairs

RNG = np.random.default_rng
SEEDS = range(24)


def generated(seed):
    """A table with its categories: ties, categories, missing values, duplicates, constant columns, both targets."""
    rng = RNG(seed)
    n, m = int(rng.integers(12, 30)), int(rng.integers(2, 6))
    X = rng.integers(0, 4, size=(n, m)).astype(float) if seed % 4 == 1 else rng.normal(size=(n, m)) * 10.0 ** (seed % 5)
    nominal = np.zeros(m, dtype=bool)
    if seed % 3 == 0:
        nominal[-1] = True
        X[:, -1] = rng.integers(0, 3, size=n)
    if seed % 2 == 0:
        X[rng.random(X.shape) < 0.1] = np.nan
    if seed % 5 == 0:
        X[: n // 4] = X[n // 4 : 2 * (n // 4)]
    if seed % 7 == 0:
        X[:, 0] = 7.0
    numeric = seed % 3 == 2
    known = np.nan_to_num(X[:, -1])
    y = known + rng.normal(size=n) if numeric else (known > np.median(known)).astype(int) + (rng.random(n) < 0.2)
    weight = rng.integers(0, 4, size=n).astype(float) + (np.arange(n) < 2) if seed % 4 == 3 else np.ones(n)
    return X, y, nominal, numeric, weight


def problem_of(X, y, nominal, numeric, weight):
    classes, codes = (np.zeros(0), np.zeros(len(y), dtype=int)) if numeric else np.unique(y, return_inverse=True)
    table = CodedTable(X, TableCoder(nominal=nominal), Target(codes, classes, y if numeric else None), weight)
    return make_problem(table)


def oracle_of(X, y, nominal, numeric, weight, *, regularization=0.0):
    """The oracle's objective as a function of the weights of all columns."""
    rows, gaps = naive.standardized(X, nominal)
    target = (y / y.std()).tolist() if numeric else y.tolist()
    options = {"numeric": numeric, "regularization": regularization, "weight": weight.tolist()}
    return lambda w: naive.objective(rows, gaps, nominal, target, list(w), **options)


@pytest.mark.parametrize("seed", SEEDS)
def test_value_and_gradient_equal_the_oracle(seed):
    given = generated(seed)
    problem, columns, _ = problem_of(*given)
    value_of = oracle_of(*given)
    w = np.zeros(given[0].shape[1])
    w[columns] = RNG(seed).uniform(0.2, 1.5, size=len(columns))
    value, gradient = objective(problem, w[columns] ** 2)
    assert value == pytest.approx(value_of(w), abs=1e-10)
    for at, column in enumerate(columns):
        step = np.zeros(len(w))
        step[column] = 1e-5
        slope = (value_of(w + step) - value_of(w - step)) / 2e-5
        assert 2 * w[column] * gradient[at] == pytest.approx(slope, abs=1e-8)


@pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoPositiveWeightWarning")
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.LonelyClassWarning")
@pytest.mark.parametrize("seed", SEEDS)
def test_the_optimum_is_one_for_a_slow_optimizer(seed):
    X, y, nominal, numeric, weight = given = generated(seed)
    kind = "numeric" if numeric else "classes"
    model = NCAWeights(categorical_features=nominal, target_type=kind).fit(X, y, sample_weight=weight)
    w = model.feature_weights_
    value_of = oracle_of(*given, regularization=1 / len(X))
    assert model.objective_ == pytest.approx(value_of(w), abs=1e-10)
    # No search by values alone goes higher from here: not by single weights, not by all of them together.
    options = {"maxfev": 60 * len(w), "xatol": 1e-4, "fatol": 1e-9}
    for start in (w, w + 0.02):
        found = minimize(lambda v: -value_of(v), start, method="Nelder-Mead", options=options)
        assert -found.fun <= model.objective_ + 1e-6
    # From weights of 1, where L-BFGS begins, a plain quasi-Newton method without gradients finds nothing better.
    slow = minimize(lambda v: -value_of(v), np.ones(len(w)), method="BFGS", options={"gtol": 1e-5})
    assert -slow.fun <= model.objective_ + 1e-3


@pytest.mark.parametrize("seed", [0, 1, 2, 6])
def test_threads_and_containers_do_not_matter(seed, monkeypatch):
    X, y, nominal, numeric, weight = generated(seed)
    X, y, weight = np.vstack([X] * 4), np.concatenate([y] * 4), np.concatenate([weight] * 4)
    X = X + 1e-3 * RNG(1).normal(size=X.shape) * ~nominal
    monkeypatch.setattr("weighbors.engine.pairs._CHUNK_BYTES", 2**12)  # many chunks
    options = {"categorical_features": nominal, "target_type": "numeric" if numeric else "classes"}
    fits = [NCAWeights(0.01, n_jobs=n_jobs, **options).fit(X, y, sample_weight=weight) for n_jobs in (1, 2, 3)]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.feature_weights_, fits[0].feature_weights_)
    options["categorical_features"] = np.flatnonzero(nominal).tolist()
    framed = NCAWeights(0.01, **options).fit(pd.DataFrame(X), y, sample_weight=weight)
    np.testing.assert_array_equal(framed.feature_weights_, fits[0].feature_weights_)


def test_missing_numbers_in_sums_of_differences_are_at_the_missing_distance():
    rng = RNG(0)
    for dtype in (np.float32, np.float64):
        X = rng.normal(size=(37, 5)).astype(dtype)
        X[:, 4] = rng.integers(0, 3, size=37)
        X[rng.random(X.shape) < 0.2] = np.nan
        gap = np.array([1, 2, 3, 4, 1], dtype=dtype)
        packed = PackedRows(X, n_numeric=4, missing_distance=gap, missing=True)
        C = np.zeros((37, packed.width), dtype=dtype)
        C[:, :37] = rng.normal(size=(37, 37))
        D = np.abs(X[:, None, :4] - X[None, :, :4])
        D = np.concatenate([D, (X[:, None, 4:] != X[None, :, 4:]).astype(dtype)], axis=2)
        D = np.where(np.isnan(D), gap, D)
        wanted = np.einsum("ij,ijk->k", C[:, :37].astype(float), D.astype(float))
        found = packed.sum_differences(lambda begin, end, C=C: C[begin:end], 1)
        np.testing.assert_allclose(found, wanted, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-4)


def test_noise_gets_weight_zero():
    rng = RNG(0)
    X = rng.normal(size=(300, 40))
    y = np.where(X[:, 3] + X[:, 17] > 0, "ill", "well")
    # 1 / N is a weak penalty: some of 38 noisy features help by chance. A stronger one leaves the two.
    model = NCAWeights(0.02).fit(X, y)
    assert np.flatnonzero(model.feature_weights_).tolist() == [3, 17]
    assert model.classes_.tolist() == ["ill", "well"]
    with pytest.warns(NoPositiveWeightWarning):
        assert not NCAWeights(5.0).fit(X, y).feature_weights_.any()


def test_numeric_targets_find_the_features_of_friedman():
    X, y = make_friedman1(300, 20, noise=0.5, random_state=0)
    model = NCAWeights(0.02).fit(X, y)
    assert model.target_type_ == "numeric"
    assert set(np.argsort(-model.feature_weights_)[:5]) == set(range(5))
    # Units matter neither in the target nor in the features.
    other = NCAWeights(0.02).fit(X * 10.0 ** np.arange(-10, 10), 1e6 * y - 5)
    np.testing.assert_allclose(other.feature_weights_, model.feature_weights_, atol=1e-4)
    assert NCAWeights(0.02, n_features_to_select=5).fit_transform(X, y).shape == (300, 5)


def test_a_knn_gets_the_distances_that_were_learned():
    rng = RNG(0)
    X = rng.normal(size=(60, 4)) * [1.0, 100.0, 0.01, 1.0] + 1000
    X[:, 3] = rng.integers(0, 3, size=60)
    X[5, 0] = X[9, 1] = np.nan
    y = (np.nan_to_num(X[:, 1], nan=1000) > 1000).astype(int) + (X[:, 3] == 1)
    nominal = np.array([False, False, False, True])
    model = NCAWeights(0.001, categorical_features=nominal).fit(X, y)
    engine = NeighborEngine(X, weights=model.weights_, p=1, nominal=nominal)
    distance, row = engine.search(X[:10], 60)
    problem, columns, _ = problem_of(X, y, nominal, False, np.ones(60))
    learned = weigh_pairs(problem.pairs, model.feature_weights_[columns] ** 2).distances(0, 10)
    np.testing.assert_allclose(distance, np.take_along_axis(learned, row, axis=1), rtol=1e-9, atol=1e-9)


def test_weights_make_a_better_knn():
    rng = RNG(0)
    X = rng.normal(size=(400, 60)) * 10.0 ** rng.integers(-2, 3, size=60)
    y = (X[:, 0] / X[:, 0].std() + X[:, 1] / X[:, 1].std() > 0).astype(int)
    plain = make_pipeline(StandardScaler(), WeightedKNeighborsClassifier(5, p=1)).fit(X[:200], y[:200])
    knn = WeightedKNeighborsClassifier(5, NCAWeights(), p=1)
    model = GridSearchCV(knn, {"weigher__regularization": [0.001, 0.01, 0.03]}).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > plain.score(X[200:], y[200:]) + 0.1


def test_sample_weights_multiply_contributions():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    ones = NCAWeights(0.02).fit(X, y).feature_weights_
    np.testing.assert_allclose(NCAWeights(0.02).fit(X, y, np.full(len(X), 7.0)).feature_weights_, ones, atol=1e-5)
    weight = np.where(np.arange(len(X)) < len(X) // 2, 1.0, 0.0)
    assert not np.allclose(NCAWeights(0.02).fit(X, y, weight).feature_weights_, ones, atol=1e-3)


@pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoPositiveWeightWarning")
def test_small_and_odd_tables():
    with pytest.warns(LonelyClassWarning):
        two = NCAWeights().fit([[0.0, 1.0], [1.0, 1.0]], ["a", "b"])
    assert two.feature_weights_.tolist() == [0.0, 0.0]  # no row can have a neighbour of its class
    assert two.weights_.feature_weights.min() > 0
    numbers = NCAWeights(target_type="numeric").fit([[0.0, 1.0], [1.0, 1.0]], [0, 1])
    assert numbers.feature_weights_.tolist() == [0.0, 0.0]
    constant = NCAWeights().fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])
    assert constant.feature_weights_.tolist() == [0.0, 0.0]
    with pytest.warns(LonelyClassWarning):  # 30 classes, one of them with one row
        many = NCAWeights().fit(
            np.r_[np.repeat(np.arange(29), 3), 99][:, None] * 1.0, np.r_[np.repeat(np.arange(29), 3), 99]
        )
    assert many.feature_weights_[0] > 1
    empty = np.column_stack([np.arange(8) % 2 * 1.0, np.full(8, np.nan)])
    assert NCAWeights().fit(empty, np.arange(8) % 2).feature_weights_[1] == 0
    unpenalized = NCAWeights(0.0, max_iter=5, tol=0.1).fit(*load_iris(return_X_y=True))
    assert unpenalized.regularization_ == 0


def test_wide_sparse_and_float32_tables():
    rng = RNG(0)
    X = rng.normal(size=(60, 2000))
    y = (X[:, 7] > 0).astype(int)
    X[:, 7] += 3 * y
    model = NCAWeights(0.05).fit(X, y)
    assert np.argmax(model.feature_weights_) == 7
    single = NCAWeights(0.05).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.feature_weights_, model.feature_weights_, atol=1e-3)
    Z = np.where(np.abs(X[:, :50]) > 1, X[:, :50], 0.0)
    dense = NCAWeights().fit(Z, y).feature_weights_
    np.testing.assert_array_equal(NCAWeights().fit(sparse.csr_matrix(Z), y).feature_weights_, dense)


def test_a_large_sparse_table_is_refused(monkeypatch):
    monkeypatch.setattr("weighbors.weighers.rows.DENSE_BYTES", 100)
    with pytest.raises(InvalidDataError, match="NCAWeights needs dense rows"):
        NCAWeights().fit(sparse.random(20, 30, 0.1, "csr", random_state=0), np.arange(20) % 2)


def test_too_few_iterations_are_told():
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        NCAWeights(max_iter=2).fit(*load_iris(return_X_y=True))


def test_extreme_values():
    X, y = load_iris(return_X_y=True)
    wanted = NCAWeights().fit(X, y).feature_weights_
    np.testing.assert_allclose(NCAWeights().fit(X * 1e150, y).feature_weights_, wanted, atol=1e-4)
    np.testing.assert_allclose(NCAWeights().fit(X * 1e-150, y).feature_weights_, wanted, atol=1e-4)
    with pytest.raises(InvalidDataError, match="cannot be scaled"):
        NCAWeights().fit(np.where(y[:, None] == 0, -1e307, 1e307) * (X + 5), y)


def test_strata_use_it():
    X, y = load_iris(return_X_y=True)
    model = Stratified(NCAWeights(), n_strata=2, random_state=0).fit(X, y)
    assert set(np.argsort(-model.feature_weights_)[:2]) == {2, 3}


def test_the_default_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NCAWeights().fit(*load_iris(return_X_y=True))
