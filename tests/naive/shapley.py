"""Shapley values of features by their definition: the mean gain over all orders of the features."""

from itertools import permutations

import numpy as np


def feature_values(score, query, backgrounds, groups):
    """Mean over orders and background rows of the change when a group of columns takes the values of the query.

    ``groups`` are lists of columns. ``score`` takes one row and returns a vector.
    """
    orders = list(permutations(range(len(groups))))
    values = [0.0] * len(groups)
    for background in backgrounds:
        for order in orders:
            row = np.array(background, copy=True)
            last = score(row)
            for group in order:
                row = row.copy()
                row[groups[group]] = query[groups[group]]
                now = score(row)
                values[group] = values[group] + (now - last) / len(orders) / len(backgrounds)
                last = now
    return np.array(values)
