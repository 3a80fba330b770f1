"""Votes of few stored rows against dense formulas."""

import numpy as np
import pytest
from naive import kernel_votes as naive
from vote_tables import coded_table

from weighbors import Weights
from weighbors.kernel import fit_stored
from weighbors.kernel.fit import fit_votes
from weighbors.kernel.fitted import VotesSettings
from weighbors.kernel.gradient import Table

CASES = [
    ({"seed": 0}, 1),
    ({"seed": 1, "classes": 4}, 2),
    ({"seed": 2, "categories": 2}, 1),
    ({"seed": 3, "repetition": "whole"}, 1),
    ({"seed": 4, "repetition": "fractions", "categories": 1}, 2),
    ({"seed": 5, "missing": 0.15, "categories": 1}, 1),
]


def dense(coded, stored, p, width, weights=None):
    """K of all rows and the stored rows, and of the stored rows, by the book."""
    rows = coded.X[stored]
    same = [stored.index(i) if i in stored else -1 for i in range(len(coded.X))]
    ranges = naive.column_ranges(coded.X, coded.nominal)  # of all rows, also those that are not stored
    options = {"p": p, "nominal": coded.nominal, "weights": weights, "ranges": ranges}
    K_NS = naive.kernel(naive.distances(coded.X, rows, same=same, **options), width)
    return K_NS, naive.kernel(naive.all_distances(rows, **options), width)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize(("made", "p"), CASES)
def test_stored_rows_vote_as_the_dense_formula_says(made, p, blocks, monkeypatch):
    if blocks:
        monkeypatch.setattr(fit_stored, "_BLOCK_CELLS", 1)
        monkeypatch.setattr(fit_stored, "_LEAST_BLOCK", 7)
    coded = coded_table(**made, n=40)
    stored = [1, 4, 5, 9, 20, 33, 39]
    weights = np.random.default_rng(0).uniform(0.3, 2.0, coded.X.shape[1])
    mask = np.isin(np.arange(40), stored)
    given = Weights(instance_mask=mask, feature_weights=weights)
    table = Table(coded.X, coded.nominal, coded.Y, coded.codes, coded.s)
    fitted = fit_votes(table, VotesSettings(None, p, 1.5, 0.1), given, np.random.default_rng(0))
    K_NS, K_SS = dense(coded, stored, p, 1.5, weights)
    alpha = naive.nystrom_votes(K_NS, K_SS, coded.Y, 0.1, coded.s)
    np.testing.assert_allclose(fitted.alpha[stored], alpha, atol=1e-6)
    assert (fitted.alpha[~mask] == 0).all()
    expected = naive.nystrom_left_out(K_NS, K_SS, coded.Y, 0.1, coded.s)
    np.testing.assert_allclose(fitted.loo_scores, expected, atol=1e-6)
    queries = np.where(coded.nominal, coded.X, coded.X + 0.2)[:6]
    ranges = naive.column_ranges(coded.X, coded.nominal)
    to_stored = naive.distances(queries, coded.X[stored], p=p, nominal=coded.nominal, weights=weights, ranges=ranges)
    scores = naive.mean_of(coded.Y, coded.s) + naive.kernel(to_stored, 1.5) @ alpha
    np.testing.assert_allclose(fitted.votes.scores(queries), scores, atol=1e-6)


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_all_rows_stored_vote_as_all_rows_do(missing):
    coded = coded_table(0, 30, categories=1, missing=missing)
    table = Table(coded.X, coded.nominal, coded.Y, coded.codes, None)
    options = {"width": 1.0, "ridge": 0.1}
    every = fit_votes(table, VotesSettings(None, **options), Weights(), np.random.default_rng(0))
    stored = fit_votes(table, VotesSettings(None, n_stored=30, **options), Weights(), np.random.default_rng(0))
    np.testing.assert_allclose(stored.alpha, every.alpha, atol=1e-6)


def test_stored_rows_that_repeat_end_with_an_answer():
    coded = coded_table(0, 40, numbers=2)
    X = np.tile(coded.X[:4], (10, 1))
    table = Table(X, coded.nominal, coded.Y, coded.codes, None)
    settings = VotesSettings(None, n_stored=20, ridge=1e-12, width=1.0)
    fitted = fit_votes(table, settings, Weights(), np.random.default_rng(0))
    assert np.isfinite(fitted.alpha).all()
    assert np.isfinite(fitted.loo_scores).all()
    # Only 4 places: the score of a place is nearly the share of the classes there.
    share = np.array([coded.Y[i::4].mean(axis=0) for i in range(4)])
    np.testing.assert_allclose(fitted.votes.scores(X[:4]), share, atol=1e-3)
