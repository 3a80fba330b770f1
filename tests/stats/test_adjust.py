"""Adjusted p-values against statsmodels, brute force and published figures."""

import naive.stats as naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from support.published import GARCIA_RANKS, table_of_ranks

from weighbors.exceptions import InvalidDataError
from weighbors.stats import adjust, bergmann_hommel, bonferroni, hochberg, holm, posthoc, shaffer

P = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(P)
@settings(max_examples=8)  # statsmodels takes a second for each
def test_statsmodels_agrees(p):
    for ours, theirs in ((bonferroni, "bonferroni"), (holm, "holm"), (hochberg, "simes-hochberg")):
        np.testing.assert_allclose(ours(p), multipletests(p, method=theirs)[1], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(4))
def test_shaffer_and_bergmann_are_what_brute_force_finds(k, seed):
    p = np.random.default_rng(seed).beta(0.3, 2, k * (k - 1) // 2)
    np.testing.assert_allclose(shaffer(p), naive.shaffer(p, k))
    np.testing.assert_allclose(bergmann_hommel(p), naive.bergmann(p, k))


@given(
    st.integers(2, 6).flatmap(lambda k: st.lists(st.floats(0, 1), min_size=k * (k - 1) // 2, max_size=k * (k - 1) // 2))
)
def test_order_of_power(p):
    # each procedure refines the one before it
    assert (np.asarray(p) <= bergmann_hommel(p) + 1e-12).all()
    assert (bergmann_hommel(p) <= shaffer(p) + 1e-12).all()
    assert (shaffer(p) <= holm(p) + 1e-12).all()
    assert (hochberg(p) <= holm(p) + 1e-12).all()
    assert (holm(p) <= bonferroni(p) + 1e-12).all()


#: García & Herrera 2008, adjusted p-values of their case study: Holm, Shaffer, Bergmann-Hommel
GARCIA = {
    ("C4.5", "Kernel"): (4.487e-7, 4.487e-7, 4.487e-7),
    ("NaiveBayes", "Kernel"): (1.5625e-6, 1.0417e-6, 1.0417e-6),
    ("Kernel", "CN2"): (0.02304, 0.01728, 0.01152),
    ("C4.5", "1-NN"): (0.03394, 0.02909, 0.02909),
    ("1-NN", "Kernel"): (0.04778, 0.04778, 0.03185),
    ("1-NN", "NaiveBayes"): (0.05056, 0.04778, 0.03185),
}


@pytest.mark.parametrize(("column", "name"), list(enumerate(["holm", "shaffer", "bergmann"])))
def test_garcia_and_herrera(column, name):
    frame = posthoc(table_of_ranks(GARCIA_RANKS, 30), adjust=name).frame()
    found = frame.set_index(["first", "second"])["adjusted"]
    for pair, figures in GARCIA.items():
        assert found[pair] == pytest.approx(figures[column], rel=4e-4), pair


def test_a_series_keeps_its_index():
    p = pd.Series([0.01, 0.04, 0.03], index=["x", "y", "z"])
    for name in ("bonferroni", "holm", "hochberg", "shaffer", "bergmann"):
        assert adjust(p, name).index.tolist() == ["x", "y", "z"]


def test_twelve_methods_are_the_most():
    p = np.random.default_rng(0).uniform(size=45)
    assert (bergmann_hommel(p) >= p).all()
    with pytest.raises(InvalidDataError, match="ends at 12 of them; got 13"):
        bergmann_hommel(np.full(78, 0.5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: holm([0.1, 1.2]), "between 0 and 1; got \\[1.2\\]"),
        (lambda: holm([0.1, np.nan]), "between 0 and 1"),
        (lambda: holm([]), "not empty"),
        (lambda: holm(["small"]), "p-values must be numbers .*'small'"),
        (lambda: shaffer([0.1, 0.2]), "all k\\(k − 1\\)/2 pairs"),
        (lambda: adjust([0.1], "none"), "one of"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidDataError, match=message):
        call()
