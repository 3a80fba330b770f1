"""Strata and democracy, slow and obvious: from Cano et al. 2005, García-Osorio et al. 2010 and methods.md.

What belongs to a row is kept in a dict by row; what is averaged is summed in loops.
"""

import math

import numpy as np
from sklearn.base import clone


def fits(weigher, X, y, membership, seeds):
    """[(round, rows, fitted)]: ``seeds`` by (round, stratum) go to weighers whose random_state is open."""
    out = []
    for number, of_row in enumerate(membership):
        for stratum in sorted(set(of_row.tolist())):
            rows = [row for row in range(len(y)) if of_row[row] == stratum]
            model = clone(weigher)
            if "random_state" in model.get_params() and model.random_state is None:
                model.set_params(random_state=seeds[number, stratum])
            out.append((number, rows, model.fit(X[rows], y[rows])))
    return out


def keeps(found, n):
    """Rounds that keep each row."""
    count = [0] * n
    for _, rows, model in found:
        mask = model.weights_.instance_mask
        for place, row in enumerate(rows):
            if mask is None or mask[place]:
                count[row] += 1
    return np.array(count)


def mean_features(found):
    """Mean of the published weights, by rows."""
    total, mass = 0.0, 0
    for _, rows, model in found:
        total = total + len(rows) * np.asarray(model.feature_weights_)
        mass += len(rows)
    return total / mass


def feature_share(found):
    """Share of the rows whose stratum keeps a feature."""
    total, mass = 0.0, 0
    for _, rows, model in found:
        total = total + len(rows) * np.asarray(model.get_support(), dtype=float)
        mass += len(rows)
    return total / mass


def instance_weights(found, n):
    """ω over all rows: those of a stratum have mean 1, rounds are averaged, all sum to 1."""
    total = [0.0] * n
    for _, rows, model in found:
        for place, row in enumerate(rows):
            total[row] += model.instance_weights_[place] * len(rows)
    return np.array(total) / sum(total)


def scales(found, n):
    """v: mean over the rounds that keep a row, over all where none does."""
    every, kept = {row: [] for row in range(n)}, {row: [] for row in range(n)}
    for _, rows, model in found:
        for place, row in enumerate(rows):
            every[row].append(model.instance_scales_[place])
            if model.instance_support_[place]:
                kept[row].append(model.instance_scales_[place])
    return np.array([np.mean(kept[row] or every[row]) for row in range(n)])


def nearest_rows(X, query, kept, a, v, k=1, gap=None):
    """The k nearest kept rows of row ``query``, itself left out.

    A missing value is at the range ``gap`` of its column from everything (methods.md §0).
    """
    ranked = []
    for row in kept:
        if row != query:
            apart = [X[query][j] - X[row][j] for j in range(len(a))]
            apart = [gap[j] if math.isnan(one) else one for j, one in enumerate(apart)]
            d = v[row] * math.sqrt(sum(a[j] * apart[j] ** 2 for j in range(len(a))))
            ranked.append((d, row))
    return [row for _, row in sorted(ranked)[:k]]


def nearest_class(y, rows):
    """Class that the rows vote for; ties of votes to the first class."""
    votes = {}
    for row in rows:
        votes[y[row]] = votes.get(y[row], 0) + 1
    return min(votes, key=lambda label: (-votes[label], label)) if votes else None


def error_of(y, neighbors, numeric):
    """Share of wrong classes, or 1 − R² of the mean targets (R² at least 0; the mean of all where nobody is near)."""
    if not numeric:
        return sum(nearest_class(y, rows) != y[query] for query, rows in enumerate(neighbors)) / len(y)
    mean = sum(y) / len(y)
    answers = [sum(y[row] for row in rows) / len(rows) if rows else mean for rows in neighbors]
    left = sum((y[query] - answer) ** 2 for query, answer in enumerate(answers))
    return min(1.0, left / sum((one - mean) ** 2 for one in y))


def judged(X, y, removal, n_rounds, alpha, supports, a=None, v=None, k=1, gap=None, numeric=False):
    """[(threshold, support number, error, share of the table kept, f)] over all rows as queries."""
    n, M = X.shape
    out = []
    for number, support in enumerate(supports):
        metric = (np.ones(M) if a is None else a) * support
        for threshold in range(1, n_rounds + 1):
            kept = [row for row in range(n) if removal[row] < threshold]
            if not kept:
                continue
            scale = np.ones(n) if v is None else v
            error = error_of(y, [nearest_rows(X, row, kept, metric, scale, k, gap) for row in range(n)], numeric)
            share = len(kept) / n * support.mean()
            out.append((threshold, number, error, share, alpha * error + (1 - alpha) * share))
    return out
