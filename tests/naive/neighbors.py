"""The one distance, by the book: d^p = v^p * sum_j s_j * a_xj * |q_j - x_j|^p, loops and all."""

import math

import numpy as np


def distance(q, x, *, a=None, v=1.0, s=None, nominal=None, ranges=None, p=2):
    """Distance from a query to one stored row; missing cells are at the feature's full range."""
    total = 0.0
    for j in range(len(x)):
        if s is not None and not s[j]:
            continue
        if nominal is not None and nominal[j]:
            difference = 0.0 if q[j] == x[j] else 1.0
        elif math.isnan(q[j]) or math.isnan(x[j]):
            difference = float(ranges[j])
        else:
            difference = abs(float(q[j]) - float(x[j]))
        total += (1.0 if a is None else float(a[j])) * difference**p
    return v * total ** (1 / p)


def feature_ranges(X):
    """Largest minus smallest known value per feature; 0 where nothing is known."""
    ranges = []
    for column in np.asarray(X, dtype=float).T:
        known = [value for value in column if not math.isnan(value)]
        ranges.append(max(known) - min(known) if known else 0.0)
    return ranges


def nearest(Q, X, k, *, a=None, v=None, s=None, t=None, nominal=None, p=2, own=None, groups=None):
    """The k nearest kept rows of each query, by (distance, row); per group if groups are given.

    ``a`` is None, a vector, or a matrix with one row per stored row. Returns a list per query of
    [(distance, row), ...], or of a list per group.
    """
    X = np.asarray(X, dtype=float)
    kept = range(len(X)) if t is None else [i for i in range(len(X)) if t[i]]
    ranges = feature_ranges(X)  # of all training rows, also those that are not kept (docs/guide/distance.md)
    answer = []
    for number, q in enumerate(np.asarray(Q, dtype=float)):
        found = []
        for i in kept:
            if own is not None and own[number] == i:
                continue
            weights = None if a is None else (a if np.ndim(a) == 1 else a[i])
            scale = 1.0 if v is None else float(v[i])
            d = distance(q, X[i], a=weights, v=scale, s=s, nominal=nominal, ranges=ranges, p=p)
            found.append((d, i))
        found.sort()
        if groups is None:
            answer.append(found[:k])
        else:
            codes = sorted(set(groups))
            answer.append([[entry for entry in found if groups[entry[1]] == g][:k] for g in codes])
    return answer


def votes_of(neighbors, *, how="uniform", omega=None, span=1.0):
    """The vote of each neighbour of one query."""
    exact = any(d == 0 for d, _ in neighbors)
    votes = []
    for d, row in neighbors:
        if how == "uniform":
            weight = 1.0
        elif how == "distance":
            weight = (1.0 if d == 0 else 0.0) if exact else 1 / d
        else:
            weight = max(0.0, 1 - d / span)
        votes.append(weight * (1.0 if omega is None else omega[row]))
    return votes


def vote(neighbors, labels, classes, *, how="uniform", omega=None, span=1.0):
    """Share of the votes per class of one query's neighbours."""
    total = dict.fromkeys(classes, 0.0)
    for (_, row), weight in zip(neighbors, votes_of(neighbors, how=how, omega=omega, span=span), strict=True):
        total[labels[row]] += weight
    everything = sum(total.values())
    return [total[c] / everything for c in classes]


def mean_target(neighbors, targets, *, how="uniform", omega=None, span=1.0):
    """Mean target of one query's neighbours by their votes; one number, or a list with one per output.

    Where all votes are zero, the neighbours count equally.
    """
    votes = votes_of(neighbors, how=how, omega=omega, span=span)
    if sum(votes) == 0:
        votes = [1.0] * len(votes)
    if np.ndim(targets) == 2:
        return [mean_target(neighbors, column, how=how, omega=omega, span=span) for column in np.transpose(targets)]
    return sum(w * targets[row] for w, (_, row) in zip(votes, neighbors, strict=True)) / sum(votes)
