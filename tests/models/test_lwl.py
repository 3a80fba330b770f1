"""LWL: weights by nearness, and the small models fitted to them."""

import numpy as np
import pandas as pd
import pytest
from naive.lazy import KERNELS, lwl, naive_bayes, stump
from support.lazy_tables import generated
from support.stubs import three_classes

from weighbors import LWL
from weighbors.exceptions import InvalidDataError
from weighbors.models import lwl as lwl_module

CLASSES = ["p", "q", "r"]
MODELS = {"stump": stump, "naive_bayes": naive_bayes}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("estimator", MODELS)
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_shares_equal_the_oracle(seed, estimator, missing):
    data = generated(seed, missing=missing)
    for k in (None, 12, 3):
        found = LWL(estimator, k).fit(data.X, data.y).predict_proba(data.Q)
        wanted = lwl(
            data.queries, data.rows, data.y, CLASSES, nominal=data.nominal, model=MODELS[estimator], k=k
        )  # fmt: skip
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_equals_the_oracle(kernel):
    data = generated(10)
    for k in (None, 9):
        found = LWL("naive_bayes", k, kernel=kernel).fit(data.X, data.y).predict_proba(data.Q)
        wanted = lwl(
            data.queries, data.rows, data.y, CLASSES, nominal=data.nominal, model=naive_bayes, kernel=kernel, k=k
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-12)


def test_a_stump_by_hand():
    # query 0: weights 1.0001, 0.6001, 0.0001 of the kernel; x <= 1 tells a from b
    X, y = np.array([[0.0], [2.0], [5.0]]), ["a", "b", "b"]
    assert LWL().fit(X, y).predict_proba([[0.0], [1.0], [1.1]]).tolist() == [[1, 0], [1, 0], [0, 1]]
    # a missing query: no row lacks the value, so all rows answer, and all are equally far
    np.testing.assert_allclose(LWL().fit(X, y).predict_proba([[np.nan]]), [[1 / 3, 2 / 3]])


def test_missing_values_are_a_branch_of_their_own():
    X = np.array([[0.0], [0.1], [0.9], [1.0], [np.nan], [np.nan]])
    y = ["a", "a", "b", "b", "c", "c"]
    assert LWL().fit(X, y).predict([[0.0], [1.0], [np.nan]]).tolist() == ["a", "b", "c"]


def test_nothing_to_test_answers_with_all_rows():
    X, y = np.full((4, 2), 3.0), ["a", "a", "b", "a"]
    np.testing.assert_allclose(LWL().fit(X, y).predict_proba([[3.0, 3.0]]), [[3 / 4, 1 / 4]])


@pytest.mark.parametrize("estimator", ["stump", "naive_bayes"])
def test_threads_batches_and_layout_change_no_bit(estimator, monkeypatch):
    data = generated(1, n=120, n_queries=60, missing=0.1)
    shares = LWL(estimator).fit(data.X, data.y).predict_proba(data.Q)
    np.testing.assert_array_equal(shares, LWL(estimator, n_jobs=2).fit(data.X, data.y).predict_proba(data.Q))
    model = LWL(estimator).fit(data.X, data.y)
    alone = np.concatenate([model.predict_proba(data.Q.iloc[[i]]) for i in range(len(data.Q))])
    np.testing.assert_array_equal(shares, alone)
    monkeypatch.setattr(lwl_module, "_BATCH_CELLS", 1)
    np.testing.assert_array_equal(shares, model.predict_proba(data.Q))


def test_units_do_not_matter():
    X, y, Q = three_classes()
    np.testing.assert_array_equal(LWL().fit(X, y).predict(Q), LWL().fit(X * 512, y).predict(Q * 512))


def test_bad_input():
    X, y, _ = three_classes()
    with pytest.raises(InvalidDataError, match="n_neighbors=161 neighbours are wanted"):
        LWL(n_neighbors=161).fit(X, y).predict(X)
    with pytest.raises(InvalidDataError, match="rows of weight 0 left out, there is 1 class"):
        LWL().fit(X, y, sample_weight=(y == 1).astype(float))


@pytest.mark.parametrize("first", ["red", "green"])
def test_of_two_equal_tests_that_of_the_first_row_is_taken(first):
    """A category that is not known fails the test, so that it is answered by the rows of the other category."""
    other = "green" if first == "red" else "red"
    X = pd.DataFrame({"colour": [first, other] * 6})
    y = np.array([0, 1] * 5 + [1, 0])
    share = LWL(kernel="constant").fit(X, y).predict_proba(pd.DataFrame({"colour": ["blue"]}))
    np.testing.assert_allclose(share, [[1 / 6, 5 / 6]])
