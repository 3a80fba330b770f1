"""MBIW, SIMBA and SIMBAMBIW against loops written from the paper."""

import numpy as np
import pytest
from naive import simba as naive
from scipy import sparse
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbors import MBIW, IRelief, MultiSURF, Simba, SimbaMBIW, WeightedKNeighborsClassifier
from weighbors.engine import margins as module
from weighbors.engine.margins import Margins, simba_steps
from weighbors.exceptions import InvalidDataError, LonelyClassWarning
from weighbors.weighers import rows as _instances
from weighbors.weighers.simba import step_order, step_sizes

RNG = np.random.default_rng
# MBIW of more neighbours than a class has is among the cases
pytestmark = pytest.mark.filterwarnings("ignore::weighbors.exceptions.FewNeighborsWarning")


def generated(seed):
    """Integers full of ties, or reals; duplicates and constant columns; 2 to 8 classes."""
    rng = RNG(seed)
    n, m, classes = int(rng.integers(20, 60)), int(rng.integers(2, 9)), 2 + seed % 7
    X = rng.integers(0, 4, size=(n, m)).astype(float) if seed % 4 == 1 else rng.normal(size=(n, m))
    if seed % 3 == 0:
        X[:, 0] = 7.0
    if seed % 5 == 0:
        X[: n // 4] = X[n // 4 : 2 * (n // 4)]
    y = np.concatenate([np.arange(classes), np.arange(classes), rng.integers(0, classes, size=n - 2 * classes)])
    return X, y


def margins_of(X, y):
    return Margins(X, y, int(y.max()) + 1, np.zeros(X.shape[1], dtype=bool), None)


@pytest.mark.parametrize("seed", range(40))
def test_mbiw_equals_the_oracle(seed):
    X, y = generated(seed)
    for k in (1, 3, "all"):
        found = MBIW(k).fit(X, y).instance_weights_
        np.testing.assert_allclose(found, naive.mbiw(X, y, k), rtol=0, atol=1e-9)
        assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("step", [1.0, "1/n"])
def test_simba_equals_the_oracle(seed, step):
    X, y = generated(seed)
    if seed % 4 == 1:
        X = X + RNG(seed).normal(size=X.shape) * 1e-3  # after the first step ties would hang on rounding
    size = 1 / len(X) if step == "1/n" else 0.3
    order = RNG(seed).permutation(len(X))
    found = simba_steps(margins_of(X, y), np.ones(X.shape[1]), order, np.full(len(X), size))
    expected = naive.simba(X, y, order, np.full(len(X), size))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_first_steps_on_ties_go_to_the_lower_row():
    for seed in range(20):
        X = RNG(seed).integers(0, 3, size=(40, 4)).astype(float)
        y = RNG(seed + 100).integers(0, 3, size=40)
        order = RNG(seed).permutation(40)[:1]
        found = simba_steps(margins_of(X, y), np.ones(4), order, np.ones(1))
        np.testing.assert_allclose(found, naive.simba(X, y, order, [1.0]), rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, "1/n", 30.0])
def test_pruning_changes_nothing(monkeypatch, scale):
    """The order of features, and when it is chosen again, changes no bit."""
    X, y = make_classification(400, 30, n_informative=5, n_classes=3, random_state=0)
    order = RNG(0).permutation(400)
    step = np.full(400, 1 / 400 if scale == "1/n" else scale * 0.02)
    margins = margins_of(X, y)
    expected = simba_steps(margins, np.ones(30), order, step)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_CHUNK", 7)
        assert simba_steps(margins, np.ones(30), order, step).tobytes() == expected.tobytes()


@pytest.mark.parametrize(("n", "m", "missing"), [(150, 500, False), (600, 40, False), (150, 300, True)])
def test_threads_change_nothing(n, m, missing):
    """Even steps over all features, early ends of blocks, and mixed values: for one, two and more threads."""
    X, y = make_classification(n, m, n_informative=5, n_classes=3, random_state=0)
    X[::7, 3] = np.nan if missing else 0.0
    found = {
        jobs: Simba(step=1.0, random_state=0, n_jobs=jobs).fit(X, y).feature_weights_.tobytes() for jobs in (1, 2, 6)
    }
    assert found[1] == found[2] == found[6]


