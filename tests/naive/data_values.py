"""Shapley values of training rows by their definition: a sum over all subsets of the other rows."""

from itertools import combinations
from math import factorial

import numpy as np


def knn_utility(rows, X, y, query, label, k):
    """Share of the k nearest of ``rows`` that have the class of the query; missing neighbours count as wrong."""
    near = sorted(rows, key=lambda i: (np.sum((X[i] - query) ** 2), i))[:k]
    return sum(y[i] == label for i in near) / k


def shapley_values(X, y, query, label, k, players=None):
    """Jia et al. 2019, eq. (1): weights of subsets by their size, utility of the k-NN by eq. (5)."""
    players = range(len(X)) if players is None else players
    n = len(players)
    values = dict.fromkeys(players, 0.0)
    for i in players:
        others = [j for j in players if j != i]
        for size in range(n):
            weight = factorial(size) * factorial(n - size - 1) / factorial(n)
            for subset in combinations(others, size):
                gain = knn_utility([*subset, i], X, y, query, label, k) - knn_utility(subset, X, y, query, label, k)
                values[i] += weight * gain
    return values
