"""Instance selectors by the book: loops over rows, every distance measured when it is needed.

Every function takes ``d``, a matrix of distances (d[x][y] is the distance of the query x to the stored row y), and
``labels``, class numbers from 0. It returns the set of kept rows. Ties go to the lower row number, equal votes to the
lower class.
"""

import math

import numpy as np

from naive.neighbors import distance, feature_ranges


def distances(X, **options):
    """All distances, missing values at the full range of the column. ``options`` are those of `distance`."""
    ranges = feature_ranges(X)
    return [[distance(q, x, ranges=ranges, **options) for x in X] for q in X]


def by_distance(d, x, among):
    """The rows ``among`` without x, nearest first."""
    return sorted((y for y in among if y != x), key=lambda y: (d[x][y], y))


def vote(labels, neighbors):
    """The most frequent class, the lowest of equally frequent ones; None without neighbours."""
    classes = [labels[y] for y in neighbors]
    return max(sorted(set(classes)), key=classes.count, default=None)


def wilson(d, labels, k):
    """Wilson's editing."""
    every = range(len(labels))
    return {x for x in every if vote(labels, by_distance(d, x, every)[:k]) == labels[x]}


def central_row(X, members, nominal, **options):
    """The row nearest to the centre of ``members``: means of numbers, most frequent categories."""
    center = []
    for j, column in enumerate(np.asarray(X)[sorted(members)].T):
        known = [value for value in column if not math.isnan(value)]
        if not known:
            center.append(math.nan)
        elif nominal[j]:
            center.append(max(sorted(set(known)), key=known.count))
        else:
            center.append(math.fsum(known) / len(known))
    ranges = feature_ranges(X)
    far = {x: distance(center, X[x], ranges=ranges, nominal=nominal, **options) for x in members}
    return min(x for x in members if far[x] <= min(far.values()) * (1 + 1e-9))


def fcnn(d, labels, seeds):
    """Angiulli 2005, FCNN1."""
    kept, new = set(), set(seeds)
    while new:
        kept |= new
        cells = {s: [] for s in kept}
        for x in range(len(labels)):
            if x not in kept:
                nearest = by_distance(d, x, kept)[0]
                if labels[nearest] != labels[x]:
                    cells[nearest].append(x)
        new = {min(cell, key=lambda x, s=s: (d[x][s], x)) for s, cell in cells.items() if cell}
    return kept


def ib2(d, labels, order):
    """Aha, Kibler & Albert 1991, IB2."""
    kept = {order[0]}
    for x in order[1:]:
        if labels[by_distance(d, x, kept)[0]] != labels[x]:
            kept.add(x)
    return kept


def interval(successes, attempts, z):
    if attempts == 0:
        return 0.0, 1.0
    p, n = successes / attempts, attempts
    width = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return (p + z**2 / (2 * n) - width) / (1 + z**2 / n), (p + z**2 / (2 * n) + width) / (1 + z**2 / n)


def ib3(d, labels, order, z_accept, z_remove, rng):
    """Aha, Kibler & Albert 1991, IB3; ``rng`` draws one number whenever no stored row is acceptable."""
    stored, right, tried, seen = set(), {}, {}, []

    def frequency(label, z):
        return interval(seen.count(label), len(seen), z)

    def acceptable(y):
        return interval(right[y], tried[y], z_accept)[0] > frequency(labels[y], z_accept)[1]

    for x in order:
        if not stored:
            stored, seen, right[x], tried[x] = {x}, [*seen, labels[x]], 0, 0
            continue
        ranked = by_distance(d, x, stored)
        good = [y for y in ranked if acceptable(y)]
        chosen = good[0] if good else ranked[rng.integers(len(ranked))]
        seen.append(labels[x])
        for y in ranked:
            if d[x][y] <= d[x][chosen]:
                tried[y] += 1
                right[y] += labels[y] == labels[x]
                if interval(right[y], tried[y], z_remove)[1] < frequency(labels[y], z_remove)[0]:
                    stored.discard(y)
        if labels[chosen] != labels[x]:
            stored.add(x)
            right[x], tried[x] = 0, 0
    return {y for y in stored if acceptable(y)}


