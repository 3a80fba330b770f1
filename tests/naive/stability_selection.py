"""Integrated path stability selection by loops, written from the papers and the description of the sums."""

import math


def paths(selections):
    """π_j(τ) and q(τ) from selections[threshold][run][feature] of 0 and 1."""
    shares, numbers = [], []
    for runs in selections:
        shares.append([sum(run[j] for run in runs) / len(runs) for j in range(len(runs[0]))])
        numbers.append(sum(sum(run) for run in runs) / len(runs))
    return shares, numbers


def interval_measures(thresholds):
    """The measure of each interval between neighbouring thresholds of a geometric grid, normalised over the grid."""
    low, high, n = min(thresholds), max(thresholds), len(thresholds)
    shrink = 1 - math.exp(math.log(low / high) / n)
    return [shrink / math.log(high / low) for _ in thresholds[1:]]


def bound_at(q, p, B):
    """The integrand of the bound, as the method of order 3 has it."""
    ratio = q / p
    return p * (ratio**2 + 3 * (B - 1) * ratio**4 + (B - 1) * (B - 2) * ratio**6) / B**2


def scores(shares, thresholds):
    """The integral of (2π − 1)³ of each feature, over the thresholds."""
    out = [0.0] * len(shares[0])
    for measure, row in zip(interval_measures(thresholds), shares[:-1], strict=True):
        for j, share in enumerate(row):
            out[j] += measure * ((2 * share - 1) ** 3 if share > 0.5 else 0.0)
    return out


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
