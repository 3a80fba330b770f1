"""Fitness of an evolutionary search by the book (paper 004, eq. 3 and section 4; methods §4), loops and all."""

import math

import numpy as np

from .neighbors import feature_ranges

ALPHAS = {(True, True): (0.5, 0.25, 0.25), (True, False): (0.5, 0.5, 0.0), (False, True): (0.5, 0.0, 0.5),
          (False, False): (1.0, 0.0, 0.0)}  # fmt: skip


def squared_distance(q, x, w, v, s, nominal, ranges):
    total = 0.0
    for j in range(len(x)):
        if not s[j]:
            continue
        if nominal[j]:
            difference = 0.0 if q[j] == x[j] else 1.0
        elif math.isnan(q[j]) or math.isnan(x[j]):
            difference = ranges[j]
        else:
            difference = x[j] - q[j]
        total += w[j] ** 2 * difference**2
    return v**2 * total


def nearest(X, y, w, v, s, t, k=1, nominal=None):
    """Rows of the k nearest selected instances, per row, itself left out.

    ``w`` is a vector or a dict from class to vector.
    """
    X = np.asarray(X, dtype=float).tolist()
    ranges = feature_ranges(X)
    nominal = [False] * len(X[0]) if nominal is None else list(nominal)
    out = []
    for i, q in enumerate(X):
        found = []
        for r, x in enumerate(X):
            if r == i or not t[r]:
                continue
            weights = w[y[r]] if isinstance(w, dict) else w
            found.append((squared_distance(q, x, weights, v[r], s, nominal, ranges), r))
        found.sort()
        out.append([r for _, r in found[:k]])
    return out


def answers(X, y, w, v, s, t, k=1, nominal=None):
    """Class the k nearest selected instances vote for, per row, itself left out; None for nobody."""
    out = []
    for rows in nearest(X, y, w, v, s, t, k, nominal):
        votes = {}
        for r in rows:
            votes[y[r]] = votes.get(y[r], 0) + 1
        out.append(min(votes, key=lambda label: (-votes[label], label)) if votes else None)
    return out


def numbers(X, y, w, v, s, t, k=1, nominal=None):
    """Mean target of the k nearest selected instances, per row, itself left out; of nobody the mean of all targets."""
    found = nearest(X, y, w, v, s, t, k, nominal)
    return [sum(y[r] for r in rows) / len(rows) if rows else float(np.mean(y)) for rows in found]


def r_squared(y, predicted):
    """R² (methods §6), at least 0: a row without a neighbour adds (y − ȳ)², and so earns nothing."""
    mean = math.fsum(y) / len(y)
    left = math.fsum((a - b) ** 2 for a, b in zip(y, predicted, strict=True))
    return max(0.0, 1 - left / math.fsum((a - mean) ** 2 for a in y))


def performance(y, predicted, how):
    if how == "r2":
        return r_squared(y, predicted)
    if how == "accuracy":
        return sum(a == b for a, b in zip(y, predicted, strict=True)) / len(y)
    recalls = []
    for label in sorted(set(y)):
        rows = [i for i in range(len(y)) if y[i] == label]
        if len(rows) == 1:  # it can never be right when left out
            continue
        recalls.append(sum(predicted[i] == label for i in rows) / len(rows))
    product = 1.0
    for recall in recalls:
        product *= recall
    return math.sqrt(product) if len(recalls) == 2 else product ** (1 / len(recalls))


def margins(X, y, w, s, nominal=None, of=None):
    """θ_c (paper 001, section 2.2): Σ over x of class c of the distance to its nearest of each other class, less
    that to its nearest other of its own. The squared weights have length 1; ``w`` is a vector or a dict from class
    to vector; ``of``: the rows x, scaled to the size of the class.
    """
    X = np.asarray(X, dtype=float).tolist()
    ranges = feature_ranges(X)
    nominal = [False] * len(X[0]) if nominal is None else list(nominal)
    out = {}
    for label in sorted(set(y)):
        vector = w[label] if isinstance(w, dict) else w
        length = math.sqrt(sum((a * a) ** 2 for a, on in zip(vector, s, strict=True) if on))
        members = [i for i in range(len(X)) if y[i] == label]
        asked = members if of is None else [i for i in members if i in of]
        total = 0.0
        for i in asked:
            for other in set(y):
                found = [
                    squared_distance(X[i], X[r], vector, 1.0, s, nominal, ranges)
                    for r in range(len(X))
                    if r != i and y[r] == other
                ]
                if found:
                    total += (-1 if other == label else 1) * math.sqrt(min(found) / length)
        out[label] = total * len(members) / len(asked)
    return [out[label] for label in sorted(out)]


def fitness(X, y, w, v, s, t, *, tasks, how="accuracy", k=1, nominal=None):
    """F = α_a acc + α_i (1 − f_i) + α_f (1 − f_f); 0 where nothing is selected."""
    if not any(s) or not any(t):
        return 0.0
    alpha = ALPHAS["IS" in tasks, "FS" in tasks]
    answer = numbers if how == "r2" else answers
    acc = performance(list(y), answer(X, list(y), w, v, s, t, k, nominal), how)
    return alpha[0] * acc + alpha[1] * (1 - sum(t) / len(t)) + alpha[2] * (1 - sum(s) / len(s))
