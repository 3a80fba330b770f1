"""RReliefF, and SURF with numeric targets, by loops from the definitions; missing values are None."""

from fractions import Fraction
from math import exp, sqrt

import numpy as np


def scaled_table(X, nominal):
    """Rows of fractions; numbers are divided by the range of their column, constant ones become 0, NaN becomes None."""
    n, m = len(X), len(X[0])
    rows = [[None if np.isnan(v) else Fraction(float(v)) for v in row] for row in X]
    for j in range(m):
        known = [rows[i][j] for i in range(n) if rows[i][j] is not None]
        span = max(known) - min(known)
        for i in range(n):
            if rows[i][j] is not None and not nominal[j]:
                rows[i][j] = (rows[i][j] - min(known)) / span if span else Fraction(0)
    return rows


def known_difference(a, b, is_nominal):
    return Fraction(int(a != b)) if is_nominal else abs(a - b)


def distance(rows, i, z, nominal):
    """City-block distance of the search: a missing value is at the full range of its column."""
    total = Fraction(0)
    for j, is_nominal in enumerate(nominal):
        a, b = rows[i][j], rows[z][j]
        if a is None or b is None:
            known = [row[j] for row in rows if row[j] is not None]
            total += 1 if is_nominal else max(known) - min(known)
        else:
            total += known_difference(a, b, is_nominal)
    return total


def expected_difference(rows, i, z, j, is_nominal):
    """Difference of the score: a missing value stands for all known values of its column, each as probable."""
    known = [row[j] for row in rows if row[j] is not None]
    mine = known if rows[i][j] is None else [rows[i][j]]
    theirs = known if rows[z][j] is None else [rows[z][j]]
    total = sum(known_difference(a, b, is_nominal) for a in mine for b in theirs)
    return total / (len(mine) * len(theirs))


def neighbor_weights(distances, k, ties, sigma):
    """{row: weight} of the k nearest from {row: distance}; the weights sum to 1."""
    ranked = sorted((d, row) for row, d in distances.items())
    place = {}  # what each of the places 1 to k counts, and those beyond k nothing
    for r in range(1, len(ranked) + 1):
        place[r] = 0.0 if r > k else 1.0 if sigma is None else exp((1 - r**2) / sigma**2)
    weight = {}
    for r, (d, row) in enumerate(ranked, start=1):
        tied = [s for s, (other, _) in enumerate(ranked, start=1) if other == d]
        weight[row] = place[r] if ties == "index" else sum(place[s] for s in tied) / len(tied)
    total = sum(weight.values())
    return {row: w / total for row, w in weight.items()}


def rrelieff(X, y, k, *, ties="share", nominal=None, weight=None, sigma=None):
    """The paper's figure 3: N_dC, N_dA and N_dC&dA over all rows and their k nearest rows."""
    n, m = len(X), len(X[0])
    nominal = [False] * m if nominal is None else list(nominal)
    weight = [1.0] * n if weight is None else [float(w) for w in weight]
    rows = scaled_table(X, nominal)
    y_range = max(y) - min(y)
    n_dc, n_da, n_both = 0.0, [0.0] * m, [0.0] * m
    for i in range(n):
        distances = {z: distance(rows, i, z, nominal) for z in range(n) if z != i}
        for z, u in neighbor_weights(distances, k, ties, sigma).items():
            dy = abs(y[i] - y[z]) / y_range
            n_dc += weight[i] * u * dy
            for j in range(m):
                dj = float(expected_difference(rows, i, z, j, nominal[j]))
                n_da[j] += weight[i] * u * dj
                n_both[j] += weight[i] * u * dj * dy
    total = sum(weight)
    near_zero = 1e-12 * total
    first = [b / n_dc if n_dc > near_zero else 0.0 for b in n_both]
    second = [(a - b) / (total - n_dc) if total - n_dc > near_zero else 0.0 for a, b in zip(n_da, n_both, strict=True)]
    return np.array([a - b for a, b in zip(first, second, strict=True)])


def surf(X, y, *, multi, star, nominal=None, weight=None):
    """SURF and relatives: near misses less near hits, in means, and the far ones the other way round."""
    n, m = len(X), len(X[0])
    nominal = [False] * m if nominal is None else list(nominal)
    weight = [1.0] * n if weight is None else [float(w) for w in weight]
    rows = scaled_table(X, nominal)
    D = [[float(distance(rows, i, z, nominal)) for z in range(n)] for i in range(n)]
    others = [[z for z in range(n) if z != i] for i in range(n)]
    everyone = sum(D[i][z] for i in range(n) for z in others[i]) / (n * (n - 1))
    mean_y = sum(y) / n
    deviation = sqrt(sum((v - mean_y) ** 2 for v in y) / (n - 1))
    total = np.zeros(m)
    for i in range(n):
        low = high = everyone
        if multi:
            mean = sum(D[i][z] for z in others[i]) / (n - 1)
            half = sqrt(sum((D[i][z] - mean) ** 2 for z in others[i]) / (n - 1)) / 2
            low, high = mean - half, mean + half
        near = [z for z in others[i] if D[i][z] < low * (1 - 1e-10)]
        far = [z for z in others[i] if D[i][z] > high * (1 + 1e-10)] if star else []
        for zone, direction in ((near, 1), (far, -1)):
            hits = [z for z in zone if abs(y[i] - y[z]) < deviation * (1 - 1e-10)]
            misses = [z for z in zone if z not in hits]
            for group, sign in ((hits, -1), (misses, 1)):
                for z in group:
                    d = np.array([float(expected_difference(rows, i, z, j, nominal[j])) for j in range(m)])
                    total += weight[i] * direction * sign * d / len(group)
    return total / sum(weight)
