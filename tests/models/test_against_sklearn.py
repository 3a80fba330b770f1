"""Without a weigher: scikit-learn's answers on the papers' data sets, tied distances set aside."""

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from weighbors import WeightedKNeighborsClassifier
from weighbors.datasets import load_dataset

# small integers tie often and are left to the oracle tests; these are mostly real-valued
NAMES = [
    ("diabetis", "A_ida"), ("thyroid", "A_ida"), ("pima", "C_uci"), ("glass", "C_uci"), ("ionosphere", "C_uci"),
    ("satellite", "C_uci"), ("lsvt-voice", "C_uci"), ("musk2", "C_uci"), ("parkinsons", "C_uci"),
    ("pop-failures", "C_uci"), ("spectf", "C_uci"), ("sonar", "C_uci"), ("vehicle", "C_uci"),
    ("waveform", "C_uci"), ("wdbc", "C_uci"), ("arcene", "C_nips2003"), ("madelon", "C_nips2003"),
    ("colon", "C_microarray"), ("gcm-reduced", "C_microarray"), ("banana", "D_uci"), ("phoneme", "D_uci"),
    ("segment", "D_uci"), ("wine", "D_uci"), ("texture", "D_uci"), ("movement_libras", "D_uci"), ("yeast", "D_uci"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "group"), NAMES)
@pytest.mark.parametrize("p", [1, 2])
def test_same_answers(papers_data, name, group, p):
    data = load_dataset(name, group)
    X = np.asarray(data.X, dtype=np.float64)
    X, first = np.unique(X, axis=0, return_index=True)  # scikit-learn orders duplicates as it likes
    order = np.random.default_rng(0).permutation(len(X))[:1500]
    X, y = StandardScaler().fit_transform(X)[order], data.y[first][order]
    X, y, Q = X[::2], y[::2], X[1::2]
    k = 7
    theirs = KNeighborsClassifier(k, p=p, algorithm="brute").fit(X, y)
    ours = WeightedKNeighborsClassifier(k, p=p).fit(X, y)
    distance, row = theirs.kneighbors(Q, k + 1)
    clear = (np.diff(distance, axis=1) > 1e-7 * distance[:, -1:]).all(axis=1)
    assert (~clear).mean() <= 0.05
    found_distance, found_row = ours.kneighbors(Q)
    np.testing.assert_array_equal(found_row[clear], row[clear, :k])
    np.testing.assert_allclose(found_distance[clear], distance[clear, :k], rtol=1e-6)
    np.testing.assert_array_equal(ours.predict(Q)[clear], theirs.predict(Q)[clear])
    np.testing.assert_allclose(ours.predict_proba(Q)[clear], theirs.predict_proba(Q)[clear], rtol=1e-12)
    by_distance = WeightedKNeighborsClassifier(k, p=p, weights="distance").fit(X, y).predict_proba(Q)
    expected = KNeighborsClassifier(k, p=p, weights="distance", algorithm="brute").fit(X, y).predict_proba(Q)
    np.testing.assert_allclose(by_distance[clear], expected[clear], rtol=1e-5, atol=1e-9)


def test_a_table_with_missing_values_and_categories_works_as_it_is(papers_data):
    data = load_dataset("credit-approval")
    assert isinstance(data.X, pd.DataFrame)
    model = WeightedKNeighborsClassifier(5).fit(data.X[::2], data.y[::2])
    assert model.score(data.X[1::2], data.y[1::2]) > 0.6


def test_sparse_text_is_searched_without_becoming_dense(papers_data):
    data = load_dataset("dexter", "C_nips2003")
    model = WeightedKNeighborsClassifier(5).fit(data.X[:300], data.y[:300])
    theirs = KNeighborsClassifier(5, algorithm="brute").fit(data.X[:300], data.y[:300])
    agree = model.predict(data.X[300:]) == theirs.predict(data.X[300:])
    assert agree.mean() >= 0.95
    assert model._engine.references.sparse
