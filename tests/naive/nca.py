"""Neighbourhood component feature selection by loops, from Yang, Wang & Zuo (2012) and methods.md §0 and §5."""

import math


def standardized(X, nominal):
    """Columns of numbers divided by their standard deviation, and the range of each; NaN is missing."""
    columns, gaps = [], []
    for j in range(len(X[0])):
        column = [float(row[j]) for row in X]
        known = [value for value in column if not math.isnan(value)]
        if nominal[j]:
            columns.append(column)
            gaps.append(1.0)
            continue
        mean = sum(known) / len(known) if known else 0.0
        deviation = math.sqrt(sum((value - mean) ** 2 for value in known) / len(known)) if known else 0.0
        constant = not known or max(known) == min(known)
        columns.append([value if constant else value / deviation for value in column])
        gaps.append(0.0 if constant else (max(known) - min(known)) / deviation)
    return [list(row) for row in zip(*columns, strict=True)], gaps


def difference(x, z, nominal, gap):
    """Of one feature: a missing value is at full range, categories differ by 0 or 1."""
    if math.isnan(x) or math.isnan(z):
        return gap
    return float(x != z) if nominal else abs(x - z)


def objective(rows, gaps, nominal, y, w, *, numeric, regularization, sigma=1.0, weight=None):
    """Equation (5): the mean probability of a correct neighbour (or minus the mean |y − y'|) less the penalty."""
    n = len(rows)
    weight = [1.0] * n if weight is None else weight
    total = 0.0
    for i in range(n):
        others = [j for j in range(n) if j != i]
        d = {}
        for j in others:
            terms = zip(rows[i], rows[j], nominal, gaps, w, strict=True)
            d[j] = sum(v * v * difference(a, b, kind, gap) for a, b, kind, gap, v in terms)
        nearest = min(d.values())
        kernel = {j: math.exp(-(d[j] - nearest) / sigma) for j in others}
        reward = {j: -abs(y[i] - y[j]) if numeric else float(y[i] == y[j]) for j in others}
        total += weight[i] * sum(kernel[j] * reward[j] for j in others) / sum(kernel.values())
    return total / sum(weight) - regularization * sum(v * v for v in w)
