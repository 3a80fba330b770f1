"""Backward elimination of stored rows, against a loop that solves again for every row that could leave."""

import numpy as np
import pytest
from naive.kernel_votes import eliminate, penalised_error

from weighbors import KernelVotesClassifier, KernelVotesRegressor
from weighbors.kernel import fit
from weighbors.kernel.elimination import eliminate_rows


def a_table(seed, n=24, *, repeated=False, weighted=False):
    """Return distances of n rows, targets of two outputs, and repetition weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    if repeated:  # Equal rows with other targets make the kernel singular.
        X[n // 2 :] = X[: n - n // 2]
    Y = np.eye(2)[rng.integers(2, size=n)] if seed % 2 else rng.normal(size=(n, 2))
    distance = np.abs(X[:, None] - X[None]).sum(axis=2)
    return distance, Y, rng.integers(1, 4, n).astype(float) if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_one_by_one_is_the_naive_loop(seed, weighted):
    distance, Y, repetition = a_table(seed, weighted=weighted)
    width, ridge = (0.5, 0.01) if seed % 3 else (4.0, 1.0)
    for n_kept in (20, 9, 1):
        kept = eliminate_rows(distance, width, ridge, Y, repetition, n_kept, batch=1)
        np.testing.assert_array_equal(kept, eliminate(distance, width, ridge, Y, repetition, n_kept))


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_leave_together_cost_little_more(seed):
    distance, Y, repetition = a_table(seed, 150, weighted=seed > 3)
    alone, together = (
        penalised_error(
            distance, 2.0, 0.1, Y, repetition, eliminate_rows(distance, 2.0, 0.1, Y, repetition, 30, batch=b)
        )
        for b in (1, 16)
    )
    drawn = np.mean(
        [
            penalised_error(
                distance, 2.0, 0.1, Y, repetition, np.random.default_rng(draw).choice(150, 30, replace=False)
            )
            for draw in range(5)
        ]
    )
    assert together - alone < 0.1 * (drawn - alone)


def test_of_equal_rows_one_is_left():
    distance, Y, _ = a_table(1, 40, repeated=True)
    kept = eliminate_rows(distance, 2.0, 0.1, Y, None, 20, batch=4)
    assert len(np.unique(kept % 20)) == 20


def test_all_or_none_may_leave():
    distance, Y, _ = a_table(3)
    np.testing.assert_array_equal(eliminate_rows(distance, 1.0, 0.1, Y, None, 24), np.arange(24))
    assert len(eliminate_rows(distance, 1.0, 0.1, Y, None, 1)) == 1
    # No row is at a distance from any other: any one will do.
    assert len(eliminate_rows(np.zeros((24, 24)), 1.0, 1e-3, Y, None, 2)) == 2


def test_chosen_rows_lose_less_than_drawn_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    scores = {
        by: KernelVotesClassifier(weigher=None, n_stored=0.1, stored_by=by)
        .fit(X[:400], y[:400])
        .score(X[400:], y[400:])
        for by in ("elimination", "draw")
    }
    assert scores["elimination"] > scores["draw"] + 0.02
    numbers = X[:, 0] * X[:, 1]
    for n_stored, n_voting in ((0.1, 40), (25, 25), (399, 399), (4000, 400)):
        model = KernelVotesRegressor(weigher=None, n_stored=n_stored).fit(X[:400], numbers[:400])
        assert model.plan_.n_voting == n_voting == np.count_nonzero(model.alpha_)


def test_many_rows_are_drawn_first(monkeypatch):
    monkeypatch.setattr(fit, "POOL", (150, 300))
    rng = np.random.default_rng(1)
    X = rng.normal(size=(700, 2))
    y = (X[:, 0] > X[:, 1]).astype(int)
    models = [KernelVotesClassifier(weigher=None, n_stored=20, n_jobs=jobs).fit(X, y) for jobs in (1, 2)]
    assert np.count_nonzero(models[0].alpha_.any(axis=1)) == 20
    np.testing.assert_array_equal(models[0].alpha_, models[1].alpha_)
    assert models[0].score(X, y) > 0.95


def test_another_way_to_choose_is_refused():
    with pytest.raises(ValueError, match="stored_by"):
        KernelVotesClassifier(stored_by="random").fit([[0.0], [1.0], [2.0]], [0, 1, 1])
