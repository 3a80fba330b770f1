"""Without a weigher: the answers of scikit-learn's regressor, where the k nearest rows are beyond doubt."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, make_regression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from weighbors import WeightedKNeighborsRegressor
from weighbors.datasets import load_dataset

#: How many queries have k nearest rows beyond doubt (the next one is farther), for p = 1 and p = 2. A few others, in
#: machine-cpu, servo and triazines, are left to the oracle: scikit-learn orders equal distances as it likes.
CLEAR = {
    "r-abalone": (400, 400), "r-autompg": (199, 199), "r-autoprice": (79, 79), "r-bodyfat": (126, 126),
    "r-cholesterol": (151, 151), "r-cpu-small": (400, 400), "r-fishcatch": (79, 79), "r-housing": (253, 253),
    "r-kin8nm": (400, 400), "r-machine-cpu": (103, 103), "r-pbc": (209, 209), "r-puma8NH": (400, 400),
    "r-pwlinear": (100, 100), "r-servo": (81, 74), "r-stock": (400, 400), "r-strike": (312, 312),
    "r-triazines": (91, 89), "r-wisconsin": (97, 97),
}  # fmt: skip
K = 7


def prepared(name):
    """At most 800 drawn rows of a table: numbers scaled, categories one-hot, missing values filled in."""
    data = load_dataset(name, "R_regression")
    frame = pd.get_dummies(pd.DataFrame(data.X), dtype=float)
    frame = frame.fillna(frame.median())
    order = np.random.default_rng(0).permutation(len(frame))[:800]
    return StandardScaler().fit_transform(frame)[order], np.asarray(data.y)[order]


def compare(X, y, Q, p):
    """Compare all predictions for which the k nearest rows are beyond doubt, and return how many these are."""
    # A tree takes differences of rows directly, as we do; brute force would round them away.
    distance, _ = KNeighborsRegressor(K, p=p, algorithm="kd_tree").fit(X, y).kneighbors(Q, K + 1)
    clear = distance[:, K] > distance[:, K - 1] * (1 + 1e-9)
    for how in ("uniform", "distance"):
        theirs = KNeighborsRegressor(K, p=p, weights=how, algorithm="kd_tree").fit(X, y).predict(Q)
        for given in (X, da.from_array(X, chunks=(200, X.shape[1])))[: 1 if y.ndim == 2 else 2]:
            model = WeightedKNeighborsRegressor(K, p=p, weights=how).fit(given, y)
            ours = model.predict(Q)
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours[clear], theirs[clear], rtol=1e-9, atol=1e-9 * np.abs(y).max())
        np.testing.assert_allclose(np.sort(model.kneighbors(Q)[0], axis=1), distance[:, :K], rtol=1e-9, atol=1e-12)
    return int(clear.sum())


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("name", CLEAR)
def test_same_answers(papers_data, name, p):
    X, y = prepared(name)
    assert compare(X[::2], y[::2], X[1::2], p) == CLEAR[name][p - 1]


@pytest.mark.parametrize("p", [1, 2])
def test_same_answers_for_several_outputs(p):
    for seed in range(3):
        X, y = make_regression(300, 6, n_informative=4, n_targets=3, noise=5.0, random_state=seed)
        assert compare(X[::2], y[::2], X[1::2], p) == 150
        assert compare(X[::2], y[::2, :1], X[1::2], p) == 150
    X, y = load_diabetes(return_X_y=True)
    model = WeightedKNeighborsRegressor(K, p=p).fit(X[::2], y[::2])
    theirs = KNeighborsRegressor(K, p=p).fit(X[::2], y[::2])
    weight = np.arange(221) % 3
    assert model.score(X[1::2], y[1::2]) == pytest.approx(theirs.score(X[1::2], y[1::2]), rel=1e-12)
    assert model.score(X[1::2], y[1::2], weight) == pytest.approx(theirs.score(X[1::2], y[1::2], weight), rel=1e-12)
    graph = model.kneighbors_graph(X[1::2], mode="distance")
    np.testing.assert_allclose(graph.toarray(), theirs.kneighbors_graph(X[1::2], mode="distance").toarray(), rtol=1e-9)
