"""The sections of a report as a plain dict of strings, numbers, lists and dicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .._typing import FloatArray, IndexArray
from ..evaluation import PermutationResult, StabilityCurve
from ..evaluation.curve import chance_deviation
from ..evaluation.projection import project
from ..evaluation.selections import top_selections
from ..stats import corrected_resampled_ttest, holm
from ._data import ReportData
from ._effort import Effort
from ._measure import METHODS, FoldResults, WholeTableResults

__all__ = [
    "MAP_POINTS",
    "MOST_INSTANCES",
    "SHOWN_VALUES",
    "build_sections",
    "compare_methods",
    "feature_section",
    "json_number",
    "json_numbers",
    "shown_cell",
    "stability_section",
    "table_section",
]

MOST_FEATURES = 200  # number of rows in the tables of features
MOST_INTERVAL_FEATURES = 12
MOST_INTERVALS = 300
MOST_INSTANCES = 15
SHOWN_VALUES = 12  # number of feature columns in the table of rows
MAP_POINTS = 1000


def json_number(value: Any, digits: int = 6) -> float | int | None:
    """Return a number rounded to ``digits`` significant digits for JSON, or None if it is not finite.

    Integers are not rounded.

    Examples
    --------
    >>> json_number(1 / 3), json_number(float("nan")), json_number(np.int64(7))
    (0.333333, None, 7)
    """
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    value = float(value)
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def json_numbers(values: Iterable[Any], digits: int = 6) -> list[float | int | None]:
    """Return a list of numbers for JSON. See `json_number`."""
    return [json_number(value, digits) for value in values]


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
        "classes": class_section(table, whole, order),
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
    rows = [
        {
            "rank": rank,
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
        for rank, j in enumerate(order[:MOST_FEATURES].tolist(), 1)
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


def class_section(table: ReportData, whole: WholeTableResults, order: IndexArray) -> dict[str, Any]:
    """Return the weights per class, and the features on which classes disagree.

    The weights of each class are scaled so that the largest absolute weight is 1.
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
        "n_opposed": int(opposed.sum()),
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
    return {
        "curve": _curve(curve),
        "shuffled": _curve(folds.shuffled),
        "chance": json_number(1.96 * chance_deviation(table.n_features, np.bincount(curve.repetition)), 4),
        "best": int(curve.sizes[at]),
        "stability": json_number(curve.stability[at], 4),
        "low": json_number(curve.stability[at] - 1.96 * curve.standard_error[at], 4),
        "high": json_number(min(1.0, curve.stability[at] + 1.96 * curve.standard_error[at]), 4),
        "shuffled_stability": json_number(folds.shuffled.stability[at], 4),
        "mean": json_number(curve.mean(), 4),
        "tied": json_number(curve.tied[at], 4),
        "n_folds": effort.folds,
        "n_repeats": effort.repeats,
    }


def instance_section(
    table: ReportData, drawn: IndexArray, whole: WholeTableResults, order: IndexArray
) -> dict[str, Any]:
    """Return the rows with the smallest instance weights, with the classes of their neighbours, and a map of rows."""
    odd = np.argsort(whole.omega, kind="stable")[:MOST_INSTANCES]
    columns = order[:SHOWN_VALUES]
    values = table.frame(columns)
    coordinates, explained = project(table.rows, table.nominal)
    # The map shows evenly spaced rows, and the rows with the smallest weights.
    some = np.unique(np.concatenate([odd, np.linspace(0, table.n - 1, min(table.n, MAP_POINTS)).astype(np.int64)]))
    return {
        "method": "MBIW",
        "lowest": [
            {
                "row": int(drawn[i]),
                "label": table.row_labels[i],
                "class": str(table.classes[table.codes[i]]),
                "weight": json_number(whole.omega[i], 4),
                "own_share": json_number(whole.own_share[i], 4),
                "neighbors_say": str(table.classes[whole.predicted[i]]),
                "kind": "noisy" if whole.own_share[i] < 0.5 else "outlying",
                "values": [shown_cell(value) for value in values.iloc[i]],
            }
            for i in odd.tolist()
        ],
        "columns": [table.names[j] for j in columns],
        "least": json_number(whole.omega.min(), 4),
        "median": json_number(np.median(whole.omega), 4),
        "largest": json_number(whole.omega.max(), 4),
        "n_alone": int((whole.own_share == 0).sum()),
        "map": {
            "x": json_numbers(coordinates[some, 0], 3),
            "y": json_numbers(coordinates[some, 1], 3),
            "weight": json_numbers(whole.omega[some], 3),
            "class": table.codes[some].tolist(),
            "row": drawn[some].tolist(),
            "explained": json_numbers(explained, 3),
        },
    }


def shown_cell(value: Any) -> Any:
    """Return a cell of the table as a rounded number, as text, or as None if it is missing."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return json_number(value, 4) if isinstance(value, (int, float, np.number)) else str(value)


def gain_section(table: ReportData, folds: FoldResults, effort: Effort) -> dict[str, Any]:
    """Return the scores of the k-NN without and with weights on the test parts of the folds, with paired tests."""
    counts = table.counts[table.counts > 0]
    # If the sizes of classes are very different, accuracy is high for models that predict only the largest class.
    measure = "balanced accuracy" if counts.max() > 3 * counts.min() else "accuracy"
    scores = folds.scores[measure]
    rows = []
    for name in ("most frequent class", *METHODS):
        rows.append(
            {
                "method": name,
                **_mean_and_deviation("accuracy", folds.scores["accuracy"][name]),
                **_mean_and_deviation("balanced_accuracy", folds.scores["balanced accuracy"][name]),
            }
        )
    compared = compare_methods(scores, METHODS, effort.folds)
    return {
        "measure": measure,
        "n_folds": effort.folds,
        "n_repeats": effort.repeats,
        "rows": rows,
        "tests": compared,
        "test": "corrected resampled t-test (Nadeau and Bengio), two-sided; Holm over the two comparisons",
    }


def _mean_and_deviation(name: str, values: FloatArray) -> dict[str, Any]:
    """Return the mean and the standard deviation of a score over the runs, for one row of the table of scores."""
    return {name: json_number(values.mean(), 5), f"{name}_deviation": json_number(values.std(ddof=1), 5)}


def compare_methods(scores: dict[str, FloatArray], methods: Sequence[str], n_folds: int) -> list[dict[str, Any]]:
    """Return paired tests of every method against the first one, with 95 % intervals of the differences.

    ``scores`` holds the scores of all runs by method. ``n_folds`` is the number of folds of a repetition.
    """
    from scipy.stats import t as student

    tests = [corrected_resampled_ttest(scores[name], scores[methods[0]], n_folds=n_folds) for name in methods[1:]]
    # Several comparisons are made with the same baseline, so their p-values are adjusted.
    adjusted = holm([test.p_value for test in tests])
    return [
        {
            "method": name,
            "against": methods[0],
            "difference": json_number(test.mean_difference, 5),
            "low": json_number(test.mean_difference - student.ppf(0.975, test.df) * test.standard_error, 5),
            "high": json_number(test.mean_difference + student.ppf(0.975, test.df) * test.standard_error, 5),
            "t": json_number(test.statistic, 4),
            "p": json_number(test.p_value, 4),
            "p_holm": json_number(p, 4),
            "note": test.note,
        }
        for name, test, p in zip(methods[1:], tests, adjusted, strict=True)
    ]


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
            }
            for label, feature, low, high, magnitude, weight, kept in zip(
                *(frame[name] for name in ("class", "feature", "low", "high", "magnitude", "weight", "kept")),
                strict=True,
            )
        ],
    }
