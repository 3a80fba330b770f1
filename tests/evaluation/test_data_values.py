"""Values of training rows equal the Shapley value by its definition, and find wrong labels."""

import numpy as np
import pandas as pd
import pytest
from naive.data_values import knn_utility, shapley_values
from scipy import sparse

from weighbors import WeightedKNeighborsClassifier, Weights
from weighbors.evaluation import data_values
from weighbors.exceptions import InvalidDataError, WeighborsError

RNG = np.random.default_rng


def small(n, seed, classes=2, ties=False):
    rng = RNG(seed)
    X = rng.integers(0, 3, (n, 2)).astype(float) if ties else rng.normal(size=(n, 2))
    return X, rng.permutation(np.arange(n) % classes)


@pytest.mark.parametrize("k", [1, 2, 5, 6, 8])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_values_of_queries_are_those_of_the_definition(k, ties, classes):
    X, y = small(6, k, classes, ties)
    Q, labels = small(3, k + 20, classes, ties)
    expected = np.mean(
        [list(shapley_values(X, y, q, label, k).values()) for q, label in zip(Q, labels, strict=True)], 0
    )
    np.testing.assert_allclose(data_values(X, y, Q, labels, n_neighbors=k).row_values, expected, atol=1e-12)


@pytest.mark.parametrize("k", [1, 3])
def test_rows_as_their_own_queries_have_no_value_for_themselves(k):
    X, y = small(7, 3)
    expected = np.zeros(7)
    for query in range(7):
        others = [i for i in range(7) if i != query]
        for i, value in shapley_values(X, y, X[query], y[query], k, others).items():
            expected[i] += value / 7
    np.testing.assert_allclose(data_values(X, y, n_neighbors=k).row_values, expected, atol=1e-12)


def test_values_add_up_to_the_share_of_right_neighbours():
    X, y = small(60, 0, 3)
    found = data_values(X, y, n_neighbors=4)
    everyone = [knn_utility([j for j in range(60) if j != i], X, y, X[i], y[i], 4) for i in range(60)]
    assert found.score == pytest.approx(np.mean(everyone))
    assert found.row_values.sum() == pytest.approx(found.score)
    shares = WeightedKNeighborsClassifier(4).fit(X, y).predict_proba(None)
    assert found.score == pytest.approx(shares[np.arange(60), y].mean())


def test_wrong_labels_have_the_lowest_values():
    rng = RNG(1)
    X = np.concatenate([rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + 4])
    y = np.repeat(["a", "b"], 60)
    wrong = [5, 30, 70, 100]
    y[wrong] = np.where(y[wrong] == "a", "b", "a")
    found = data_values(X, y, n_neighbors=5)
    assert sorted(found.frame().index[:4]) == wrong
    assert not found.frame()["helps"].iloc[:4].any()


def test_weights_categories_sparse_rows_and_names():
    X, y = small(30, 2)
    a = np.array([2.0, 0.5])
    np.testing.assert_allclose(
        data_values(X, y, weights=Weights(feature_weights=a)).row_values, data_values(X * np.sqrt(a), y).row_values
    )
    np.testing.assert_allclose(data_values(sparse.csr_matrix(X), y).row_values, data_values(X, y).row_values)
    frame = pd.DataFrame({"kind": ["u", "v"] * 15, "size": X[:, 0]}, index=[f"row {i}" for i in range(30)])
    coded = np.column_stack([np.arange(30) % 2, X[:, 0]])  # two categories differ by 1, as the codes 0 and 1 do
    found = data_values(frame, y)
    np.testing.assert_allclose(found.row_values, data_values(coded, y).row_values)
    assert found.frame()["row"].iloc[0].startswith("row ")
    assert "row " in repr(found)
    assert "harm" in repr(found)


def test_results_do_not_depend_on_threads_and_batches(monkeypatch):
    X, y = small(50, 4, 3)
    found = data_values(X, y).row_values
    monkeypatch.setattr("weighbors.evaluation.valuation._CELLS", 300)
    np.testing.assert_array_equal(data_values(X, y).row_values, found)


def test_bad_input():
    X, y = small(10, 0)
    with pytest.raises(InvalidDataError, match="go together"):
        data_values(X, y, X)
    with pytest.raises(InvalidDataError, match="p must be 1 or 2"):
        data_values(X, y, p=3)
    with pytest.raises(WeighborsError, match="n_neighbors"):
        data_values(X, y, n_neighbors=0)
    with pytest.raises(InvalidDataError, match="not there in fit"):
        data_values(X, y, X, y + 5)
    with pytest.raises(InvalidDataError, match="one weight per feature"):
        data_values(X, y, weights=Weights(votes=np.ones(10)))
    with pytest.raises(InvalidDataError, match="one weight per feature"):
        data_values(X, y, weights=Weights(feature_weights=np.ones((2, 2)), classes=[0, 1]))
    with pytest.raises(ValueError, match="inconsistent"):
        data_values(X, y[:5])
    with pytest.raises(InvalidDataError):
        data_values(X, np.linspace(0, 1, 10))
