"""The RELIEF family by loops, from the definitions; exact fractions where data are integers."""

from fractions import Fraction

import numpy as np


def table_of(X, *, scaled):
    """Rows as fractions, numeric columns divided by their range if wanted (constant ones become 0)."""
    rows = [[Fraction(float(value)) for value in row] for row in X]
    if not scaled:
        return rows
    for j in range(len(rows[0])):
        column = [row[j] for row in rows]
        span = max(column) - min(column)
        for row in rows:
            row[j] = row[j] / span if span else Fraction(0)
    return rows


def difference(x, z, nominal):
    return [
        Fraction(int(a != b)) if nominal is not None and nominal[j] else abs(a - b)
        for j, (a, b) in enumerate(zip(x, z, strict=True))
    ]


def metric(x, z, nominal, p):
    """The distance, squared for p = 2: enough to rank by."""
    return sum(d**p for d in difference(x, z, nominal))


def slots(ranked, k, ties):
    """{row: part of k slots} from [(distance, row)], ascending."""
    if ties == "index" or len(ranked) <= k:
        return {row: Fraction(1) for _, row in ranked[:k]}
    kth = ranked[k - 1][0]
    nearer = [row for d, row in ranked if d < kth]
    tied = [row for d, row in ranked if d == kth]
    share = Fraction(k - len(nearer), len(tied))
    return {**dict.fromkeys(nearer, Fraction(1)), **dict.fromkeys(tied, share)}


def neighbors(rows, y, i, members, k, ties, nominal, p, skip_zero=False):
    ranked = sorted((metric(rows[i], rows[z], nominal, p), z) for z in members if z != i)
    if skip_zero:
        ranked = [entry for entry in ranked if entry[0] > 0]
    return slots(ranked, k, ties)


def class_relief(X, y, k, *, ties="share", nominal=None, credit="instance", skip_zero=False, weight=None):
    """{class: vector} (paper 001, section 2.1)."""
    rows, classes = table_of(X, scaled=False), sorted(set(y))
    total = {c: [Fraction(0)] * len(rows[0]) for c in classes}
    for i in range(len(rows)):
        s = Fraction(1) if weight is None else Fraction(float(weight[i]))
        for c in classes:
            members = [z for z in range(len(rows)) if y[z] == c]
            sign = -1 if c == y[i] else 1
            for z, share in neighbors(rows, y, i, members, k, ties, nominal, 2, skip_zero).items():
                to = y[i] if credit == "instance" else c
                d = difference(rows[i], rows[z], nominal)
                total[to] = [t + sign * share * s * e for t, e in zip(total[to], d, strict=True)]
    return {c: np.array([float(v) for v in vector]) for c, vector in total.items()}


def margin_difference(rows, j, a, b, nominal):
    """A category differs by 0 or 1, a number by |a − b|; a missing cell (None) is at the column's full range."""
    if nominal[j]:
        return 0.0 if a is not None and a == b else 1.0
    if a is None or b is None:
        known = [row[j] for row in rows if row[j] is not None]
        return max(known) - min(known)
    return abs(a - b)


def class_margins(rows, y, weights, k, nominal):
    """{class: θ_c} (paper 001, section 2.1): misses of every other class less hits, under w_c's positive part."""
    margins = dict.fromkeys(weights, 0.0)
    for i, x in enumerate(rows):
        w = [max(value, 0.0) for value in weights[y[i]]]
        w = w if any(w) else [1.0] * len(w)
        for c in weights:
            distances = sorted(
                sum(w[j] * margin_difference(rows, j, x[j], z[j], nominal) ** 2 for j in range(len(w))) ** 0.5
                for row, z in enumerate(rows)
                if y[row] == c and row != i
            )
            margins[y[i]] += (-1 if c == y[i] else 1) * sum(distances[:k])
    return margins


def relief(X, y, k, **options):
    return sum(class_relief(X, y, k, **options).values())


def relievedf(X, y, k, *, ties="share", nominal=None):
    rows = table_of(X, scaled=False)
    total = [Fraction(0)] * len(rows[0])
    for i in range(len(rows)):
        for sign, members in (
            (-1, [z for z in range(len(rows)) if y[z] == y[i]]),
            (1, [z for z in range(len(rows)) if y[z] != y[i]]),
        ):
            for z, share in neighbors(rows, y, i, members, k, ties, nominal, 2).items():
                d = difference(rows[i], rows[z], nominal)
                total = [t + sign * share * e for t, e in zip(total, d, strict=True)]
    return np.array([float(t) for t in total])


