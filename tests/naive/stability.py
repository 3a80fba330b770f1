"""Stability written as its papers print it: sets, loops, one pair of runs at a time."""

from itertools import combinations

import numpy as np


def of_pairs(measure, sets, d):
    return np.mean([PAIR[measure](a, b, d) for a, b in combinations(sets, 2)])


PAIR = {
    "jaccard": lambda a, b, d: len(a & b) / len(a | b),
    # Kuncheva 2007: (r − k²/d)/(k − k²/d)
    "kuncheva": lambda a, b, d: (len(a & b) - len(a) ** 2 / d) / (len(a) - len(a) ** 2 / d),
}


def nogueira(sets, d):
    """Φ of Nogueira et al. 2018, definition 4, and the variance of theorem 7, feature by feature."""
    runs = len(sets)
    p = [sum(f in s for s in sets) / runs for f in range(d)]
    k = sum(len(s) for s in sets) / runs
    phi = 1 - sum(runs / (runs - 1) * q * (1 - q) for q in p) / d / (k / d * (1 - k / d))
    each = []
    for s in sets:
        inner = sum(p[f] for f in s) / d - len(s) * k / d**2
        inner += phi / 2 * (2 * len(s) * k / d**2 - len(s) / d - k / d + 1)
        each.append(inner / (k / d * (1 - k / d)))
    mean = sum(each) / runs
    return phi, 4 / runs**2 * sum((x - mean) ** 2 for x in each)


def top(weights, k):
    """Sets of the k features of the largest weight, equal weights to the lower number."""
    return [set(sorted(range(len(row)), key=lambda j: (-row[j], j))[:k]) for row in np.asarray(weights).tolist()]


def agreement(predictions):
    """Share of agreeing pairs of runs for each instance; None is no prediction."""
    shares = []
    for labels in zip(*predictions, strict=True):
        pairs = list(combinations([label for label in labels if label is not None], 2))
        shares.append(sum(a == b for a, b in pairs) / len(pairs) if pairs else float("nan"))
    return np.array(shares)