@pytest.mark.parametrize("strategy", ["order", "sample", "normal", "unmodified"])
@pytest.mark.parametrize("scale", ["sum", "mean"])
def test_simba_mbiw_equals_the_oracle(strategy, scale):
    X, y = make_classification(60, 6, n_informative=3, random_state=1)
    found = SimbaMBIW(strategy, scale=scale, random_state=0).fit(X, y)
    omega = naive.mbiw(X, y)
    order = step_order(omega, strategy, np.random.RandomState(0))
    step = np.ones(60) if strategy == "unmodified" else omega[order] * (60 if scale == "mean" else 1)
    w = naive.simba(X, y, order, step)
    np.testing.assert_allclose(found.feature_weights_, w**2 / (w**2).max(), rtol=1e-9)
    np.testing.assert_allclose(found.instance_weights_, omega, rtol=1e-9)
    np.testing.assert_allclose(found.weights_.feature_weights, found.feature_weights_**2)
    np.testing.assert_allclose(found.weights_.votes, omega * 60)


@pytest.mark.parametrize("seed", range(40))
def test_simba_mbiw_equals_the_oracle_on_many_tables(seed):
    X, y = generated(seed)
    if seed % 4 == 1:
        X = X + RNG(seed).normal(size=X.shape) * 1e-3  # after the first step ties would hang on rounding
    strategy, scale = ("order", "sample")[seed % 2], ("sum", "mean")[seed // 2 % 2]
    found = SimbaMBIW(strategy, scale=scale, random_state=seed).fit(X, y)
    omega = naive.mbiw(X, y)
    np.testing.assert_allclose(found.instance_weights_, omega, rtol=0, atol=1e-9)
    # equal weights of duplicates may round apart in the oracle: the order is taken from what was found
    order = step_order(found.instance_weights_, strategy, np.random.RandomState(seed))
    w = naive.simba(X, y, order, omega[order] * (len(X) if scale == "mean" else 1))
    np.testing.assert_allclose(found.feature_weights_, w**2 / (w**2).max(), rtol=0, atol=1e-9)


def test_the_reverse_composition_and_synergy():
    X, y = make_classification(60, 6, n_informative=3, random_state=1)
    reverse = SimbaMBIW(compose="simba_first", random_state=0).fit(X, y)
    w = naive.simba(X, y, np.random.RandomState(0).permutation(60), np.ones(60))
    np.testing.assert_allclose(reverse.instance_weights_, naive.mbiw(X * w, y), rtol=1e-8)


@pytest.mark.parametrize("strategy", ["order", "sample", "normal", "unmodified"])
@pytest.mark.parametrize("scale", ["sum", "mean"])
def test_synergy_orders_or_draws_the_rest_of_a_pass_anew(strategy, scale):
    X, y = make_classification(60, 6, n_informative=3, random_state=1)
    found = SimbaMBIW(strategy, scale=scale, synergy=20, random_state=3).fit(X, y)
    omega, w, rng = naive.mbiw(X, y), np.ones(6), np.random.RandomState(3)
    steps, used, permuted = [], [], rng.permutation(60) if strategy in ("normal", "unmodified") else None
    for begin in (0, 20, 40):
        if strategy == "order":
            rest = [i for i in np.argsort(-omega, kind="stable") if i not in used]
        elif strategy == "sample":
            rest = rng.choice(60, size=60 - begin, replace=True, p=omega / omega.sum())
        else:
            rest = permuted[begin:]
        part = [int(i) for i in rest[:20]]
        used += part
        steps += [1.0] * 20 if strategy == "unmodified" else (omega[part] * (60 if scale == "mean" else 1)).tolist()
        w = naive.simba(X, y, used, steps)
        if begin < 40:
            omega = naive.mbiw(X * w, y)
    np.testing.assert_allclose(found.feature_weights_, w**2 / (w**2).max(), rtol=1e-8)
    np.testing.assert_allclose(found.instance_weights_, omega, rtol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_uniform_weights_of_mean_one_are_simba(seed):
    X, y = generated(seed)
    order = RNG(seed).permutation(len(X))
    uniform = np.full(len(X), 1 / len(X))
    plain = simba_steps(margins_of(X, y), np.ones(X.shape[1]), order, np.ones(len(X)))
    sizes = step_sizes(uniform, "order", "mean")
    weighted = simba_steps(margins_of(X, y), np.ones(X.shape[1]), order, sizes[order])
    assert weighted.tobytes() == plain.tobytes()


@pytest.mark.parametrize("n_neighbors", [1, 3])
def test_sparse_margins_without_a_dense_copy(n_neighbors):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(90, 40)) * (rng.random((90, 40)) < 0.1)
    X[10:20] = X[:10]  # equal rows, so equal and nearly equal margin vectors
    y = rng.integers(0, 3, size=90)
    expected = MBIW(n_neighbors).fit(X.astype(float), y).instance_weights_
    found = MBIW(n_neighbors).fit(sparse.csr_matrix(X.astype(float)), y).instance_weights_
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_sparse_margins_over_all_neighbours_are_limited(monkeypatch):
    monkeypatch.setattr("weighbors.weighers.rows.DENSE_BYTES", 1000)
    X = sparse.random(50, 50, density=0.1, format="csr", random_state=0)
    with pytest.raises(InvalidDataError, match="MBIW over all hits and misses.*needs dense rows"):
        MBIW("all").fit(X, np.arange(50) % 2)
    assert MBIW(1).fit(X, np.arange(50) % 2).instance_weights_.sum() == pytest.approx(1)


def test_a_sparse_matrix_too_large_to_be_dense_is_refused(monkeypatch):
    monkeypatch.setattr(_instances, "DENSE_BYTES", 1000)
    X = sparse.random(50, 50, density=0.1, format="csr", random_state=0)
    with_hole = X.copy()
    with_hole.data[0] = np.nan
    for weigher, rows in ((Simba(), X), (IRelief(), X), (MultiSURF(), with_hole)):
        with pytest.raises(InvalidDataError, match="would take 0.0 GiB.*Select features first"):
            weigher.fit(rows, np.arange(50) % 2)


def test_equal_margins_give_uniform_weights():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    assert MBIW().fit(np.zeros((4, 2)), [0, 0, 1, 1]).instance_weights_.tolist() == [0.25] * 4
    assert MBIW().fit(X, [0, 0, 1, 1]).instance_weights_.sum() == pytest.approx(1)


def test_classes_with_one_instance():
    X, y = RNG(0).normal(size=(7, 2)), np.array([0, 0, 0, 1, 1, 1, 2])
    for weigher in (Simba(random_state=0), SimbaMBIW(), MBIW()):
        with pytest.warns(LonelyClassWarning):
            weigher.fit(X, y)
    w = simba_steps(margins_of(X, y), np.ones(2), np.arange(7), np.ones(7))
    np.testing.assert_allclose(w, naive.simba(X, y, range(7), np.ones(7)), rtol=1e-9)


def test_categories_and_missing_values():
    rng = RNG(0)
    X = np.column_stack([rng.integers(0, 3, size=50), rng.normal(size=50), rng.normal(size=50)]).astype(float)
    y = (X[:, 0] == 1).astype(int)
    found = Simba(step="1/n", random_state=0, categorical_features=[0]).fit(X, y)
    assert found.feature_weights_.argmax() == 0
    X[3, 1] = np.nan
    holes = SimbaMBIW(categorical_features=[0]).fit(X, y)
    assert np.isfinite(holes.feature_weights_).all()
    assert holes.feature_weights_.argmax() == 0
    # by hand: one step with a missing cell, which is at full range
    Z = np.array([[0.0, 0.0], [np.nan, 1.0], [4.0, 0.0], [3.0, 3.0]])
    w = simba_steps(margins_of(Z, np.array([0, 0, 1, 1])), np.ones(2), np.array([1]), np.ones(1))
    miss = np.array([4.0, 1.0]) ** 2 / np.sqrt(17)  # rows 2 and 3 at 16 + 1 and 16 + 4
    hit = np.array([4.0, 1.0]) ** 2 / np.sqrt(17)
    np.testing.assert_allclose(w, 1 + 0.5 * (miss - hit))


def test_algorithm_2_is_the_classifier_with_this_weigher():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = WeightedKNeighborsClassifier(7, SimbaMBIW()).fit(X[::2], y[::2])
    W, omega = model.weigher_.feature_weights_, model.weigher_.instance_weights_
    for q, label in zip(X[1:40:2], model.predict(X[1:40:2]), strict=True):
        d = np.sqrt((W**2 * (X[::2] - q) ** 2).sum(axis=1))
        nearest = np.argsort(d, kind="stable")[:7]
        votes = np.bincount(y[::2][nearest], weights=omega[nearest], minlength=3)
        assert label == votes.argmax()
    pipeline = make_pipeline(StandardScaler(), WeightedKNeighborsClassifier(5, SimbaMBIW()))
    assert cross_val_score(pipeline, *load_iris(return_X_y=True)).mean() > 0.9


def test_orders_and_passes():
    X, y = make_classification(80, 5, random_state=0)
    fixed = Simba(2, order="fixed", step=0.1).fit(X, y).feature_weights_
    w = naive.simba(X, y, [*range(80), *range(80)], np.full(160, 0.1))
    np.testing.assert_allclose(fixed, w**2 / (w**2).max(), rtol=1e-9)
    a, b = (Simba(random_state=s).fit(X, y).feature_weights_ for s in (0, 1))
    assert not np.array_equal(a, b)


def test_instance_weights_are_bound_to_their_rows():
    X, y = make_classification(60, 5, random_state=0)
    weights = SimbaMBIW().fit(X, y).weights_
    WeightedKNeighborsClassifier(3, weights).fit(X, y)
    with pytest.raises(ValueError, match="other rows"):
        WeightedKNeighborsClassifier(3, weights).fit(X[::-1], y)
