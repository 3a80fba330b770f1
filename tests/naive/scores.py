"""The F-statistic with an offset, one column at a time, in loops."""

import math


def quantile(values, share):
    """Return the quantile of some numbers, between neighbours by a straight line."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def class_variances(column, labels):
    """Return the variances between and within classes of one column; NaN is left out."""
    pairs = [(x, label) for x, label in zip(column, labels, strict=True) if not math.isnan(x)]
    classes = sorted({label for _, label in pairs})
    mean = sum(x for x, _ in pairs) / len(pairs)
    between = within = 0.0
    for label in classes:
        own = [x for x, other in pairs if other == label]
        own_mean = sum(own) / len(own)
        between += len(own) * (own_mean - mean) ** 2
        within += sum((x - own_mean) ** 2 for x in own)
    return between / (len(classes) - 1), within / (len(pairs) - len(classes))


def regression_variances(column, target):
    """Return the variances of one column that the regression on the target explains and leaves; NaN is left out."""
    pairs = [(x, t) for x, t in zip(column, target, strict=True) if not math.isnan(x)]
    x_mean = sum(x for x, _ in pairs) / len(pairs)
    t_mean = sum(t for _, t in pairs) / len(pairs)
    slope = sum((x - x_mean) * (t - t_mean) for x, t in pairs) / sum((t - t_mean) ** 2 for _, t in pairs)
    fitted = [x_mean + slope * (t - t_mean) for _, t in pairs]
    explained = sum((one - x_mean) ** 2 for one in fitted)
    left = sum((x - one) ** 2 for (x, _), one in zip(pairs, fitted, strict=True))
    return explained, left / (len(pairs) - 2)


def moderated_f(columns, target, *, numeric, share=0.75):
    """Return the scores of all columns."""
    parts = [(regression_variances if numeric else class_variances)(column, target) for column in columns]
    deviations = [math.sqrt(within) for _, within in parts]
    offset, low, high = (quantile(deviations, one) for one in (share, 0.05, 0.95))
    scores = []
    for (between, within), deviation in zip(parts, deviations, strict=True):
        bounded = min(max(deviation, low), high)
        scores.append(between / within * (bounded / (bounded + offset)) ** 2)
    return scores
