"""The lazy learners against figures of others: another program's output, and tables of paper 002."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from weighbors import IB1, LWL, IBk, KStar
from weighbors.datasets import load_dataset

# Attributes a, b (numbers), c in {x, y, z} and the class in {p, q, r}.
TRAIN = """5,-1.32,z,q 4,1.14,y,q 2,1.45,x,p 0,3.63,x,p 4,0.77,x,q 1,0.2,y,q 5,-0.08,z,q 4,-0.49,y,r 3,0.55,z,q
    1,0.41,z,p 6,0.36,x,q 6,-0.17,z,r 4,0.02,z,q 2,-1.05,y,q 2,-1.09,y,q 0,0.89,x,p 3,0.72,y,r 0,0.9,x,p 3,0.04,y,r
    5,1.74,x,q 0,-1.18,z,p 6,-0.33,y,r 6,3.45,x,r 2,2.64,x,q"""
TEST = "4,0.84,z,q 2,3.35,x,p 4,2.19,x,q 2,-0.36,y,q 2,2.24,x,q 0,0.9,y,q 6,0.8,x,q 2,-0.36,z,q"
# Weka 3.6.14, java weka.classifiers.lazy.<scheme> <options> -t train.arff -T test.arff -p 0 -distribution:
# the probabilities of p and r as it prints them, to three places.
WEKA = {
    "IBk -K 3": [(0.013, 0.013), (0.653, 0.013), (0.013, 0.013), (0.013, 0.333), (0.653, 0.013), (0.013, 0.333),
                 (0.013, 0.013), (0.333, 0.013)],
    "IBk -K 3 -I": [(0.002, 0.002), (0.445, 0.002), (0.002, 0.002), (0.001, 0.28), (0.413, 0.001), (0.003, 0.236),
                    (0.001, 0.001), (0.386, 0.002)],
    "IBk -K 3 -F": [(0.015, 0.015), (0.619, 0.016), (0.016, 0.016), (0.015, 0.328), (0.621, 0.015), (0.017, 0.312),
                    (0.015, 0.015), (0.343, 0.016)],
    "KStar": [(0.011, 0.079), (0.278, 0.01), (0.063, 0.028), (0.005, 0.447), (0.297, 0.002), (0.755, 0.133),
              (0.02, 0.019), (0.193, 0.196)],
    "LWL": [(0.0, 0.29), (0.701, 0.0), (0.0, 0.331), (0.321, 0.0), (0.707, 0.0), (0.427, 0.0), (0.0, 0.337),
            (0.694, 0.0)],
    "LWL -K 9": [(0.0, 0.172), (0.247, 0.111), (0.195, 0.0), (0.0, 0.0), (0.315, 0.03), (0.0, 0.0), (0.125, 0.0),
                 (0.0, 0.124)],
    "LWL -W NaiveBayes": [(0.0, 0.144), (0.693, 0.066), (0.004, 0.176), (0.016, 0.359), (0.534, 0.028),
                          (0.462, 0.007), (0.0, 0.211), (0.19, 0.123)],
}  # fmt: skip
OURS = {
    "IBk -K 3": IBk(3),
    "IBk -K 3 -I": IBk(3, weights="inverse"),
    "IBk -K 3 -F": IBk(3, weights="similarity"),
    "KStar": KStar(),
    "LWL": LWL(),
    "LWL -K 9": LWL(n_neighbors=9),
    "LWL -W NaiveBayes": LWL("naive_bayes"),
}


def small(text):
    rows = [row.split(",") for row in text.split()]
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "class"]).astype({"a": float, "b": float, "c": "category"})
    return frame[["a", "b", "c"]], frame["class"].astype(str).to_numpy()


def with_prior(model, queries, shares):
    """Weka's IBk adds 1/n to the votes of every class."""
    delta = model.kneighbors(queries)[0] / np.sqrt(3)
    votes = {"uniform": np.ones_like, "inverse": lambda d: 1 / (d + 0.001), "similarity": lambda d: 1 - d}
    total = votes[model.weights](delta).sum(axis=1, keepdims=True)
    return (shares * total + 1 / 24) / (total + 3 / 24)


@pytest.mark.parametrize("scheme", WEKA)
def test_probabilities_are_those_of_weka(scheme):
    X, y = small(TRAIN)
    Q, _ = small(TEST)
    model = OURS[scheme].fit(X, y)
    shares = model.predict_proba(Q)
    if scheme.startswith("IBk"):
        shares = with_prior(model, Q, shares)
    tolerance = 0.0025 if scheme == "KStar" else 0.00051  # Weka stops its root finder early
    np.testing.assert_allclose(shares[:, [0, 2]], WEKA[scheme], rtol=0, atol=tolerance)


def accuracies(name, model, seeds):
    """Per cent right in stratified 10-fold cross-validation, complete rows only, per seed."""
    data = load_dataset(name, "B_wibk")
    complete = data.X.notna().all(axis=1).to_numpy()
    X, y = data.X[complete].astype(float), np.asarray(data.y)[complete].astype(str)
    right = []
    for seed in seeds:
        folds = StratifiedKFold(10, shuffle=True, random_state=seed)
        right.append(100 * np.mean(cross_val_predict(model, X, y, cv=folds) == y))
    return np.array(right)


# paper 002, table 4: K, IB1, IB-K, LWL
PAPER = {
    "balance-scale": (24, 79.027, 89.436, 53.932),
    "breast-cancer-wisconsin": (5, 96.04, 97.079, 92.09),
    "cmc": (16, 43.312, 48.404, 48.47),
    "dermatology-358": (1, 95.269, 95.269, 82.642),
    "haberman": (27, 65.709, 74.494, 72.505),
    "hayes-roth-132": (2, 76.538, 62.087, 79.395),
    "lung-cancer": (1, 48.333, 48.333, 56.666),
    "tae": (1, 63.583, 62.291, 52.916),
}


@pytest.mark.parametrize("name", ["balance-scale", "breast-cancer-wisconsin", "dermatology-358", "haberman"])
def test_a_share_of_table_4(name, papers_data):
    k, nearest, neighbours, _ = PAPER[name]
    assert accuracies(name, IBk(k, ties="index"), [0])[0] == pytest.approx(neighbours, abs=1.5)
    assert accuracies(name, IB1(), [0])[0] == pytest.approx(nearest, abs=1.5)


def test_lwl_on_balance_scale(papers_data):
    assert accuracies("balance-scale", LWL(), [0])[0] == pytest.approx(PAPER["balance-scale"][3], abs=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize(("ties", "sets"), [("index", 6), ("all", 5)])
def test_table_4_of_ibk(ties, sets, papers_data):
    gaps = {}
    for name, (k, _, printed, _) in PAPER.items():
        gaps[name] = abs(accuracies(name, IBk(k, ties=ties), range(10)).mean() - printed)
    assert sum(gap <= 1.5 for gap in gaps.values()) >= sets, gaps


@pytest.mark.slow
@pytest.mark.parametrize("name", ["balance-scale", "haberman", "tae"])
def test_table_4_of_lwl(name, papers_data):
    # One run, as the paper's, is among ours. Weka 3.6.14 in ten cross-validations of its own (-x 10 -s 1 ... 10) has
    # means of 55.5, 72.5 and 51.7 with deviations of 1.2, 1.2 and 1.6.
    ours = accuracies(name, LWL(), range(10))
    assert abs(ours.mean() - PAPER[name][3]) <= 2 * ours.std(ddof=1)
    weka = {"balance-scale": 55.5, "haberman": 72.5, "tae": 51.7}
    assert ours.mean() == pytest.approx(weka[name], abs=1)
