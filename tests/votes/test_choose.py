"""The search on the grid of large tables finds what the whole grid has, and repeated rows are merged."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_classification, make_friedman1
from support.vote_tables import coded_table

from weighbors.engine import build_references
from weighbors.votes import choose
from weighbors.votes.choose import RIDGES, WIDTHS, choose_parameters, search_grid
from weighbors.votes.fit import merge_repeated
from weighbors.votes.metric import Metric, VotesTable


def scaled(X):
    X = X - X.mean(axis=0)
    spread = X.std(axis=0)
    return X / np.where(spread > 0, spread, 1.0)


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X, np.eye(2)[y]


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500], np.eye(10)[y[:500]]


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return np.concatenate([X, X[:50] + 0.01]), np.concatenate([y, y[:50]])[:, None]


def noise():
    rng = np.random.default_rng(3)
    return rng.normal(size=(450, 6)), np.eye(3)[rng.integers(0, 3, 450)]


def made():
    X, y = make_classification(460, 12, n_informative=5, n_classes=3, random_state=4)
    return X, np.eye(3)[y]


def friedman():
    X, y = make_friedman1(450, noise=1.0, random_state=5)
    return X, y[:, None]


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("make", [breast_cancer, digits, diabetes, noise, made, friedman])
def test_the_search_finds_the_point_of_the_whole_grid(make, p, monkeypatch):
    X, Y = make()
    Y = (Y - Y.mean(axis=0)) / (Y.std() if Y.shape[1] == 1 else 1.0)
    distance = Metric(build_references(scaled(X), p=p)).all_pairs()
    assert len(distance) > choose.EVERY_POINT
    _, found = choose_parameters(distance, Y, None, np.random.default_rng(0))
    assert len(found.tried) < len(WIDTHS) * len(RIDGES)
    monkeypatch.setattr(choose, "EVERY_POINT", 10**9)
    _, whole = choose_parameters(distance, Y, None, np.random.default_rng(0))
    assert len(whole.tried) == len(WIDTHS) * len(RIDGES)
    if (make, p) == (diabetes, 2):  # a flat valley with two minima, the search ends in the one that is 0.1 % higher
        assert min(each["loss"] for each in found.tried) <= 1.002 * min(each["loss"] for each in whole.tried)
    else:
        assert (found.width, found.ridge) == (whole.width, whole.ridge)


def test_of_equal_losses_the_smoother_point_wins_and_its_solution_is_there():
    visited = []

    def loss_at(point):
        visited.append(point)
        return 1.0

    assert choose.first_least(search_grid(loss_at, (0, 0), (5, 8))) == (4, 7)
    assert len(visited) == len(set(visited))
    # All targets equal: every loss is 0.
    distance = Metric(build_references(np.random.default_rng(0).normal(size=(420, 2)), p=1)).all_pairs()
    solution, chosen = choose_parameters(distance, np.ones((420, 1)), None, np.random.default_rng(0))
    assert (chosen.width, chosen.ridge) == (solution.width, solution.ridge) == (8.0 * chosen.scale, 3.0)


def table_of(coded, repetition=None):
    return VotesTable(coded.X, coded.nominal, coded.codes, coded.Y.shape[1], repetition)


def test_repeated_rows_are_merged_and_others_are_not():
    coded = coded_table(0, 30, categories=1)
    rows = np.repeat(np.arange(30), np.arange(30) % 3 + 1)
    often = table_of(coded).take(rows)
    merged = merge_repeated(often)
    assert len(merged.first) == 30
    np.testing.assert_array_equal(often.rows[merged.first][merged.kind], often.rows)
    np.testing.assert_allclose(merged.table.repetition, (np.arange(30) % 3 + 1)[rows[merged.first]])
    np.testing.assert_allclose(np.bincount(merged.kind, weights=merged.share), 1.0)
    single = merge_repeated(table_of(coded))
    assert single.table.repetition is None
    assert single.share is None


def test_rows_with_missing_cells_or_other_targets_are_not_merged():
    X = np.array([[0.0, np.nan], [0.0, np.nan], [1.0, 2.0], [1.0, 2.0], [-0.0, 1.0], [0.0, 1.0]])
    codes = np.array([0, 0, 0, 1, 1, 1])
    merged = merge_repeated(VotesTable(X, np.zeros(2, dtype=bool), codes, 2))
    assert len(merged.first) == 5  # only 0 and -0 are the same
    assert merged.kind[4] == merged.kind[5]
