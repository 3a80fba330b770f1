"""MBIW, SIMBA and SIMBAMBIW by loops (papers 000 and 003)."""

import numpy as np


def near(X, y, i, w, same):
    """Row of the near hit (same) or near miss under |.|_w; None where there is none. Ties: lower row."""
    best, found = np.inf, None
    for z in range(len(X)):
        if z == i or (y[z] == y[i]) != same:
            continue
        d = np.sum(w**2 * (X[i] - X[z]) ** 2)
        if d < best:
            best, found = d, z
    return found


def mbiw(X, y, n_neighbors=1):
    n = len(X)
    margins = []
    for i in range(n):
        profile = np.zeros(X.shape[1])
        for same, sign in ((True, -1), (False, 1)):
            ranked = sorted((np.sum((X[i] - X[z]) ** 2), z) for z in range(n) if z != i and (y[z] == y[i]) == same)
            chosen = ranked if n_neighbors == "all" else ranked[:n_neighbors]
            for _, z in chosen:
                profile += sign * np.abs(X[i] - X[z]) / len(chosen)
        margins.append(profile)
    mean = [sum(np.linalg.norm(margins[i] - margins[z]) for z in range(n) if z != i) / (n - 1) for i in range(n)]
    if min(mean) == 0:
        return np.full(n, 1 / n)
    inverse = 1 / np.array(mean)
    return inverse / inverse.sum()


def simba(X, y, order, steps):
    """w after the steps; order and steps say which instance and how far."""
    w = np.ones(X.shape[1])
    for i, step in zip(order, steps, strict=True):
        hit, miss = near(X, y, i, w, True), near(X, y, i, w, False)
        delta = np.zeros(X.shape[1])
        for z, sign in ((miss, 1), (hit, -1)):
            if z is None:
                continue
            norm = np.sqrt(np.sum(w**2 * (X[i] - X[z]) ** 2))
            if norm > 0:
                delta += sign * (X[i] - X[z]) ** 2 / norm
        w = w + step * 0.5 * delta * w
    return w
