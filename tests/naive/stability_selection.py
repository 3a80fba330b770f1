"""Integrated path stability selection by loops, written from the papers and the description of the sums."""

import math


def paths(selections):
    """π_j(τ) and q(τ) from selections[threshold][run][feature] of 0 and 1."""
    shares, numbers = [], []
    for runs in selections:
        shares.append([sum(run[j] for run in runs) / len(runs) for j in range(len(runs[0]))])
        numbers.append(sum(sum(run) for run in runs) / len(runs))
    return shares, numbers


def interval_measures(thresholds, delta):
    """The measure of each interval between neighbouring thresholds of a geometric grid, normalised over the grid."""
    low, high, n = min(thresholds), max(thresholds), len(thresholds)
    shrink = 1 - math.exp(math.log(low / high) / n)
    total = math.log(high / low) if delta == 1 else (high ** (1 - delta) - low ** (1 - delta)) / (1 - delta)
    return [shrink * tau ** (1 - delta) / total for tau in thresholds[1:]]


def end_of_changes(shares):
    """`ipss` ends the grid at the first threshold whose paths are those of the last but one, if they are not near 0."""
    for i in range(2, len(shares)):
        if sum(shares[i]) / len(shares[i]) > 0.01 and all(
            abs(now - before) < 1e-8 for now, before in zip(shares[i], shares[i - 2], strict=True)
        ):
            return i
    return len(shares)


def bound_at(q, p, B, order):
    """The integrand of the bound, as methods of order 1, 2 and 3 have it."""
    ratio = q / p
    if order == 1:
        return p * ratio**2
    if order == 2:
        return p * (ratio**2 / B + (B - 1) / B * ratio**4)
    return p * (ratio**2 + 3 * (B - 1) * ratio**4 + (B - 1) * (B - 2) * ratio**6) / B**2


def integrals(shares, numbers, thresholds, B, delta, cutoff, order):
    """Scores, bound, expected false positives and q-values; thresholds end before the bound exceeds the cutoff."""
    p = len(shares[0])
    bound, stop = 0.0, len(thresholds)
    for i, measure in enumerate(interval_measures(thresholds, delta)):
        more = bound + measure * bound_at(numbers[i], p, B, order)
        if more > cutoff:
            stop = i + 1
            break
        bound = more
    scores = [0.0] * p
    if stop > 1:
        for i, measure in enumerate(interval_measures(thresholds[:stop], delta)):
            for j in range(p):
                share = shares[i][j]
                scores[j] += measure * ((2 * share - 1) ** order if share > 0.5 else 0.0)
    false = [min(p, bound / score) if score > 0 else float(p) for score in scores]
    rates = {t: t / sum(one <= t for one in false) for t in false}
    return scores, bound, false, [min(rate for t, rate in rates.items() if t >= one) for one in false]


def permuted_false_positives(scores, null_scores):
    """One more than the number of null scores that reach a score, per permutation; at most all features."""
    p, out = len(scores), []
    for score in scores:
        reached = sum(null >= score for row in null_scores for null in row)
        out.append(min(p, (reached + 1) / len(null_scores)) if score > 0 else float(p))
    return out


def rank_selection(weights, size):
    """A feature is selected if at most ``size`` features, itself included, have a weight as large as its own."""
    return [int(sum(other >= one for other in weights) <= size) for one in weights]
