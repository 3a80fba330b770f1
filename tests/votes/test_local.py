"""Votes of the k nearest rows against a loop over queries."""

from dataclasses import replace

import numpy as np
import pytest
from naive import learned_votes as naive
from scipy import sparse
from support.vote_tables import coded_table

from weighbors import Weights
from weighbors.engine import NeighborEngine
from weighbors.votes.choose import RIDGES, WIDTHS
from weighbors.votes.local import LocalVotes, choose_local
from weighbors.votes.metric import VotesTable

CASES = [
    ({"seed": 0}, 1),
    ({"seed": 1}, 2),
    ({"seed": 2, "categories": 2, "classes": 4}, 1),
    ({"seed": 3, "categories": 2}, 2),
    ({"seed": 4, "missing": 0.2}, 1),
    ({"seed": 5, "missing": 0.03, "categories": 1}, 2),
    ({"seed": 6, "repetition": "whole", "classes": 3}, 1),
    ({"seed": 7, "repetition": "fractions", "missing": 0.1, "categories": 2}, 1),
    ({"seed": 8, "numbers": 40}, 1),
    ({"seed": 9, "numbers": 1, "categories": 4}, 1),
]


def votes_of(table, p, k, width, ridge, weights=None, n_jobs=1, numbers=False):
    given = None if weights is None else Weights(feature_weights=weights)
    engine = NeighborEngine(table.X, weights=given, p=p, nominal=table.nominal, n_jobs=n_jobs)
    targets = table.Y if numbers else table.codes
    return LocalVotes(engine, targets, table.Y.shape[1], table.s, k, width, ridge, n_jobs)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("made", "p"), CASES)
def test_scores_are_those_of_the_loop(made, p, weighted):
    table = coded_table(**made, n=22)
    weights = np.random.default_rng(1).uniform(0.2, 2.0, table.X.shape[1]) if weighted else None
    queries = np.where(table.nominal, table.X[:6], table.X[:6] + 0.1)
    options = {"p": p, "nominal": list(table.nominal), "weights": weights, "s": table.s}
    for k in range(1, len(table.X)):
        votes = votes_of(table, p, k, 1.3, 0.05, weights, numbers=bool(k % 2))
        expected = naive.local_scores(queries, table.X, table.Y, k, 1.3, 0.05, **options)
        np.testing.assert_allclose(votes.scores(queries), expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("p", [1, 2])
def test_a_row_is_left_out_of_its_own_neighbours(p):
    table = coded_table(0, 20, categories=1, repetition="fractions", missing=0.1 if p == 1 else 0.0)
    votes = votes_of(table, p, 6, 0.9, 0.1)
    own = np.arange(20)
    options = {"p": p, "nominal": list(table.nominal), "s": table.s, "own": own}
    expected = naive.local_scores(table.X, table.X, table.Y, 6, 0.9, 0.1, **options)
    np.testing.assert_allclose(votes.scores(table.X, own), expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize(("made", "p"), CASES[:6])
def test_float32_agrees_with_the_loop_as_far_as_it_can(made, p):
    table = coded_table(**made, n=40, dtype=np.float32)
    votes = votes_of(table, p, 9, 1.3, 0.05)
    options = {"p": p, "nominal": list(table.nominal)}
    expected = naive.local_scores(table.X[:8], table.X, table.Y, 9, 1.3, 0.05, **options)
    np.testing.assert_allclose(votes.scores(table.X[:8]), expected, atol=2e-5, rtol=0)


def test_votes_sum_to_one_and_threads_change_no_bit():
    table = coded_table(0, 500, numbers=5, categories=2, classes=3)
    found = [votes_of(table, 1, 30, 2.0, 0.01, n_jobs=n).scores(table.X) for n in (1, 2, 3)]
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()
    np.testing.assert_allclose(found[0].sum(axis=1), 1.0, atol=1e-12)


def test_duplicates_with_a_tiny_ridge_end():
    X = np.zeros((30, 2))
    table = coded_table(0, 30, numbers=2)
    engine = NeighborEngine(X, p=1)
    for ridge in (1e-3, 1e-12, 1e-300):
        votes = LocalVotes(engine, table.codes, 2, None, 10, 1.0, ridge, 1)
        scores = votes.scores(X[:3])
        assert np.isfinite(scores).all()
        # All neighbours are the same place: the scores are the shares of their classes, the lowest ten rows.
        expected = np.tile(table.Y[:10].mean(axis=0), (3, 1))
        np.testing.assert_allclose(scores, expected, atol=1e-3)


def test_a_narrow_kernel_gives_the_mean_of_the_neighbours():
    table = coded_table(0, 30)
    scores = votes_of(table, 1, 5, 1e-320, 0.1).scores(table.X[:4] + 0.01)
    nearest = naive.distances(table.X[:4] + 0.01, table.X, p=1).argsort(axis=1)[:, :5]
    np.testing.assert_allclose(scores, table.Y[nearest].mean(axis=1), atol=1e-12)


def test_the_choice_has_the_least_squared_error_of_the_loop():
    table = coded_table(3, 24, categories=1, repetition="whole")
    rows = np.arange(24)
    votes = votes_of(table, 1, 7, 1.0, 1.0)
    choice = choose_local(votes, VotesTable(table.X, table.nominal, table.codes, 2, table.s), rows)
    # The search computes a part of the grid only; on this table it ends at the least loss of the whole grid.
    found = votes.neighbors(table.X, rows)
    scale = float(np.median(found.distance))
    grid = [(ratio * scale, ridge) for ratio in WIDTHS for ridge in RIDGES]
    every = {
        point: np.average(
            ((table.Y - replace(votes, width=point[0], ridge=point[1]).answer(found)) ** 2).sum(axis=1), weights=table.s
        )
        for point in grid
    }
    assert (choice.width, choice.ridge) == pytest.approx(min(every, key=every.get))
    options = {"p": 1, "nominal": list(table.nominal), "s": table.s, "own": rows}
    losses = {(each["width"], each["ridge"]): each["loss"] for each in choice.tried}
    for (width, ridge), loss in list(losses.items())[::3]:
        scores = naive.local_scores(table.X, table.X, table.Y, 7, width, ridge, **options)
        squares = ((table.Y - scores) ** 2).sum(axis=1)
        assert loss == pytest.approx((table.s * squares).sum() / table.s.sum(), rel=1e-8)
    assert losses[choice.width, choice.ridge] == min(losses.values())


def test_sparse_rows_are_made_dense_in_parts(monkeypatch):
    table = coded_table(0, 40, numbers=6)
    rows = np.where(np.abs(table.X) < 0.5, 0.0, table.X)
    thin, dense = (
        LocalVotes(NeighborEngine(kind(rows), p=1), table.codes, 2, None, 5, 1.0, 0.1, 1)
        for kind in (sparse.csr_matrix, np.asarray)
    )
    whole = thin.scores(sparse.csr_matrix(rows))
    np.testing.assert_allclose(whole, dense.scores(rows), atol=1e-9)
    monkeypatch.setattr("weighbors.votes.local._DENSE_CELLS", 200)
    assert (thin.scores(sparse.csr_matrix(rows)) == whole).all()
