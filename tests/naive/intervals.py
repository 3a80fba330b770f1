"""WIB-K by the book (paper 002, section 3; methods.md, section 3): lists, sets and loops."""

import math
from collections import Counter


def partitions(values):
    """Maximal runs of consecutive integers: lists of the distinct values."""
    runs = []
    for value in sorted(set(values)):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return runs


def level(magnitude, psi):
    """Level of confidence of a magnitude, from table 2; % is integer division there."""
    high_right = psi
    high_left = high_right // 2 + 1
    medium_right = high_left - 1
    medium_left = medium_right // 2 + 1
    low_right = medium_left - 1
    low_left = low_right // 2 + 1
    if magnitude >= high_left:
        return "high"
    if magnitude >= medium_left:
        return "medium"
    return "low" if magnitude >= low_left else "null"


def intervals(X, y, *, nominal=None, overlap="values"):
    """All runs: a list of dicts by class, feature and value."""
    found = []
    for c in sorted(set(y)):
        for j in range(len(X[0])):
            column = [row[j] for row, label in zip(X, y, strict=True) if label == c and not math.isnan(row[j])]
            frequency = Counter(column)
            apart = nominal is not None and nominal[j]
            runs = [[value] for value in sorted(set(column))] if apart else partitions(column)
            of_feature = [
                {
                    "class": c,
                    "feature": j,
                    "values": run,
                    "magnitude": sum(frequency[value] for value in run),
                    "amplitude": len(run),
                }
                for run in runs
            ]
            for one in of_feature:
                psi = max(other["magnitude"] for other in of_feature if other["amplitude"] == one["amplitude"])
                one["level"] = level(one["magnitude"], psi)
                one["kept"] = one["level"] != "null"
            found += of_feature
    for one in found:
        others = [o for o in found if o["kept"] and o["feature"] == one["feature"] and o["class"] != one["class"]]
        one["weight"] = weight(one["values"], [o["values"] for o in others], overlap) if one["kept"] else math.nan
    return found


def weight(run, others, overlap="values"):
    """Share of a run that no run of another class shares."""
    taken = {value for other in others for value in other}
    if overlap == "values" or len(run) == 1:
        return sum(value not in taken for value in run) / len(run)
    steps = [(value, value + 1) for value in run[:-1]]  # unit lengths between neighbours
    covered = {(value, value + 1) for other in others for value in other[:-1]}
    return sum(step not in covered for step in steps) / len(steps)


def closest(value, runs):
    """The run that holds a value, else the closest, of two equally close ones the lower."""
    return min(runs, key=lambda run: (max(run["values"][0] - value, value - run["values"][-1], 0), run["values"][0]))


def cell_weights(
    X, y, *, nominal=None, overlap="values", kind="nonoverlap", normalize="instance", smoothing=0.02, found=None
):
    """Weight of every cell of the stored instances: a list of rows."""
    found = intervals(X, y, nominal=nominal, overlap=overlap) if found is None else found
    rows = []
    for row, label in zip(X, y, strict=True):
        cells = []
        for j, value in enumerate(row):
            runs = [one for one in found if one["kept"] and one["class"] == label and one["feature"] == j]
            shares = [one["weight"] if kind == "nonoverlap" else 1 - one["weight"] for one in runs]
            mean = sum(shares) / len(shares) if shares else 0.0
            if math.isnan(value):
                share = mean
            elif nominal is not None and nominal[j]:
                share = next((s for s, one in zip(shares, runs, strict=True) if one["values"] == [value]), mean)
            else:
                share = shares[runs.index(closest(value, runs))]
            cells.append(share + smoothing)
        rows.append(cells)
    if normalize is None:
        return rows
    return [[cell / sum(row) if sum(row) > 0 else cell for cell in row] for row in rows]


def majority(neighbors, labels, ties="first"):
    """Class with the most votes; of equal ones the first in order, or the one with the nearest member."""
    votes = Counter(labels[row] for _, row in neighbors)
    tied = {label for label, count in votes.items() if count == max(votes.values())}
    if ties == "first":
        return min(tied)
    return next(labels[row] for _, row in neighbors if labels[row] in tied)


def entropy(labels):
    total = len(labels)
    return -sum(n / total * math.log2(n / total) for n in Counter(labels).values())


def mdlp(values, labels):
    """Fayyad and Irani's cuts, by recursion over all places between different values."""
    pairs = sorted(zip(values, labels, strict=True))
    N = len(pairs)
    best = None
    for i in range(1, N):
        if pairs[i - 1][0] == pairs[i][0]:
            continue
        left, right = [c for _, c in pairs[:i]], [c for _, c in pairs[i:]]
        after = len(left) / N * entropy(left) + len(right) / N * entropy(right)
        if best is None or after < best[0] - 1e-12:
            best = (after, i, left, right)
    if best is None:
        return []
    after, i, left, right = best
    everything = left + right
    k, k1, k2 = len(set(everything)), len(set(left)), len(set(right))
    delta = math.log2(3**k - 2) - (k * entropy(everything) - k1 * entropy(left) - k2 * entropy(right))
    if entropy(everything) - after <= (math.log2(N - 1) + delta) / N:
        return []
    cut = (pairs[i - 1][0] + pairs[i][0]) / 2
    below = mdlp([v for v, _ in pairs[:i]], left)
    above = mdlp([v for v, _ in pairs[i:]], right)
    return [*below, cut, *above]