def enemy(d, labels, x, among):
    """Distance to the nearest row of another class."""
    return min((d[x][y] for y in among if labels[y] != labels[x]), default=math.inf)


def drop_pass(d, labels, k, everyone, kept, order):
    """One pass of DROP2 over the rows in ``order``; ``kept`` is changed, and the number of removed rows returned."""
    removed = 0
    for p in order:
        with_p = without_p = 0
        for a in everyone:
            near = by_distance(d, a, kept)[: k + 1]
            if p in near:
                with_p += vote(labels, near[:k]) == labels[a]
                without_p += vote(labels, [y for y in near if y != p][:k]) == labels[a]
        if without_p >= with_p:
            kept.remove(p)
            removed += 1
    return removed


def drop3(d, labels, k):
    """Wilson & Martinez 2000, DROP3."""
    everyone = wilson(d, labels, k)
    kept = set(everyone)
    order = sorted(everyone, key=lambda x: (-enemy(d, labels, x, everyone), x))
    drop_pass(d, labels, k, everyone, kept, order)
    return kept


def drop5(d, labels, k):
    """Wilson & Martinez 2000, DROP5."""
    everyone = set(range(len(labels)))
    kept = set(everyone)
    removed = drop_pass(d, labels, k, everyone, kept, sorted(kept, key=lambda x: (enemy(d, labels, x, everyone), x)))
    while removed:
        order = sorted(kept, key=lambda x: (-enemy(d, labels, x, kept), x))
        removed = drop_pass(d, labels, k, everyone, kept, order)
    return kept


def icf(d, labels, k):
    """Brighton & Mellish 2002."""
    kept = wilson(d, labels, k)
    while True:
        reachable = {x: {y for y in kept if y != x and d[x][y] < enemy(d, labels, x, kept)} for x in kept}
        coverage = {x: {y for y in kept if x in reachable[y]} for x in kept}
        flagged = {x for x in kept if len(reachable[x]) > len(coverage[x])}
        if not flagged:
            return kept
        kept -= flagged


def hmn_e(d, labels, rows, epsilon):
    """Marchiori 2008, one pass of HMN-E over the rows ``rows``."""
    classes = sorted({labels[x] for x in rows})
    hits, misses = dict.fromkeys(rows, 0), dict.fromkeys(rows, 0)
    for x in rows:
        for c in classes:
            members = by_distance(d, x, [y for y in rows if labels[y] == c])
            if members:
                (hits if c == labels[x] else misses)[members[0]] += 1
    size = {c: sum(labels[x] == c for x in rows) for c in classes}
    flagged = set()
    for x in rows:
        w = size[labels[x]] / len(rows)
        if w * misses[x] + epsilon > (1 - w) * hits[x]:
            flagged.add(x)
    few = {c for c in classes if sum(labels[x] == c and x not in flagged for x in rows) < 4}
    for x in sorted(flagged):
        linked = hits[x] + misses[x] > 0
        if (
            (labels[x] in few and linked)
            or (len(classes) > 3 and misses[x] < len(classes) / 2 and linked)
            or hits[x] >= size[labels[x]] / 4
        ):
            flagged.discard(x)
    return set(rows) - flagged


def hmnei(d, labels, epsilon):
    """Marchiori 2008, HMN-EI."""
    every = range(len(labels))

    def accuracy(kept):
        nearest = [by_distance(d, x, kept)[:1] for x in every]
        return sum(bool(near) and labels[near[0]] == labels[x] for x, near in zip(every, nearest, strict=True)) / len(
            labels
        )

    kept, reached = set(every), -1.0
    while True:
        fewer = hmn_e(d, labels, sorted(kept), epsilon)
        if not fewer or fewer == kept or accuracy(fewer) < reached:
            return kept
        kept, reached = fewer, accuracy(fewer)
