"""The section "The list": the selected features with their q-values, stand-ins and directions, and the list's score."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._names import shorten_name
from .._typing import BoolArray, FloatArray
from ._data import ReportData
from ._effort import Effort
from ._list import TARGET_FDR, ListResults
from ._measure import FoldResults
from ._measure_numbers import rank_correlation
from ._plain import json_number, json_numbers
from ._sections_gain import compare_methods, measure_name

MOST_LISTED = 200
#: If the list is empty, this many features with the smallest q-values are shown.
NEAREST = 5
MOST_STAND_INS = 10


def list_section(table: ReportData, found: ListResults, folds: FoldResults, effort: Effort) -> dict[str, Any]:
    """Return the list of features with the score of the list alone, or the reason why there is none."""
    settings = {
        "method": "StabilitySelection",
        "weigher": "F-statistic",
        "target_fdr": TARGET_FDR,
        "n_pairs": effort.pairs,
        "n_fold_pairs": effort.fold_pairs,
        "n_permutations": effort.list_permutations,
    }
    if found.selection is None or found.groups is None:
        return {**settings, "reason": found.reason, "n_selected": 0, "rows": [], "nearest": []}
    selected = int(found.selection.support_.sum())
    groups = _number_groups(found, selected)
    return {
        **settings,
        "weigher": "F-statistic" if found.selection.weigher_.offset is None else "F-statistic with an offset",
        "n_selected": selected,
        "least_q": json_number(found.selection.q_values_.min(), 3),
        "rows": [
            _describe_feature(table, found, j, groups) for j in found.order[: min(selected, MOST_LISTED)].tolist()
        ],
        "nearest": [
            _describe_feature(table, found, j, groups) for j in found.order[: 0 if selected else NEAREST].tolist()
        ],
        "n_groups": len(set(groups.values())),
        "n_compared": len(found.compared),
        "similarity": json_number(found.groups.threshold, 3),
        "score": _describe_score(table, found, folds, effort),
    }


def _number_groups(found: ListResults, selected: int) -> dict[int, int]:
    """Return the group of each listed column, numbered from 1 in the order of the list."""
    assert found.groups is not None
    place = dict(zip(found.compared.tolist(), found.groups.groups.tolist(), strict=True))
    numbers: dict[int, int] = {}
    return {j: numbers.setdefault(place[j], len(numbers) + 1) for j in found.order[:selected].tolist()}


def _describe_feature(table: ReportData, found: ListResults, j: int, groups: dict[int, int]) -> dict[str, Any]:
    """Return what is known of column ``j``. ``groups`` are the groups of the listed columns."""
    selection, redundancy = found.selection, found.groups
    assert selection is not None
    assert redundancy is not None
    own = redundancy.groups[np.searchsorted(found.compared, j)]
    similar = [i for i in found.compared[redundancy.groups == own].tolist() if i != j]
    return {
        "name": table.names[j],
        "kind": "category" if table.nominal[j] else "number",
        "weight": json_number(selection.feature_weights_[j], 4),
        "q": json_number(selection.q_values_[j], 3),
        "share": json_number(selection.shares_[j], 3),
        "group": groups.get(j),
        "stand_ins": [table.names[i] for i in similar[:MOST_STAND_INS]],
        "n_stand_ins": len(similar),
        **describe_direction(table, j),
    }


def describe_direction(table: ReportData, j: int) -> dict[str, Any]:
    """Return in which direction column ``j`` goes with the target: a text, and a number per class.

    The number per class is the mean of the class in standard deviations from the mean of all rows. Categories have
    none. For a numeric target it is the rank correlation, alone.
    """
    known = ~np.isnan(table.rows[:, j])
    if table.nominal[j]:
        return {"direction": _direction_of_category(table, j, known), "by_class": None}
    values = table.rows[known, j]
    if not len(values) or np.ptp(values) == 0:
        return {"direction": "constant", "by_class": None}
    if table.numeric:
        rho = rank_correlation(table, j)
        sign = "rises" if rho > 0 else "falls"
        text = "not known" if np.isnan(rho) else f"{sign} with the target (rank ρ {_signed(rho)})"
        return {"direction": text, "by_class": None}
    means = class_means(table, j, known)
    high, low = np.nanargmax(means), np.nanargmin(means)
    names = [shorten_name(table.classes[c], 24) for c in (high, low)]
    text = f"high in {names[0]} ({_signed(means[high])}), low in {names[1]} ({_signed(means[low])})"
    return {"direction": text, "by_class": json_numbers(means, 3)}


def class_means(table: ReportData, j: int, known: BoolArray) -> FloatArray:
    """Return the mean of each class in standard deviations from the mean of all rows. NaN for classes without values.

    ``known`` marks the rows in which column ``j`` has a value.
    """
    # Squares of huge numbers overflow, so the column is scaled to the range 0 to 1 first.
    values, codes = table.scaled[known, j], table.codes[known]
    scaled = (values - values.mean()) / values.std()
    counts = np.bincount(codes, minlength=len(table.classes))
    sums = np.bincount(codes, weights=scaled, minlength=len(table.classes))
    return np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)


def _direction_of_category(table: ReportData, j: int, known: BoolArray) -> str:
    """Return which category goes with which class, or with high and low targets. ``known`` marks rows with a value."""
    codes = table.rows[known, j].astype(np.int64)
    present = np.unique(codes)
    if len(present) < 2:
        return "constant"
    labels = [shorten_name(table.categories[j][code], 24) if j in table.categories else str(code) for code in present]
    if table.numeric:
        means = np.array([table.y[known][codes == code].mean() for code in present])
        high, low = int(means.argmax()), int(means.argmin())
        return f"mean target {means[high]:.4g} with {labels[high]}, {means[low]:.4g} with {labels[low]}"
    y = table.codes[known]
    inside, outside = (
        np.array([[np.mean(codes[mask] == code) if mask.any() else 0.0 for code in present] for mask in masks])
        for masks in ([y == c for c in range(len(table.classes))], [y != c for c in range(len(table.classes))])
    )
    c, at = np.unravel_index(int((inside - outside).argmax()), inside.shape)
    name = shorten_name(table.classes[c], 24)
    return f"{labels[at]} in {100 * inside[c, at]:.0f} % of {name}, in {100 * outside[c, at]:.0f} % of the others"


def _signed(value: float) -> str:
    """Return a number with its sign and two decimals."""
    return f"{value:+.2f}".replace("-", "−")


def _describe_score(table: ReportData, found: ListResults, folds: FoldResults, effort: Effort) -> dict[str, Any]:
    """Return the score of the list alone beside that of all features on the same folds, with a paired test."""
    if not found.scores:
        return {"reason": "a training part has too few rows for two half samples with every class"}
    measure = measure_name(table)
    key = "r2" if table.numeric else measure
    first = folds.repetition == 0
    scores = {
        "all features": folds.scores[key]["no weights"][first],
        "the list": found.scores[key],
        "no feature": folds.scores[key]["mean" if table.numeric else "most frequent class"][first],
    }
    return {
        "measure": measure,
        "n_folds": effort.folds,
        **{name.replace(" ", "_"): json_number(values.mean(), 5) for name, values in scores.items()},
        "test": compare_methods(scores, ["all features", "the list"], effort.folds, {})[0],
        "sizes": found.sizes,
        "n_empty": sum(size == 0 for size in found.sizes),
    }
