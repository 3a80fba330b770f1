"""Scores of parts of a table that is coded once are those of separate fits."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_selection import f_classif, f_regression, mutual_info_classif

from weighbors import ReliefF, ScoreWeigher
from weighbors.weighers import scored_table
from weighbors.weighers.scored_table import ScoredTable

N = 60


def a_table(kind):
    """Numbers, or numbers and categories, some of them missing, constant or rare."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(N, 5))
    numbers[:, 3] = 7.0
    if kind == "array":
        return numbers
    if kind == "array with holes":
        return np.where(rng.random((N, 5)) < 0.2, np.nan, numbers)
    if kind == "codes":
        return np.column_stack([numbers, rng.integers(0, 3, size=(N, 2))])
    frame = pd.DataFrame(numbers, columns=list("abcde"))
    frame.insert(1, "colour", rng.choice(["red", "green", "blue"], N))
    frame["level"] = pd.Categorical(rng.choice(["low", "high"], N))
    frame["rare"] = np.where(np.arange(N) == 5, "once", "often")
    frame["same"] = "one"
    if kind == "frame with holes":
        for name in ("a", "colour", "level"):
            frame.loc[rng.random(N) < 0.2, name] = None
        frame["empty"] = pd.Series([None] * N, dtype=object)
    return frame


def targets(numeric):
    rng = np.random.default_rng(1)
    return rng.normal(size=N) if numeric else rng.choice(["x", "y", "z"], N)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("numeric", [False, True])
@pytest.mark.parametrize("kind", ["array", "array with holes", "codes", "frame", "frame with holes"])
def test_scores_of_parts_are_those_of_fits(kind, numeric):
    X, y = a_table(kind), targets(numeric)
    weigher = ScoreWeigher(categorical_features=[5, 6] if kind == "codes" else "from_dtype")
    table = ScoredTable.of(weigher, X, numeric=numeric)
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(N)[: N // 2]
        part = X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]
        wanted = weigher.fit(part, y[rows]).feature_weights_
        np.testing.assert_allclose(table.score(rows, y[rows]), wanted, rtol=1e-9, atol=1e-12)
        assert wanted.max() > 0


@pytest.mark.parametrize("numeric", [False, True])
def test_an_offset(numeric):
    X, y = a_table("array"), targets(numeric)
    weigher = ScoreWeigher(offset=0.5)
    table, rows = ScoredTable.of(weigher, X, numeric=numeric), np.arange(0, N, 2)
    np.testing.assert_allclose(table.score(rows, y[rows]), weigher.fit(X[rows], y[rows]).feature_weights_, rtol=1e-9)


@pytest.mark.parametrize(
    ("weigher", "kind", "numeric"),
    [
        (ReliefF(), "array", False),
        (ScoreWeigher(offset="auto"), "array", False),
        (ScoreWeigher(mutual_info_classif), "array", False),
        (ScoreWeigher(f_regression), "array", False),
        (ScoreWeigher(f_classif), "array", True),
        (ScoreWeigher(target_type="numeric"), "array", False),
        (ScoreWeigher(offset=0.5), "frame", False),
    ],
    ids=[
        "ReliefF",
        "offset auto",
        "mutual information",
        "of numbers",
        "of classes",
        "numeric",
        "offset and categories",
    ],
)
def test_what_computes_something_else_is_fitted(weigher, kind, numeric):
    assert ScoredTable.of(weigher, a_table(kind), numeric=numeric) is None


def test_sparse_and_very_large_tables_are_fitted(monkeypatch):
    assert ScoredTable.of(ScoreWeigher(), sparse.csr_matrix(a_table("array")), numeric=False) is None
    monkeypatch.setattr(scored_table, "_MOST_BYTES", 8 * N * 5 - 1)
    assert ScoredTable.of(ScoreWeigher(), a_table("array"), numeric=False) is None
