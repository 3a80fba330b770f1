"""Votes: ties, weights of distances, and neighbours without a vote."""

import numpy as np
import pytest

from weighbors.engine import combine_votes, decide, distance_votes, mass_votes, tally
from weighbors.exceptions import InvalidDataError, NoVoteWarning


def test_distance_makes_votes():
    d = np.array([[0.5, 1.0], [0.0, 2.0]])
    assert distance_votes(d, "uniform", span=1) is None
    assert distance_votes(d, "distance", span=1).tolist() == [[2.0, 1.0], [1.0, 0.0]]
    assert distance_votes(d, "complement", span=1).tolist() == [[0.5, 0.0], [1.0, 0.0]]
    assert distance_votes(d, lambda x: x + 1, span=1).tolist() == [[1.5, 2.0], [1.0, 3.0]]


@pytest.mark.parametrize("function", [lambda d: d[:, :1], lambda d: -d - 1, lambda d: d * np.nan])
def test_a_function_must_return_votes(function):
    with pytest.raises(InvalidDataError, match="votes >= 0, none of them NaN, of the shape"):
        distance_votes(np.ones((2, 3)), function, span=1)


def test_mass_is_taken_until_k():
    votes, reached = mass_votes(np.array([[2.0, 2.0, 1.0], [0.5, 0.25, 1.0]]), 3)
    assert votes.tolist() == [[2.0, 1.0, 0.0], [0.5, 0.25, 1.0]]
    assert reached.tolist() == [5.0, 1.75]


def test_what_is_left_of_k_by_rounding_is_no_vote():
    tenths = np.array([[0.1] * 10 + [1.0]])
    assert np.cumsum(tenths)[9] < 1
    votes, _ = mass_votes(tenths, 1)
    assert votes.tolist() == [[0.1] * 10 + [0.0]]


def test_votes_are_combined():
    distance, shares, omega = np.array([[0.5, 0.0]]), np.array([[2.0, 1.0]]), np.array([[3.0, 4.0]])
    assert combine_votes(None, None, None) is None
    assert combine_votes(distance, None, None).tolist() == [[0.5, 0.0]]
    assert combine_votes(distance, shares, omega).tolist() == [[3.0, 0.0]]
    with pytest.warns(NoVoteWarning, match="of 1 queries.*by their sample weights alone"):
        assert combine_votes(np.zeros((1, 2)), shares, omega).tolist() == [[2.0, 1.0]]
    with pytest.warns(NoVoteWarning, match="counted equally"):
        assert combine_votes(None, None, np.zeros((1, 2))).tolist() == [[1.0, 1.0]]


def test_a_neighbour_without_a_share_silences_nobody():
    d, shares = np.array([[0.5, 9.0]]), np.array([[1.0, 0.0]])
    votes = distance_votes(d, lambda d: np.where(d > 5, np.inf, 2.0), span=1, shares=shares)
    assert votes.tolist() == [[2.0, 0.0]]


def test_tally():
    codes = np.array([[0, 1, 1], [2, 2, 0]])
    assert np.allclose(tally(codes, None, 3), [[1 / 3, 2 / 3, 0], [1 / 3, 0, 2 / 3]])
    assert np.allclose(tally(codes, np.array([[3.0, 0.5, 0.5], [1, 1, 6]]), 3), [[0.75, 0.25, 0], [0.75, 0, 0.25]])


def test_silent_neighbours_count_equally_with_a_warning():
    with pytest.warns(NoVoteWarning, match="of 1 queries"):
        shares = tally(np.array([[0, 1], [1, 1]]), np.array([[0.0, 0.0], [1.0, 0.0]]), 2)
    assert shares.tolist() == [[0.5, 0.5], [0.0, 1.0]]


def test_equal_shares_go_to_the_first_class_or_to_the_nearest_voter():
    codes = np.array([[2, 1, 1, 2], [1, 0, 2, 0], [2, 1, 2, 1]])
    shares = tally(codes, None, 3)
    assert decide(shares, codes, None).tolist() == [1, 0, 1]
    assert decide(shares, codes, None, "nearest").tolist() == [2, 0, 2]
    votes = np.array([[0.0, 1, 1, 2], [1, 1, 1, 1], [0, 2, 2, 0]])  # a neighbour without a vote does not decide
    shares = tally(codes, votes, 3)
    assert decide(shares, codes, votes, "nearest").tolist() == [1, 0, 1]
    silent = np.zeros((3, 4))
    with pytest.warns(NoVoteWarning):
        shares = tally(codes, silent, 3)
    assert decide(shares, codes, silent, "nearest").tolist() == [2, 0, 2]
