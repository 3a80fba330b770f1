"""How often the tests find a difference where there is none: 5 % of the time, within binomial bounds."""

from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from weighbors.stats import (
    adjust,
    bonferroni_dunn,
    corrected_resampled_ttest,
    friedman,
    iman_davenport,
    nemenyi,
    posthoc,
    wilcoxon,
)

RUNS = [600, pytest.param(10_000, marks=pytest.mark.slow)]


def bounds(runs, confidence=0.999):
    return binom.interval(confidence, runs, 0.05)


@lru_cache
def findings(runs):
    """How often each test of a table of 4 equal methods on 30 data sets finds anything at 5 %."""
    random = np.random.default_rng(0)
    names = ["a", "b", "c", "d"]
    count = dict.fromkeys(["friedman", "iman_davenport", "nemenyi", "bonferroni_dunn"], 0)
    count |= dict.fromkeys(["bonferroni", "holm", "hochberg", "shaffer", "bergmann"], 0)
    critical = None
    for _ in range(runs):
        table = pd.DataFrame(random.normal(size=(30, 4)), columns=names)
        if critical is None:  # the same for every table of this shape
            critical = nemenyi(table).critical_difference, bonferroni_dunn(table, "a").critical_difference
        overall, pairs = friedman(table), posthoc(table).frame()
        ranks = overall.mean_ranks.to_numpy()
        count["friedman"] += overall.p_value < 0.05
        count["iman_davenport"] += iman_davenport(table).p_value < 0.05
        count["nemenyi"] += np.ptp(ranks) > critical[0]
        count["bonferroni_dunn"] += np.abs(ranks - ranks[0]).max() > critical[1]
        for name in ("bonferroni", "holm", "hochberg", "shaffer", "bergmann"):
            count[name] += adjust(pairs["p_value"].to_numpy(), name).min() < 0.05
    return count


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("test", ["friedman", "iman_davenport", "nemenyi"])
def test_omnibus(test, runs):
    low, high = bounds(runs)
    assert low <= findings(runs)[test] <= high


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("test", ["bonferroni_dunn", "bonferroni", "holm", "hochberg", "shaffer", "bergmann"])
def test_families(test, runs):
    # these promise at most 5 % for the whole family; Bonferroni's inequality makes them cautious
    assert runs / 100 < findings(runs)[test] <= bounds(runs)[1]


@pytest.mark.parametrize("runs", [2000, pytest.param(50_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n", [30, 60], ids=["exact", "approx"])
def test_wilcoxon(runs, n):
    random = np.random.default_rng(1)
    found = sum(wilcoxon(random.normal(size=n)).p_value < 0.05 for _ in range(runs))
    assert bounds(runs)[0] <= found <= bounds(runs)[1]


@pytest.mark.parametrize("runs", [2000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_wilcoxon_with_ties_and_zeros(runs):
    random = np.random.default_rng(2)
    found = sum(wilcoxon(random.integers(-4, 5, 30)).p_value < 0.05 for _ in range(runs))
    assert bounds(runs)[0] <= found <= bounds(runs)[1]


@pytest.mark.parametrize("runs", [2000, pytest.param(50_000, marks=pytest.mark.slow)])
def test_folds_that_hang_together(runs):
    # differences of 10 folds with correlation 1/10, the model of Nadeau & Bengio 2003
    random = np.random.default_rng(3)
    d = np.sqrt(0.1) * random.normal(size=(runs, 1)) + np.sqrt(0.9) * random.normal(size=(runs, 10))
    corrected = sum(corrected_resampled_ttest(row, n_folds=10).p_value < 0.05 for row in d)
    low, high = bounds(runs)
    assert low <= corrected <= high
    plain = (np.abs(d.mean(axis=1) / (d.std(axis=1, ddof=1) / np.sqrt(10))) > 2.262).sum()
    assert plain > high  # the t-test that forgets the correlation finds too much
