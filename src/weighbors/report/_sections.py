"""From measurements to the plain dict of a report: strings, numbers, lists and dicts only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from .._typing import IndexArray
from ..evaluation import StabilityCurve
from ..evaluation._selections import top_selections
from ..plots.instance_map import project
from ..plots.stability_curve import chance_deviation
from ..stats import corrected_resampled_ttest, holm
from ._measure import METHODS, Effort, Folds, Whole
from ._table import Table

__all__ = ["number", "numbers", "sections"]

MOST_FEATURES = 200  # rows of the tables of features
MOST_INTERVAL_FEATURES = 12
MOST_INTERVALS = 300
MOST_INSTANCES = 15
SHOWN_VALUES = 12  # columns of the table of rows
MAP_POINTS = 1000


def number(value: Any, digits: int = 6) -> float | int | None:
    """A number for JSON: so many significant digits; None where it is not finite.

    Examples
    --------
    >>> number(1 / 3), number(float("nan")), number(np.int64(7))
    (0.333333, None, 7)
    """
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    value = float(value)
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def numbers(values: Iterable[Any], digits: int = 6) -> list[float | int | None]:
    """Numbers for JSON."""
    return [number(value, digits) for value in values]


def sections(
    full: Table, table: Table, drawn: IndexArray, effort: Effort, folds: Folds, whole: Whole, order: IndexArray
) -> dict[str, Any]:
    """Everything that was measured, by section; ``order`` puts the features, largest weight first."""
    return {
        "table": table_section(full, table),
        "features": feature_section(table, folds, order),
        "classes": class_section(table, whole, order),
        "stability": stability_section(table, folds, effort),
        "instances": instance_section(table, drawn, whole, order),
        "gain": gain_section(table, folds, effort),
        "difficulty": difficulty_section(table, whole),
        "intervals": interval_section(table, whole),
    }


def table_section(full: Table, table: Table) -> dict[str, Any]:
    """What came in, and what of it was used."""
    missing = np.isnan(full.rows)
    copies, contradicting = _twins(full)
    return {
        "n_rows": full.n,
        "n_rows_used": table.n,
        "n_features": full.n_features,
        "n_numeric": int((~full.nominal).sum()),
        "n_categorical": int(full.nominal.sum()),
        "n_missing": int(missing.sum()),
        "share_missing": number(missing.mean()),
        "n_columns_with_missing": int(missing.any(axis=0).sum()),
        "n_copies": copies,
        "n_contradicting": contradicting,
        "classes": [
            {"label": str(label), "rows": int(count), "share": number(count / full.n)}
            for label, count in zip(full.classes, full.counts, strict=True)
        ],
        "grouped": full.groups is not None,
    }


def _twins(table: Table) -> tuple[int, int]:
    """Rows that have an exact copy, and rows that have one of another class."""
    rows = np.where(np.isnan(table.rows), np.nan, table.rows) + 0.0  # one NaN, one 0
    kind = pd.factorize(np.array([row.tobytes() for row in rows], dtype=object))[0]
    counts = pd.Series(table.codes).groupby(kind)
    return int((counts.transform("size") > 1).sum()), int((counts.transform("nunique") > 1).sum())


def feature_section(table: Table, folds: Folds, order: IndexArray) -> dict[str, Any]:
    """Mean weights of the features over resamples, their spread, and what shuffled labels gave."""
    low, high = np.quantile(folds.weights, [0.1, 0.9], axis=0)
    best = min(10, max(1, table.n_features // 2))
    share = top_selections(folds.weights, best).mean(axis=0)
    missing = np.isnan(table.rows).mean(axis=0)
    above = None if folds.limit is None else folds.mean > folds.limit
    rows = [
        {
            "rank": rank,
            "name": table.names[j],
            "kind": "category" if table.nominal[j] else "number",
            "weight": number(folds.mean[j]),
            "low": number(low[j]),
            "high": number(high[j]),
            "deviation": number(folds.weights[:, j].std(ddof=1)),
            "among_best": number(share[j]),
            "above_chance": None if above is None else bool(above[j]),
            "missing": number(missing[j]),
        }
        for rank, j in enumerate(order[:MOST_FEATURES].tolist(), 1)
    ]
    return {
        "method": "ReliefF",
        "n_runs": len(folds.weights),
        "best": best,
        "chance": None if folds.limit is None else number(folds.limit),
        "n_above_chance": None if above is None else int(above.sum()),
        "n_positive": int((folds.mean > 0).sum()),
        "n_features": table.n_features,
        "rows": rows,
    }


def class_section(table: Table, whole: Whole, order: IndexArray) -> dict[str, Any]:
    """Weights per class, scaled to a largest absolute value of 1 in each, and where classes disagree."""
    largest = np.abs(whole.class_weights).max(axis=1, keepdims=True)
    scaled = np.divide(whole.class_weights, largest, out=np.zeros_like(whole.class_weights), where=largest > 0)
    spread = scaled.max(axis=0) - scaled.min(axis=0)
    opposed = (scaled.max(axis=0) > 0.05) & (scaled.min(axis=0) < -0.05)
    apart = np.argsort(-spread, kind="stable")[:10]
    by_class = np.argsort(-scaled.max(axis=0), kind="stable")[:60]
    shown = np.unique(np.concatenate([order[:60], by_class]))
    shown = shown[np.argsort(-scaled.max(axis=0)[shown], kind="stable")]
    return {
        "method": "ClassRelief",
        "labels": [str(label) for label in table.classes],
        "features": [table.names[j] for j in shown],
        "weights": [numbers(row[shown], 4) for row in scaled],
        "best": [
            [table.names[j] for j in np.argsort(-row, kind="stable")[:3] if row[j] > 0] for row in whole.class_weights
        ],
        "n_opposed": int(opposed.sum()),
        "disagree": [
            {
                "name": table.names[j],
                "most": str(table.classes[scaled[:, j].argmax()]),
                "most_weight": number(scaled[:, j].max(), 4),
                "least": str(table.classes[scaled[:, j].argmin()]),
                "least_weight": number(scaled[:, j].min(), 4),
                "opposed": bool(opposed[j]),
            }
            for j in apart.tolist()
            if spread[j] > 0
        ],
    }


def _curve(curve: StabilityCurve) -> dict[str, Any]:
    return {
        "size": numbers(curve.sizes),
        "stability": numbers(curve.stability, 4),
        "standard_error": numbers(curve.standard_error, 4),
        "tied": numbers(curve.tied, 4),
    }


def stability_section(table: Table, folds: Folds, effort: Effort) -> dict[str, Any]:
    """Whether other rows would choose the same features."""
    if folds.curve is None or folds.shuffled is None:
        return {"reason": "there is one feature, so there is nothing to choose"}
    curve = folds.curve
    best = min(10, max(1, table.n_features // 2))
    at = int(np.abs(curve.sizes - best).argmin())
    return {
        "curve": _curve(curve),
        "shuffled": _curve(folds.shuffled),
        "chance": number(1.96 * chance_deviation(table.n_features, np.bincount(curve.repetition)), 4),
        "best": int(curve.sizes[at]),
        "stability": number(curve.stability[at], 4),
        "low": number(curve.stability[at] - 1.96 * curve.standard_error[at], 4),
        "high": number(min(1.0, curve.stability[at] + 1.96 * curve.standard_error[at]), 4),
        "shuffled_stability": number(folds.shuffled.stability[at], 4),
        "mean": number(curve.mean(), 4),
        "tied": number(curve.tied[at], 4),
        "n_folds": effort.folds,
        "n_repeats": effort.repeats,
    }


def instance_section(table: Table, drawn: IndexArray, whole: Whole, order: IndexArray) -> dict[str, Any]:
    """The rows of the least weight, what their neighbours say, and the rows themselves."""
    odd = np.argsort(whole.omega, kind="stable")[:MOST_INSTANCES]
    columns = order[:SHOWN_VALUES]
    values = table.frame(columns)
    coordinates, explained = project(table.rows, table.nominal)
    some = np.unique(np.concatenate([odd, np.linspace(0, table.n - 1, min(table.n, MAP_POINTS)).astype(np.int64)]))
    return {
        "method": "MBIW",
        "lowest": [
            {
                "row": int(drawn[i]),
                "label": table.row_labels[i],
                "class": str(table.classes[table.codes[i]]),
                "weight": number(whole.omega[i], 4),
                "own_share": number(whole.own_share[i], 4),
                "neighbors_say": str(table.classes[whole.predicted[i]]),
                "kind": "noisy" if whole.own_share[i] < 0.5 else "outlying",
                "values": [_cell(value) for value in values.iloc[i]],
            }
            for i in odd.tolist()
        ],
        "columns": [table.names[j] for j in columns],
        "least": number(whole.omega.min(), 4),
        "median": number(np.median(whole.omega), 4),
        "largest": number(whole.omega.max(), 4),
        "n_alone": int((whole.own_share == 0).sum()),
        "map": {
            "x": numbers(coordinates[some, 0], 3),
            "y": numbers(coordinates[some, 1], 3),
            "weight": numbers(whole.omega[some], 3),
            "class": table.codes[some].tolist(),
            "row": drawn[some].tolist(),
            "explained": numbers(explained, 3),
        },
    }


def _cell(value: Any) -> Any:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return number(value, 4) if isinstance(value, (int, float, np.number)) else str(value)


def gain_section(table: Table, folds: Folds, effort: Effort) -> dict[str, Any]:
    """k-NN without and with weights on rows it did not learn from, with a paired test."""
    counts = table.counts[table.counts > 0]
    measure = "balanced accuracy" if counts.max() > 3 * counts.min() else "accuracy"
    scores = folds.balanced if measure == "balanced accuracy" else folds.accuracy
    rows = []
    for name in ("most frequent class", *METHODS):
        rows.append(
            {
                "method": name,
                "accuracy": number(folds.accuracy[name].mean(), 5),
                "accuracy_deviation": number(folds.accuracy[name].std(ddof=1), 5),
                "balanced_accuracy": number(folds.balanced[name].mean(), 5),
                "balanced_accuracy_deviation": number(folds.balanced[name].std(ddof=1), 5),
            }
        )
    tests = [corrected_resampled_ttest(scores[name], scores[METHODS[0]], n_folds=effort.folds) for name in METHODS[1:]]
    adjusted = holm([test.p_value for test in tests])
    from scipy.stats import t as student

    compared = [
        {
            "method": name,
            "against": METHODS[0],
            "difference": number(test.mean_difference, 5),
            "low": number(test.mean_difference - student.ppf(0.975, test.df) * test.standard_error, 5),
            "high": number(test.mean_difference + student.ppf(0.975, test.df) * test.standard_error, 5),
            "t": number(test.statistic, 4),
            "p": number(test.p_value, 4),
            "p_holm": number(p, 4),
            "note": test.note,
        }
        for name, test, p in zip(METHODS[1:], tests, adjusted, strict=True)
    ]
    return {
        "measure": measure,
        "n_folds": effort.folds,
        "n_repeats": effort.repeats,
        "rows": rows,
        "tests": compared,
        "test": "corrected resampled t-test (Nadeau and Bengio), two-sided; Holm over the two comparisons",
    }


def difficulty_section(table: Table, whole: Whole) -> dict[str, Any]:
    """Whether the classes agree on what matters."""
    return {
        "agreement": number(whole.agreement, 4),
        "classes": [
            {
                "label": str(label),
                "correlation": number(whole.correlations[c], 4),
                "reason": whole.agreement_reasons.get(c, ""),
            }
            for c, label in enumerate(table.classes)
        ],
    }


def interval_section(table: Table, whole: Whole) -> dict[str, Any]:
    """Representative intervals of the discrete features."""
    if whole.intervals is None:
        return {"reason": "no feature is discrete (categories, or at most 20 different whole numbers)"}
    frame = whole.intervals
    found, kept = len(frame), int(frame["kept"].sum())
    order = np.lexsort(
        (-frame["magnitude"], -frame["weight"].fillna(-1.0), ~frame["kept"])
    )  # those that tell most first
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
                "low": _cell(low),
                "high": _cell(high),
                "rows": number(magnitude),
                "weight": number(weight, 4),
                "kept": bool(kept),
            }
            for label, feature, low, high, magnitude, weight, kept in zip(
                *(frame[name] for name in ("class", "feature", "low", "high", "magnitude", "weight", "kept")),
                strict=True,
            )
        ],
    }
