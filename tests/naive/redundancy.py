"""Similarity of features, groups of them, and the stability with similarity, one pair and one cell at a time."""

from itertools import combinations
from math import sqrt

import numpy as np


def covariance(z, f, g):
    """Sample covariance of the selections of two features, with M − 1."""
    runs = len(z)
    mean_f, mean_g = sum(row[f] for row in z) / runs, sum(row[g] for row in z) / runs
    return sum((row[f] - mean_f) * (row[g] - mean_g) for row in z) / (runs - 1)


def chance_covariance(z, f, g):
    """Covariance of two features if each run selected as many features at random (Sechidis et al. 2019)."""
    runs, d = len(z), len(z[0])
    sizes = [sum(row) for row in z]
    k, k2 = sum(sizes) / runs, sum(size**2 for size in sizes) / runs
    return k / d * (1 - k / d) if f == g else (k2 - k) / (d * (d - 1)) - k**2 / d**2


def sechidis(z, similarity):
    """Φ_C = 1 − tr(C S) / tr(C Σ₀), with both matrices written out."""
    z = [[int(cell) for cell in row] for row in z]
    d = len(z[0])
    seen = np.array([[covariance(z, f, g) for g in range(d)] for f in range(d)])
    chance = np.array([[chance_covariance(z, f, g) for g in range(d)] for f in range(d)])
    return 1 - np.trace(np.asarray(similarity) @ seen) / np.trace(np.asarray(similarity) @ chance)


def complete_linkage(similarity, threshold):
    """Merge the two most similar groups while all their pairs have at least this similarity. Sets of features."""
    groups = [{f} for f in range(len(similarity))]
    while True:
        found = [(min(similarity[f][g] for f in a for g in b), a, b) for a, b in combinations(groups, 2)]
        best = max(found, key=lambda one: one[0], default=(-1, None, None))
        if best[0] < threshold:
            return groups
        groups = [one for one in groups if one not in best[1:]] + [best[1] | best[2]]


def ranks(values):
    """Average ranks."""
    return [sum(b < a for b in values) + (sum(b == a for b in values) + 1) / 2 for a in values]


def pearson(x, y):
    """Correlation of two lists."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    top = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return top / sqrt(sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y))


def rank_correlation(x, y):
    """Correlation of the ranks, which each column has among its own known values, in the rows that both know."""

    def ranked(values):
        known = [v for v in values if v == v]
        rank = dict(zip(known, ranks(known), strict=True))
        return [rank.get(v) for v in values]

    both = [(a, b) for a, b in zip(ranked(x), ranked(y), strict=True) if a is not None and b is not None]
    return pearson([a for a, _ in both], [b for _, b in both])


def correlation_ratio(categories, values):
    """Root of the corrected share of the variance that lies between categories."""
    mean = sum(values) / len(values)
    parts = [[v for c, v in zip(categories, values, strict=True) if c == one] for one in set(categories)]
    total = sum((v - mean) ** 2 for v in values)
    within = sum((v - sum(part) / len(part)) ** 2 for part in parts for v in part)
    corrected = 1 - within / (len(values) - len(parts)) / (total / (len(values) - 1))
    return sqrt(max(0.0, corrected))


def score_curve(rank, X, y, folds, sizes, model, score):
    """Scores of the best features on the rows left out, and their sets: one fold and one size at a time.

    ``rank`` returns weights, ``model`` a new estimator, and ``score`` compares a truth with predictions.
    """
    scores, sets = [], []
    for train, test in folds:
        weights = rank(X[train], y[train]).tolist()
        order = sorted(range(len(weights)), key=lambda j: -weights[j])
        sets.append([set(order[:k]) for k in sizes])
        row = []
        for k in sizes:
            chosen = order[:k]
            mean, deviation = X[train][:, chosen].mean(axis=0), X[train][:, chosen].std(axis=0)
            fitted = model().fit((X[train][:, chosen] - mean) / deviation, y[train])
            row.append(score(y[test], fitted.predict((X[test][:, chosen] - mean) / deviation)))
        scores.append(row)
    return np.array(scores), sets
