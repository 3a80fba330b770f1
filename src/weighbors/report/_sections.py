"""The sections of a report as a plain dict of strings, numbers, lists and dicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .._typing import BoolArray, FloatArray, IndexArray
from ..evaluation import PermutationResult, StabilityCurve
from ..evaluation.curve import chance_deviation
from ..evaluation.selections import top_selections
from ._data import ReportData
from ._effort import Effort
from ._measure import FoldResults, WholeTableResults
from ._plain import json_number, json_numbers, shown_cell
from ._sections_gain import gain_section
from ._sections_rows import instance_section

MOST_FEATURES = 200  # number of rows in the tables of features
MOST_INTERVAL_FEATURES = 12
MOST_INTERVALS = 300


def build_sections(
    full: ReportData,
    table: ReportData,
    drawn: IndexArray,
    effort: Effort,
    folds: FoldResults,
    chance: PermutationResult | None,
    whole: WholeTableResults,
    order: IndexArray,
) -> dict[str, Any]:
    """Return the sections of the report as a dict, by name.

    ``full`` is the whole table. ``table`` is the sample that was used, and ``drawn`` are the numbers of its rows in the
    whole table. ``order`` holds the column numbers, largest weight first. ``chance`` is the permutation test, or None.
    """
    return {
        "table": table_section(full, table),
        "features": feature_section(table, folds, chance, order),
        "classes": class_section(table, whole, order, None if chance is None else chance.adjusted <= chance.level),
        "stability": stability_section(table, folds, effort),
        "instances": instance_section(table, drawn, whole, order),
        "gain": gain_section(table, folds, effort),
        "difficulty": difficulty_section(table, whole),
        "intervals": interval_section(table, whole),
    }


def table_section(full: ReportData, table: ReportData) -> dict[str, Any]:
    """Return a description of the whole table, and how many of its rows were used."""
    missing = np.isnan(full.rows)
    copies, contradicting = _count_copies(full)
    return {
        "n_rows": full.n,
        "n_rows_used": table.n,
        "n_features": full.n_features,
        "n_numeric": int((~full.nominal).sum()),
        "n_categorical": int(full.nominal.sum()),
        "n_missing": int(missing.sum()),
        "share_missing": json_number(missing.mean()),
        "n_columns_with_missing": int(missing.any(axis=0).sum()),
        "n_copies": copies,
        "n_contradicting": contradicting,
        "classes": [
            {"label": str(label), "rows": int(count), "share": json_number(count / full.n)}
            for label, count in zip(full.classes, full.counts, strict=True)
        ],
        "grouped": full.groups is not None,
    }


def _count_copies(table: ReportData) -> tuple[int, int]:
    """Return how many rows have an exact copy, and how many rows have a copy with another target."""
    rows = (
        np.where(np.isnan(table.rows), np.nan, table.rows) + 0.0
    )  # NaN and 0 have several bit patterns. This leaves one of each, so that bytes can be compared
    kind = pd.factorize(np.array([row.tobytes() for row in rows], dtype=object))[0]
    counts = pd.Series(table.y).groupby(kind)
    return int((counts.transform("size") > 1).sum()), int((counts.transform("nunique") > 1).sum())


def feature_section(
    table: ReportData, folds: FoldResults, chance: PermutationResult | None, order: IndexArray
) -> dict[str, Any]:
    """Return the mean feature weights over the folds, their spread, and the result of the permutation test."""
    # Folds with unusual rows give extreme weights, so the middle 80 % is shown and not the whole range.
    low, high = np.quantile(folds.weights, [0.1, 0.9], axis=0)
    best = min(10, max(1, table.n_features // 2))
    share = top_selections(folds.weights, best).mean(axis=0)
    missing = np.isnan(table.rows).mean(axis=0)
    ranks, ties = rank_with_ties(folds.mean[order])
    rows = [
        {
            "rank": int(ranks[place]),
            "tied": int(ties[place]),
            "name": table.names[j],
            "kind": "category" if table.nominal[j] else "number",
            "weight": json_number(folds.mean[j]),
            "low": json_number(low[j]),
            "high": json_number(high[j]),
            "deviation": json_number(folds.weights[:, j].std(ddof=1)),
            "among_best": json_number(share[j]),
            **_test_of_feature(chance, j),
            "missing": json_number(missing[j]),
        }
        for place, j in enumerate(order[:MOST_FEATURES].tolist())
    ]
    return {
        "method": "RReliefF" if table.numeric else "ReliefF",
        "n_runs": len(folds.weights),
        "best": best,
        "test": None if chance is None else _describe_test(chance),
        "n_positive": int((folds.mean > 0).sum()),
        "n_features": table.n_features,
        "rows": rows,
    }


def rank_with_ties(values: FloatArray) -> tuple[IndexArray, IndexArray]:
    """Return the rank of each of the values, largest first, and with how many others it is tied.

    ``values`` must be sorted, largest first. Equal values have the same rank.

    Examples
    --------
    >>> rank_with_ties(np.array([5.0, 2.0, 2.0, 1.0]))
    (array([1, 2, 2, 4]), array([0, 1, 1, 0]))
    """
    # Sums in another order can differ in the last digits.
    begins = np.append(True, ~np.isclose(values[1:], values[:-1], rtol=1e-9, atol=1e-12))
    group = np.cumsum(begins) - 1
    return np.flatnonzero(begins)[group] + 1, np.bincount(group)[group] - 1


def _test_of_feature(chance: PermutationResult | None, j: int) -> dict[str, Any]:
    """Return the result of the permutation test for feature ``j``. If there was no test, all values are None."""
    if chance is None:
        return dict.fromkeys(("p", "p_adjusted", "p_familywise", "above_chance"))
    return {
        "p": json_number(chance.p_values[j], 4),
        "p_adjusted": json_number(chance.adjusted[j], 4),
        "p_familywise": json_number(chance.familywise[j], 4),
        "above_chance": bool(chance.adjusted[j] <= chance.level),
    }


def _describe_test(chance: PermutationResult) -> dict[str, Any]:
    """Return how the permutation test was done, and how many features have a larger weight than expected by chance."""
    return {
        "n_permutations": chance.n_permutations,
        "scheme": chance.scheme,
        "level": chance.level,
        "n_above_chance": len(chance.discoveries()),
        "n_familywise": len(chance.familywise_discoveries()),
    }


def class_section(
    table: ReportData, whole: WholeTableResults, order: IndexArray, above_chance: BoolArray | None = None
) -> dict[str, Any]:
    """Return the weights per class, and the features on which classes disagree.

    The weights of each class are scaled so that the largest absolute weight is 1. ``above_chance`` says which features
    the permutation test found, or is None without a test. Only these are counted in ``n_opposed``.
    """
    # The sums of RELIEF grow with the size of a class. After scaling, classes can be compared.
    largest = np.abs(whole.class_weights).max(axis=1, keepdims=True)
    scaled = np.divide(whole.class_weights, largest, out=np.zeros_like(whole.class_weights), where=largest > 0)
    spread = scaled.max(axis=0) - scaled.min(axis=0)
    # A weight near 0 may have any sign by chance, so small weights do not count as opposed.
    opposed = (scaled.max(axis=0) > 0.05) & (scaled.min(axis=0) < -0.05)
    apart = np.argsort(-spread, kind="stable")[:10]
    by_class = np.argsort(-scaled.max(axis=0), kind="stable")[:60]
    shown = np.unique(np.concatenate([order[:60], by_class]))
    shown = shown[np.argsort(-scaled.max(axis=0)[shown], kind="stable")]
    return {
        "method": "ClassRelief",
        "labels": [str(label) for label in table.classes],
        "features": [table.names[j] for j in shown],
        "weights": [json_numbers(row[shown], 4) for row in scaled],
        "best": [
            [table.names[j] for j in np.argsort(-row, kind="stable")[:3] if row[j] > 0] for row in whole.class_weights
        ],
        # Of thousands of features that do not matter, many have weights of both signs.
        "n_opposed": int((opposed if above_chance is None else opposed & above_chance).sum()),
        "disagree": [
            {
                "name": table.names[j],
                "most": str(table.classes[scaled[:, j].argmax()]),
                "most_weight": json_number(scaled[:, j].max(), 4),
                "least": str(table.classes[scaled[:, j].argmin()]),
                "least_weight": json_number(scaled[:, j].min(), 4),
                "opposed": bool(opposed[j]),
            }
            for j in apart.tolist()
            if spread[j] > 0
        ],
    }


def _curve(curve: StabilityCurve) -> dict[str, Any]:
    """Return a stability curve as plain lists."""
    return {
        "size": json_numbers(curve.sizes),
        "stability": json_numbers(curve.stability, 4),
        "standard_error": json_numbers(curve.standard_error, 4),
        "tied": json_numbers(curve.tied, 4),
    }


def stability_section(table: ReportData, folds: FoldResults, effort: Effort) -> dict[str, Any]:
    """Return the stability of the selected features over the folds, or a reason if there is only one feature."""
    if folds.curve is None or folds.shuffled is None:
        return {"reason": "there is one feature, so there is nothing to choose"}
    curve = folds.curve
    best = min(10, max(1, table.n_features // 2))
    # A curve of many features does not contain every size. The nearest size is described.
    at = int(np.abs(curve.sizes - best).argmin())
    real, other = curve.stability[at], folds.shuffled.stability[at]
    # Both curves come from different labels, so their errors are independent.
    error = float(np.hypot(curve.standard_error[at], folds.shuffled.standard_error[at]))
    return {
        "curve": _curve(curve),
        "shuffled": _curve(folds.shuffled),
        "chance": json_number(1.96 * chance_deviation(table.n_features, np.bincount(curve.repetition)), 4),
        "best": int(curve.sizes[at]),
        "stability": json_number(curve.stability[at], 4),
        "low": json_number(curve.stability[at] - 1.96 * curve.standard_error[at], 4),
        "high": json_number(min(1.0, curve.stability[at] + 1.96 * curve.standard_error[at]), 4),
        "shuffled_stability": json_number(other, 4),
        "above_shuffled": json_number(real - other, 4),
        "above_shuffled_low": json_number(real - other - 1.96 * error, 4),
        "above_shuffled_high": json_number(real - other + 1.96 * error, 4),
        "n_shuffles": effort.shuffles,
        "mean": json_number(curve.mean(), 4),
        "tied": json_number(curve.tied[at], 4),
        "n_folds": effort.folds,
        "n_repeats": effort.repeats,
    }


def difficulty_section(table: ReportData, whole: WholeTableResults) -> dict[str, Any]:
    """Return how far the classes agree on the importance of features."""
    return {
        "agreement": json_number(whole.agreement, 4),
        "classes": [
            {
                "label": str(label),
                "correlation": json_number(whole.correlations[c], 4),
                "reason": whole.agreement_reasons.get(c, ""),
            }
            for c, label in enumerate(table.classes)
        ],
    }


def interval_section(table: ReportData, whole: WholeTableResults) -> dict[str, Any]:
    """Return the representative intervals of discrete features, or a reason if no feature is discrete."""
    if whole.intervals is None:
        return {"reason": "no feature is discrete (categories, or at most 20 different whole numbers)"}
    frame = whole.intervals
    found, kept = len(frame), int(frame["kept"].sum())
    order = np.lexsort(
        (-frame["magnitude"], -frame["weight"].fillna(-1.0), ~frame["kept"])
    )  # kept intervals first, then by weight and size
    frame = frame.iloc[order[:MOST_INTERVALS]]
    return {
        "features": [table.names[j] for j in whole.interval_columns],
        "n_found": found,
        "n_kept": kept,
        "n_telling": int((whole.intervals["weight"] > 0).sum()),
        "rows": [
            {
                "feature": str(feature),
                "class": str(label),
                "low": shown_cell(low),
                "high": shown_cell(high),
                "rows": json_number(magnitude),
                "weight": json_number(weight, 4),
                "kept": bool(kept),
                "counts": counts,
            }
            for label, feature, low, high, magnitude, weight, kept, counts in zip(
                *(frame[name] for name in ("class", "feature", "low", "high", "magnitude", "weight", "kept")),
                _count_in_intervals(table, frame),
                strict=True,
            )
        ],
    }


def _count_in_intervals(table: ReportData, frame: pd.DataFrame) -> list[list[int]]:
    """Return for each interval of ``frame`` how many rows of each class have a value in it."""
    place = {name: j for j, name in enumerate(table.names)}
    columns = np.array([place[str(name)] for name in frame["feature"]], dtype=np.int64)
    values = table.frame(np.unique(columns))
    found = []
    for name, low, high in zip(frame["feature"], frame["low"], frame["high"], strict=True):
        column = values[str(name)]
        # Each category is an interval of its own, so both ends are the same category.
        inside = (column == low) if table.nominal[place[str(name)]] else (column >= low) & (column <= high)
        found.append(np.bincount(table.codes[inside.to_numpy(dtype=bool)], minlength=len(table.classes)).tolist())
    return found
