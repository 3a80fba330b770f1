"""Lazy learners by the book: IB1 and IBk (Aha 1991), K* (Cleary & Trigg 1995), LWL with a stump,
naive Bayes or a linear function, for classes and for numbers. Loops and all; distances of IBk in exact fractions, so
that ties are ties.
"""

import itertools
import math
from fractions import Fraction

from scipy.optimize import brentq
from scipy.stats import norm


def known(column):
    return [value for value in column if not math.isnan(value)]


def squared(q, x, low, high, nominal):
    """Squared distance of min-max scaled rows as a fraction; missing is at full range."""
    total = Fraction(0)
    for j in range(len(x)):
        if nominal[j]:
            total += 0 if q[j] == x[j] else 1
        elif high[j] > low[j]:
            if math.isnan(q[j]) or math.isnan(x[j]):
                total += 1
            else:
                scaled = (Fraction(float(q[j])) - Fraction(float(x[j]))) / (high[j] - low[j])
                total += scaled * scaled
    return total


def sorted_rows(q, X, nominal):
    """[(squared distance, row), ...] of one query, nearest first."""
    low = [Fraction(float(min(known(column), default=0))) for column in X.T]
    high = [Fraction(float(max(known(column), default=0))) for column in X.T]
    return sorted((squared(q, x, low, high, nominal), i) for i, x in enumerate(X))


def within(found, k, mass=None):
    """The first rows whose mass reaches k, and all those as far as the last of them."""
    reached = 0.0
    for square, i in found:
        reached += 1 if mass is None else mass[i]
        if reached >= k:
            return [entry for entry in found if entry[0] <= square]
    return found


def ibk_votes(q, X, k, nominal, weights, ties):
    """{row: vote} of the neighbours of one query."""
    found = sorted_rows(q, X, nominal)
    found = within(found, k) if ties == "all" else found[:k]
    votes = {}
    for square, i in found:
        delta = math.sqrt(square / X.shape[1])
        votes[i] = {"uniform": 1.0, "inverse": 1 / (delta + 0.001), "similarity": max(0.0, 1 - delta)}[weights]
    return votes


def ibk(Q, X, y, classes, k, *, nominal, weights="uniform", ties="all"):
    """Shares of the votes per class."""
    return [shares_of(ibk_votes(q, X, k, nominal, weights, ties), y, classes) for q in Q]


def shares_of(votes, y, classes):
    """Share of each class in the votes of rows."""
    return [sum(v for i, v in votes.items() if y[i] == c) / sum(votes.values()) for c in classes]


# --- K*


def sphere(chances):
    """Number of instances that chances include: (sum p)^2 / sum p^2."""
    return sum(chances) ** 2 / sum(p * p for p in chances)


def numeric_chances(a, values, blend):
    """P*(b|a) for all known values b of a column."""
    distances = [abs(a - b) for b in values]
    nearest = min(distances)
    n0 = sum(1 for d in distances if math.isclose(d, nearest, rel_tol=0, abs_tol=1e-12))
    if n0 == len(values):
        return None
    aim = n0 + blend * (len(values) - n0)

    def excess(log_scale):
        scale = math.exp(log_scale)
        return sphere([math.exp(-2 * scale * (d - nearest)) for d in distances]) - aim

    scale = math.exp(brentq(excess, -40, 40, xtol=1e-14))
    return [scale * math.exp(-2 * scale * d) for d in distances]


def nominal_chances(a, values, blend):
    """P*(b|a) for all known categories b of a column."""
    n, n0 = len(set(values)), sum(1 for b in values if b == a)
    if n0 in (0, len(values)):
        return None
    aim = n0 + blend * (len(values) - n0)

    def chances(s):
        return [(1 - s) / n + (s if a == b else 0.0) for b in values]

    stop = brentq(lambda s: sphere(chances(s)) - aim, 0.0, 1.0, xtol=1e-14)
    return chances(stop)


def kstar_chances(q, X, blend, nominal):
    """{row: probability} of all training rows."""
    chance = [1.0] * len(X)
    asked = [j for j in range(X.shape[1]) if not math.isnan(q[j])]
    for j in asked:
        rows = [i for i in range(len(X)) if not math.isnan(X[i, j])]
        one = (nominal_chances if nominal[j] else numeric_chances)(q[j], [X[i, j] for i in rows], blend)
        if one is None:
            continue
        other = sum(one) / len(one)
        of_row = dict(zip(rows, one, strict=True))
        chance = [chance[i] * of_row.get(i, other) for i in range(len(X))]
    return {i: p ** (X.shape[1] / max(1, len(asked))) for i, p in enumerate(chance)}


def kstar(Q, X, y, classes, blend, *, nominal):
    """Shares of the chances per class."""
    return [shares_of(kstar_chances(q, X, blend, nominal), y, classes) for q in Q]


# --- LWL

