"""Learned votes by the book (methods page, "Learned votes"): loops, dense matrices, and a refit per row left out.

Coded tables: ``nominal`` tells which columns are categories, NaN is a missing cell. Nothing here knows the library.
"""

import math

import numpy as np


def column_ranges(stored, nominal):
    """Full range of each column among the stored rows: 1 for categories, largest minus smallest for numbers."""
    ranges = []
    for j in range(stored.shape[1]):
        known = [float(v) for v in stored[:, j] if not math.isnan(v)]
        ranges.append(1.0 if nominal[j] else (max(known) - min(known) if known else 0.0))
    return ranges


def distances(queries, stored, *, p, nominal=None, weights=None, same=None, ranges=None):
    """Distances by a double loop. ``same[i]`` is the number of the stored row that query i is, or -1."""
    queries, stored = np.asarray(queries, dtype=float), np.asarray(stored, dtype=float)
    m = stored.shape[1]
    nominal = [False] * m if nominal is None else nominal
    weights = [1.0] * m if weights is None else weights
    ranges = column_ranges(stored, nominal) if ranges is None else ranges
    out = np.zeros((len(queries), len(stored)))
    for i, q in enumerate(queries):
        for s, x in enumerate(stored):
            if same is not None and same[i] == s:
                continue
            total = 0.0
            for j in range(m):
                if math.isnan(q[j]) or math.isnan(x[j]):
                    difference = ranges[j]
                elif nominal[j]:
                    difference = 0.0 if q[j] == x[j] else 1.0
                else:
                    difference = abs(q[j] - x[j])
                total += weights[j] * difference**p
            out[i, s] = total if p == 1 else math.sqrt(total)
    return out


def all_distances(rows, **options):
    """Distances of all pairs of rows; a row is at distance 0 from itself."""
    return distances(rows, rows, same=range(len(rows)), **options)


def kernel(distance, width):
    return np.exp(-distance / width)


def mean_of(Y, s=None):
    s = np.ones(len(Y)) if s is None else s
    return (s[:, None] * Y).sum(axis=0) / s.sum()


def ridge_votes(K, Y, ridge, s=None, mean=None):
    """Votes of all rows: (K + ridge / s) alpha = Y - mean."""
    s = np.ones(len(Y)) if s is None else s
    mean = mean_of(Y, s) if mean is None else mean
    return np.linalg.solve(K + ridge * np.diag(1.0 / s), Y - mean)


def left_out_scores(K, Y, ridge, s=None):
    """Score of every row from a refit without it (of a weight above 1: without one repetition). The mean is kept."""
    n = len(Y)
    s = np.ones(n) if s is None else np.asarray(s, dtype=float)
    mean = mean_of(Y, s)
    out = np.empty_like(Y)
    for i in range(n):
        fewer = s.copy()
        fewer[i] = max(fewer[i] - 1.0, 0.0)
        left = np.flatnonzero(fewer > 0)
        alpha = ridge_votes(K[np.ix_(left, left)], Y[left], ridge, fewer[left], mean)
        out[i] = mean + K[i, left] @ alpha
    return out


def local_scores(queries, stored, Y, k, width, ridge, *, p, nominal=None, weights=None, s=None, own=None, ranges=None):
    """Scores by the k nearest rows, solved for each query. ``own[i]`` is the stored row that query i may not use."""
    s = np.ones(len(stored)) if s is None else s
    options = {"p": p, "nominal": nominal, "weights": weights, "ranges": ranges}
    if ranges is None:
        options["ranges"] = column_ranges(np.asarray(stored, float), nominal or [False] * np.shape(stored)[1])
    to_query = distances(queries, stored, **options)
    out = np.empty((len(to_query), Y.shape[1]))
    for q, row in enumerate(to_query):
        near = sorted((d, i) for i, d in enumerate(row) if own is None or own[q] != i)[:k]
        slots = [i for _, i in near]
        K = kernel(all_distances(np.asarray(stored, float)[slots], **options), width)
        mean = mean_of(Y[slots], s[slots])
        alpha = ridge_votes(K, Y[slots], ridge, s[slots], mean)
        out[q] = mean + kernel(row[slots], width) @ alpha
    return out


def feature_changes(rows, alpha, width, *, p, nominal=None, weights=None, s=None):
    """G: mean squared change of the scores with each feature, from the scores themselves.

    Numbers: a difference quotient around every row. For p = 1 the scores have kinks at the stored values, so the
    quotient is the mean of the left and the right one over a step that passes no stored value. Categories: each is
    replaced by all others. A missing number cannot change; a missing category can become any.
    """
    rows = np.asarray(rows, dtype=float)
    n, m = rows.shape
    nominal = [False] * m if nominal is None else nominal
    s = np.ones(n) if s is None else s
    ranges = column_ranges(rows, nominal)
    found = np.zeros(m)

    def score(query, i):
        d = distances(query[None, :], rows, p=p, nominal=nominal, weights=weights, ranges=ranges)[0]
        # A row is at distance 0 from its own stored copy, missing cells or not. The methods page does not say what
        # happens if a missing category is replaced; here, as in the library, the copy still counts as equal in that
        # cell.
        both = np.where(np.isnan(rows[i]), 0.0, query)
        copy = np.where(np.isnan(rows[i]), 0.0, rows[i])
        d[i] = distances(both[None, :], copy[None, :], p=p, nominal=nominal, weights=weights, ranges=ranges)[0, 0]
        return kernel(d, width) @ alpha

    for i in range(n):
        for j in range(m):
            query = rows[i].copy()
            if nominal[j]:
                known = sorted({v for v in rows[:, j] if not math.isnan(v)})
                others = [v for v in known if v != rows[i, j]]
                here, total = score(query, i), 0.0
                for other in others:
                    query[j] = other
                    total += ((score(query, i) - here) ** 2).sum()
                found[j] += s[i] * total / max(len(others), 1)
            elif not math.isnan(query[j]):
                step = 1e-6
                high, low = query.copy(), query.copy()
                high[j] += step
                low[j] -= step
                found[j] += s[i] * (((score(high, i) - score(low, i)) / (2 * step)) ** 2).sum()
    return found / s.sum()


def penalised_error(design, penalty, scores, columns):
    """‖f − A β‖² + βᵀ P β at its least, with votes β of some columns of the design A only, and these votes."""
    some, among = design[:, columns], penalty[np.ix_(columns, columns)]
    beta = np.linalg.lstsq(some.T @ some + among, some.T @ scores, rcond=None)[0]
    error = ((scores - some @ beta) ** 2).sum() + np.trace(beta.T @ among @ beta)
    return error, beta


def eliminate(design, penalty, scores, n_kept, n_widths=1):
    """Leave out, one by one, the row without which the penalised error is least; solve again for each.

    Row i has the columns i · n_widths, ..., (i + 1) · n_widths − 1.
    """

    def columns(rows):
        return [row * n_widths + width for row in rows for width in range(n_widths)]

    kept = list(range(len(penalty) // n_widths))
    while len(kept) > n_kept:
        without = [[other for other in kept if other != row] for row in kept]
        errors = [penalised_error(design, penalty, scores, columns(rows))[0] for rows in without]
        kept = without[int(np.argmin(errors))]
    return np.array(kept), penalised_error(design, penalty, scores, columns(kept))[1]