def relieff(X, y, k, *, ties="share", nominal=None, weight=None):
    numeric = np.array(X, dtype=float)
    rows = table_of(numeric, scaled=True) if nominal is None else mixed_table(numeric, nominal)
    classes = sorted(set(y))
    prior = {c: Fraction(sum(1 for v in y if v == c), len(y)) for c in classes}
    weight = [Fraction(1)] * len(y) if weight is None else [Fraction(float(w)) for w in weight]
    total = [Fraction(0)] * len(rows[0])
    for i in range(len(rows)):
        for c in classes:
            members = [z for z in range(len(rows)) if y[z] == c]
            found = neighbors(rows, y, i, members, k, ties, nominal, 1)
            if not found:
                continue
            factor = Fraction(-1) if c == y[i] else prior[c] / (1 - prior[y[i]])
            factor = factor * weight[i] / sum(weight) / sum(found.values())
            for z, share in found.items():
                d = difference(rows[i], rows[z], nominal)
                total = [t + factor * share * e for t, e in zip(total, d, strict=True)]
    return np.array([float(t) for t in total])


def mixed_table(X, nominal):
    scaled = table_of(X, scaled=True)
    plain = table_of(X, scaled=False)
    return [
        [p if nominal[j] else s for j, (s, p) in enumerate(zip(a, b, strict=True))]
        for a, b in zip(scaled, plain, strict=True)
    ]


def surf(X, y, *, multi, star):
    """SURF and relatives; thresholds in floats, compared with a small tolerance as stated."""
    rows = table_of(X, scaled=True)
    n, classes = len(rows), sorted(set(y))
    D = [[float(metric(rows[i], rows[z], None, 1)) for z in range(n)] for i in range(n)]
    everyone = [[D[i][z] for z in range(n) if z != i] for i in range(n)]
    total = np.zeros(len(rows[0]))
    for i in range(n):
        if multi:
            mean, spread = np.mean(everyone[i]), np.std(everyone[i])
            low, high = mean - spread / 2, mean + spread / 2
        else:
            low = high = np.mean([np.mean(row) for row in everyone])
        zones = [(lambda d, low=low: d < low * (1 - 1e-10), 1)]
        if star:
            zones.append((lambda d, high=high: d > high * (1 + 1e-10), -1))
        for inside, direction in zones:
            for c in classes:
                found = [z for z in range(n) if z != i and y[z] == c and inside(D[i][z])]
                if not found:
                    continue
                prior = sum(1 for v in y if v == c) / n
                own = sum(1 for v in y if v == y[i]) / n
                factor = -1 if c == y[i] else prior / (1 - own)
                for z in found:
                    d = np.array([float(e) for e in difference(rows[i], rows[z], None)])
                    total += direction * factor * d / len(found) / n
    return total


def irelief(X, y, sigma, rounds):
    """I-RELIEF (Sun 2007): a fixed number of rounds."""
    rows = np.array([[float(v) for v in row] for row in table_of(X, scaled=True)])
    n, m = rows.shape
    w = np.full(m, 1 / np.sqrt(m))
    for _ in range(rounds):
        nu = np.zeros(m)
        for i in range(n):
            f = {z: np.exp(-np.sum(w * np.abs(rows[i] - rows[z])) / sigma) for z in range(n) if z != i}
            hits, misses = [z for z in f if y[z] == y[i]], [z for z in f if y[z] != y[i]]
            h, s = sum(f[z] for z in hits), sum(f[z] for z in misses)
            expected = sum(f[z] / s * np.abs(rows[i] - rows[z]) for z in misses)
            if hits:
                expected = expected - sum(f[z] / h * np.abs(rows[i] - rows[z]) for z in hits)
            nu += (1 - s / (h + s)) * expected / n
        positive = np.maximum(nu, 0)
        if not positive.any():
            return positive
        w = positive / np.linalg.norm(positive)
    return w


def turf(X, y, k, drop, goal):
    """Moore & White 2007: score, drop the worst, score the rest again. Last score and round per feature."""
    alive, last, rounds = list(range(X.shape[1])), {}, {}
    number = 0
    while True:
        number += 1
        for feature, score in zip(alive, relieff(X[:, alive], y, k), strict=True):
            last[feature], rounds[feature] = score, number
        if len(alive) <= goal:
            return last, rounds
        for _ in range(min(drop, len(alive) - goal)):
            worst = min(alive, key=lambda feature: (last[feature], -feature))  # of equals the later column
            alive.remove(worst)