KERNELS = {
    "linear": lambda t: 1.0001 - t,
    "epanechnikov": lambda t: 3 / 4 * (1.0001 - t * t),
    "tricube": lambda t: (1.0001 - t**3) ** 3,
    "inverse": lambda t: 1 / (1 + t),
    "gauss": lambda t: math.exp(-t * t),
    "constant": lambda t: 1.0,
}


def local_weights(q, X, nominal, kernel, k=None, mass=None):
    """{row: weight} of the rows that count; weights sum to their mass."""
    mass = [1.0] * len(X) if mass is None else mass
    found = sorted_rows(q, X, nominal)
    found = found if k is None else within(found, k, mass)
    bandwidth = math.sqrt(found[-1][0])
    raw = {i: mass[i] * KERNELS[kernel](math.sqrt(s) / bandwidth if bandwidth > 0 else 1.0) for s, i in found}
    total = sum(mass[i] for i in raw)
    return {i: w * total / sum(raw.values()) for i, w in raw.items()}


def class_weights(rows, w, y, classes):
    return [sum(w[i] for i in rows if y[i] == c) for c in classes]


def entropy(branches):
    """Bits left when branches of class weights are told apart."""
    everything = sum(map(sum, branches))
    bits = 0.0
    for branch in branches:
        for weight in branch:
            if weight > 0:
                bits -= weight / everything * math.log2(weight / sum(branch))
    return bits


def stump(q, X, y, classes, w, nominal):
    """Class shares of the branch that q falls into; every test is tried."""
    best, answer = math.inf, class_weights(w, w, y, classes)
    for j in range(X.shape[1]):
        there = [i for i in w if not math.isnan(X[i, j])]
        absent = class_weights([i for i in w if math.isnan(X[i, j])], w, y, classes)
        values = sorted({X[i, j] for i in there})
        cuts = values if nominal[j] else [(a + b) / 2 for a, b in itertools.pairwise(values)]
        for cut in cuts:
            passes = (lambda v, cut=cut: v == cut) if nominal[j] else (lambda v, cut=cut: v <= cut)
            yes = class_weights([i for i in there if passes(X[i, j])], w, y, classes)
            no = class_weights([i for i in there if not passes(X[i, j])], w, y, classes)
            left = entropy([yes, no, absent])
            if left < best - 1e-10:
                best = left
                if math.isnan(q[j]):
                    answer = absent if sum(absent) > 0 else class_weights(there, w, y, classes)
                else:
                    answer = yes if passes(q[j]) else no
    if sum(answer) == 0:
        answer = class_weights(w, w, y, classes)
    return [a / sum(answer) for a in answer]


def log_interval(at, width, mean, deviation):
    """Log of the normal probability of an interval, on the side where it does not cancel."""
    near, far = (width / 2 - abs(at - mean)) / deviation, (-width / 2 - abs(at - mean)) / deviation
    return norm.logcdf(near) + math.log1p(-math.exp(norm.logcdf(far) - norm.logcdf(near)))


def moments(rows, column, w, width):
    total = sum(w[i] for i in rows)
    x = {i: round(column[i] / width) * width for i in rows}
    mean = sum(w[i] * x[i] for i in rows) / total
    return mean, max(width / 6, math.sqrt(max(0.0, sum(w[i] * (x[i] - mean) ** 2 for i in rows) / total)))


def naive_bayes(q, X, y, classes, w, nominal):
    """Class probabilities: Laplace's counts, normal densities over an interval; 0 for a class without rows."""
    there_is = {c: any(y[i] == c for i in w) for c in classes}
    log = [math.log(1 + part) for part in class_weights(w, w, y, classes)]
    for j in range(X.shape[1]):
        there = [i for i in w if not math.isnan(X[i, j])]
        if math.isnan(q[j]) or not there:
            continue
        if nominal[j]:
            n_values = len(set(known(X[:, j])))
            same = class_weights([i for i in there if X[i, j] == q[j]], w, y, classes)
            all_ = class_weights(there, w, y, classes)
            log = [p + math.log((s + 1) / (a + n_values)) for p, s, a in zip(log, same, all_, strict=True)]
            continue
        values = sorted({X[i, j] for i in there})
        width = (values[-1] - values[0]) / (len(values) - 1) if len(values) > 1 else 0.01
        at = round(q[j] / width) * width
        for number, c in enumerate(classes):
            own = [i for i in there if y[i] == c] or there  # a class without a known value: all rows
            log[number] += log_interval(at, width, *moments(own, X[:, j], w, width))
    best = max(p for p, c in zip(log, classes, strict=True) if there_is[c])
    posterior = [math.exp(p - best) if there_is[c] else 0.0 for p, c in zip(log, classes, strict=True)]
    return [p / sum(posterior) for p in posterior]


def lwl(Q, X, y, classes, *, nominal, model=stump, kernel="linear", k=None, mass=None):
    """Class shares by a model per query."""
    return [model(q, X, y, classes, local_weights(q, X, nominal, kernel, k, mass), nominal) for q in Q]
