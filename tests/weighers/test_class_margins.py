"""Margins of classes against loops, and what they refuse."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from naive import relief as naive
from sklearn.exceptions import NotFittedError

from weighbors import ClassRelief
from weighbors.exceptions import InvalidDataError, InvalidWeightsError
from weighbors.weighers.class_relief import class_margins

RNG = np.random.default_rng
pytestmark = pytest.mark.filterwarnings("ignore::weighbors.exceptions.NoPositiveWeightWarning")


def test_class_margins_by_hand():
    X, y = np.array([[0.0, 0.0], [1.0, 5.0], [4.0, 0.0], [6.0, 9.0]]), np.array([0, 0, 1, 1])
    model = ClassRelief(1).fit(X, y)
    for c in range(2):
        w = np.maximum(model.class_feature_weights_[c], 0)
        w = w if w.any() else np.ones(2)
        distance = lambda a, b, w=w: np.sqrt(np.sum(w * (X[a] - X[b]) ** 2))  # noqa: E731
        rows, others = np.flatnonzero(y == c), np.flatnonzero(y != c)
        expected = sum(min(distance(i, z) for z in others) - distance(i, rows[rows != i][0]) for i in rows)
        assert model.class_margins(X, y)[c] == pytest.approx(expected)


def mixed_rows(n, seed, *, missing=False):
    """Numbers and categories, the latter as names, whose classes differ in all of them."""
    rng = RNG(seed)
    y = rng.choice(["left", "mid", "right"], n)
    shift = {"left": 0, "mid": 2, "right": 4}
    colours = np.array(["amber", "blue", "cyan", "dun", "ecru", "fawn"])
    frame = pd.DataFrame(
        {
            "colour": colours[(rng.integers(0, 3, n) + [shift[c] // 2 for c in y]) % 6],
            "size": rng.normal(size=n) + [shift[c] for c in y],
            "shape": rng.choice(["round", "square"], n),
            "noise": rng.normal(size=n),
        }
    )
    if missing:
        frame = frame.mask(rng.random(frame.shape) < 0.1)
    return frame, y


def margins_by_loops(model, X, y, nominal):
    rows = [[None if pd.isna(value) else value for value in row] for row in X.to_numpy(dtype=object).tolist()]
    weights = dict(zip(model.classes_.tolist(), model.class_feature_weights_.tolist(), strict=True))
    found = naive.class_margins(rows, list(y), weights, model.n_neighbors, nominal)
    return [found[c] for c in model.classes_.tolist()]


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("missing", [False, True])
def test_class_margins_of_mixed_tables(k, missing):
    X, y = mixed_rows(45, 0, missing=missing)
    model = ClassRelief(k).fit(X, y)
    nominal = [True, False, True, False]
    np.testing.assert_allclose(model.class_margins(X, y), margins_by_loops(model, X, y, nominal), rtol=1e-12)
    codes = X.apply(lambda column: column if column.dtype.kind == "f" else column.astype("category").cat.codes)
    named = ClassRelief(k, categorical_features=[0, 2]).fit(codes.to_numpy(), y)
    if not missing:
        np.testing.assert_allclose(named.class_margins(codes.to_numpy(), y), model.class_margins(X, y), rtol=1e-12)


def test_class_margins_of_other_rows_with_new_categories():
    X, y = mixed_rows(45, 0)
    model = ClassRelief(3).fit(X, y)
    other, labels = mixed_rows(30, 1)
    other.loc[::3, "colour"] = "grey"
    other.loc[1::3, "colour"] = "white"  # differs from grey, though fit has seen neither
    expected = margins_by_loops(model, other, labels, [True, False, True, False])
    np.testing.assert_allclose(model.class_margins(other, labels), expected, rtol=1e-12)
    assert set(model._coder.categories[0]) <= set(X["colour"])  # nothing was learned


@pytest.mark.parametrize(
    ("label", "told"),
    [("lefty", r"not there in fit: \['lefty'\].*leave these"), (3, "not there in fit"), (None, "labels are missing")],
)
def test_class_margins_know_their_labels(label, told):
    X, y = mixed_rows(45, 0)
    model, strange = ClassRelief(3).fit(X, y), y.astype(object)
    strange[4] = label
    with pytest.raises(InvalidDataError, match=told):
        model.class_margins(X, strange)


def test_class_margins_refuse_what_they_cannot_measure():
    X, y = mixed_rows(45, 0)
    with pytest.raises(NotFittedError):
        ClassRelief().class_margins(X, y)
    model = ClassRelief(3).fit(X, y)
    cases = [
        (X, y[:-1], "45 rows and y 44 labels"),
        (X.drop(columns="size"), y, "Feature names seen at fit time"),
        (X.to_numpy()[:, :3], y, "expecting 4 features"),
        (X.assign(size="tall"), y, "column 'size' was numeric in fit"),
        (X.assign(size=np.inf), y, "infinity"),
        (X[:0], y[:0], "0 sample"),
        (X, np.column_stack([y, y]), "1d array"),
        (X[y != "mid"], y[y != "mid"], r"y lacks the classes \['mid'\]"),
    ]
    for rows, labels, told in cases:
        nameless = pytest.warns(UserWarning, match="feature names") if isinstance(rows, np.ndarray) else nullcontext()
        with nameless, pytest.raises(InvalidDataError, match=told):
            model.class_margins(rows, labels)


def test_class_margins_of_numbers_check_their_weights():
    X, codes = RNG(0).normal(size=(9, 2)), np.arange(9) % 3
    with pytest.raises(InvalidWeightsError, match="the weights are for 3 features; the data have 2"):
        class_margins(X, codes, 3, np.ones((3, 3)), 1)
    with pytest.raises(InvalidWeightsError, match="must be finite; got nan at position 1"):
        class_margins(X, codes, 3, np.array([[1.0, np.nan]]), 1)
    less = class_margins(X, codes, 3, np.array([[1.0, -5.0]]), 1)  # a negative weight counts 0
    np.testing.assert_array_equal(less, class_margins(X, codes, 3, np.array([[1.0, 0.0]]), 1))
