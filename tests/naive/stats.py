"""Slow, obvious forms of the statistics, written from their papers."""

from itertools import combinations, product
from math import comb

import numpy as np


def true_sets(k):
    """All sets of pairwise hypotheses that can be exactly the true ones: closed under "if A = B = C"."""
    pairs = list(combinations(range(k), 2))
    for chosen in product([False, True], repeat=len(pairs)):
        true = {pair for pair, taken in zip(pairs, chosen, strict=True) if taken}
        equal = lambda a, b, true=true: a == b or (min(a, b), max(a, b)) in true  # noqa: E731
        if all(equal(a, c) for a in range(k) for b in range(k) for c in range(k) if equal(a, b) and equal(b, c)):
            yield true


def bergmann(p, k):
    """García & Herrera 2008: max over exhaustive sets I that hold the hypothesis of |I| · min p."""
    pairs = list(combinations(range(k), 2))
    value = dict(zip(pairs, p, strict=True))
    best = dict.fromkeys(pairs, 0.0)
    for true in true_sets(k):
        for pair in true:
            best[pair] = max(best[pair], len(true) * min(value[other] for other in true))
    adjusted = [max(best[other] for other in pairs if value[other] <= value[pair]) for pair in pairs]  # monotone
    return np.minimum(adjusted, 1.0)


def shaffer(p, k):
    """Shaffer 1986, static: the i-th smallest p times the most hypotheses true after i − 1 are false."""
    counts, m = {len(true) for true in true_sets(k)}, comb(k, 2)
    adjusted, running = np.empty(m), 0.0
    for i, position in enumerate(np.argsort(p, kind="stable")):
        running = max(running, p[position] * max(count for count in counts if count <= m - i))
        adjusted[position] = min(1.0, running)
    return adjusted


def signed_rank_p(d):
    """Two-sided exact p of Wilcoxon's T: all 2^n signs, differences without ties and zeros."""
    ranks = np.argsort(np.argsort(np.abs(d))) + 1
    observed = ranks[d > 0].sum()
    sums = [sum(r for r, s in zip(ranks, signs, strict=True) if s) for signs in product([0, 1], repeat=len(d))]
    upper, lower = np.mean([s >= observed for s in sums]), np.mean([s <= observed for s in sums])
    return min(1.0, 2 * min(upper, lower))


def signed_rank_p_with_ties(d, zero_method):
    """Two-sided p of Wilcoxon's T over all signs of the differences, ties and zeros and all."""
    d = np.array([x for x in d if x != 0]) if zero_method == "wilcox" else np.asarray(d)
    ranks = [sum(abs(x) < abs(y) for x in d) + (sum(abs(x) == abs(y) for x in d) + 1) / 2 for y in d]

    def plus(signs):
        total = sum(r for r, x, s in zip(ranks, d, signs, strict=True) if x * s > 0)
        return total + (sum(r for r, x in zip(ranks, d, strict=True) if x == 0) / 2 if zero_method == "zsplit" else 0)

    sums, observed = [plus(signs) for signs in product([-1, 1], repeat=len(d))], plus([1] * len(d))
    upper, lower = np.mean([s >= observed for s in sums]), np.mean([s <= observed for s in sums])
    return min(1.0, 2 * min(upper, lower))
