"""The sections of a report on a numeric target that differ from those of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import FloatArray, IndexArray
from ..evaluation import PermutationResult
from ..stats import corrected_resampled_ttest
from ._data import ReportData
from ._effort import Effort
from ._measure import FoldResults
from ._measure_numbers import NUMBER_METHODS, WholeNumbers
from ._plain import json_number, json_numbers, shown_cell
from ._sections import feature_section, stability_section, table_section
from ._sections_gain import compare_methods, describe_comparisons, merge_methods
from ._sections_rows import MOST_INSTANCES, MOST_SUSPECT, SHOWN_VALUES, describe_map, shown_points

#: Why sections of reports on classes are missing.
NO_CLASSES = "the target is a number, so there are no classes"


def build_number_sections(
    full: ReportData,
    table: ReportData,
    drawn: IndexArray,
    effort: Effort,
    folds: FoldResults,
    chance: PermutationResult | None,
    whole: WholeNumbers,
    order: IndexArray,
) -> dict[str, Any]:
    """Return the sections of a report on a numeric target, by name. The parameters are as in `build_sections`.

    Sections that need classes hold only the reason why they are missing.
    """
    features = feature_section(table, folds, chance, order)
    for row, j in zip(features["rows"], order.tolist(), strict=False):
        row["correlation"] = json_number(whole.correlations[j], 4)
    return {
        "table": {**table_section(full, table), "target": _describe_target(full)},
        "features": features,
        "classes": {"reason": NO_CLASSES, "labels": []},
        "stability": stability_section(table, folds, effort),
        "instances": residual_section(table, drawn, whole, order),
        "gain": number_gain_section(folds, effort),
        "difficulty": {"reason": NO_CLASSES},
        "intervals": {"reason": NO_CLASSES},
    }


def _describe_target(table: ReportData) -> dict[str, Any]:
    """Return the range, mean, median and standard deviation of the numeric target."""
    y = table.numbers
    assert y is not None
    names = ("least", "largest", "mean", "median", "deviation")
    values = (y.min(), y.max(), y.mean(), np.median(y), y.std(ddof=1))
    return {**dict(zip(names, map(json_number, values), strict=True)), "n_distinct": len(np.unique(y))}


def residual_section(table: ReportData, drawn: IndexArray, whole: WholeNumbers, order: IndexArray) -> dict[str, Any]:
    """Return the rows that their neighbours predict worst, and a map of rows.

    ``drawn`` are the numbers of the rows in the whole table, and ``order`` holds the columns, largest weight first.
    """
    y, size = table.y, np.abs(whole.residuals)
    spread = float(y.std(ddof=1))
    far = int((size > 2 * spread).sum())
    # All rows that the summary mentions are listed.
    odd = np.argsort(-size, kind="stable")[: max(MOST_INSTANCES, min(far, MOST_SUSPECT))]
    columns = order[:SHOWN_VALUES]
    values = table.frame(columns)
    some = shown_points(table, odd)
    return {
        "method": "leave-one-out residuals",
        "lowest": [
            {
                "row": int(drawn[i]),
                "label": table.row_labels[i],
                "target": json_number(y[i]),
                "predicted": json_number(whole.predicted[i], 5),
                "residual": json_number(whole.residuals[i], 4),
                "in_deviations": json_number(whole.residuals[i] / spread, 3),
                "values": [shown_cell(value) for value in values.iloc[i]],
            }
            for i in odd.tolist()
        ],
        "columns": [table.names[j] for j in columns],
        "median": json_number(np.median(size), 4),
        "largest": json_number(size.max(), 4),
        "n_far": far,
        "map": {
            **describe_map(table, drawn, odd),
            "residual": json_numbers(size[some], 3),
            "target": json_numbers(y[some], 4),
        },
    }


def number_gain_section(folds: FoldResults, effort: Effort) -> dict[str, Any]:
    """Return R², RMSE and MAE of all methods on the test parts, with intervals of R² and paired tests."""
    scores = folds.scores["r2"]
    rows = [
        {
            "method": name,
            "same": same,
            **_interval(scores[name], effort.folds),
            "rmse": json_number(folds.scores["rmse"][name].mean(), 5),
            "mae": json_number(folds.scores["mae"][name].mean(), 5),
        }
        for name, same in {"mean": [], **merge_methods(NUMBER_METHODS, folds.same)}.items()
    ]
    compared = compare_methods(scores, NUMBER_METHODS, effort.folds, folds.same)
    return {
        "measure": "R²",
        "n_folds": effort.folds,
        "n_repeats": effort.repeats,
        "rows": rows,
        "tests": compared,
        "test": describe_comparisons(len(compared)),
    }


def _interval(r2: FloatArray, n_folds: int) -> dict[str, Any]:
    """Return the mean R² over the runs, with its 95 % interval by the corrected resampled t."""
    from scipy.stats import t as student

    mean = json_number(r2.mean(), 5)
    if np.ptp(r2) == 0:  # as for the mean, which has R² 0 in every fold
        return {"r2": mean, "low": mean, "high": mean}
    test = corrected_resampled_ttest(r2, np.zeros_like(r2), n_folds=n_folds)
    reach = float(student.ppf(0.975, test.df) * test.standard_error)
    return {"r2": mean, "low": json_number(r2.mean() - reach, 5), "high": json_number(min(1.0, r2.mean() + reach), 5)}
