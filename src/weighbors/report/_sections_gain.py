"""The section on scores: the k-NN without and with weights, and learned votes, with paired tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._typing import FloatArray
from ..stats import corrected_resampled_ttest
from ._data import ReportData
from ._effort import Effort
from ._measure import METHODS, FoldResults
from ._plain import json_number

LEVEL = 0.05


def measure_name(table: ReportData) -> str:
    """Return the score that is compared: "R²", "accuracy", or "balanced accuracy" if class sizes differ much."""
    if table.numeric:
        return "R²"
    counts = table.counts[table.counts > 0]
    # If the sizes of classes are very different, accuracy is high for models that predict only the largest class.
    return "balanced accuracy" if counts.max() > 3 * counts.min() else "accuracy"


def gain_section(table: ReportData, folds: FoldResults, effort: Effort) -> dict[str, Any]:
    """Return the scores of the k-NN without and with weights, and of learned votes, on test parts, with tests."""
    measure = measure_name(table)
    rows = []
    for name, same in {"most frequent class": [], **merge_methods(METHODS, folds.same)}.items():
        rows.append(
            {
                "method": name,
                "same": same,
                **_mean_and_deviation("accuracy", folds.scores["accuracy"][name]),
                **_mean_and_deviation("balanced_accuracy", folds.scores["balanced accuracy"][name]),
            }
        )
    compared = compare_methods(folds.scores[measure], METHODS, effort.folds, folds.same)
    return {
        "measure": measure,
        "n_folds": effort.folds,
        "n_repeats": effort.repeats,
        "rows": rows,
        "tests": compared,
        "test": describe_comparisons(len(compared)),
    }


def merge_methods(methods: Sequence[str], same: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the methods that differ, each with the methods that make the same predictions.

    ``same`` is that of `FoldResults`.

    Examples
    --------
    >>> merge_methods(["a", "b", "c"], {"b": "a"})
    {'a': ['b'], 'c': []}
    """
    return {name: [one for one in methods if same.get(one) == name] for name in methods if name not in same}


def _mean_and_deviation(name: str, values: FloatArray) -> dict[str, Any]:
    """Return the mean and the standard deviation of a score over the runs, for one row of the table of scores."""
    return {name: json_number(values.mean(), 5), f"{name}_deviation": json_number(values.std(ddof=1), 5)}


def describe_comparisons(n_tests: int) -> str:
    """Return how the comparisons were made. ``n_tests`` is their number."""
    test = "corrected resampled t-test (Nadeau and Bengio), two-sided; p-value and 95 % interval come from the same t"
    return test if n_tests < 2 else f"{test}, and both are adjusted for {n_tests} comparisons (Bonferroni)"


def compare_methods(
    scores: Mapping[str, FloatArray], methods: Sequence[str], n_folds: int, same: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return paired tests of every method against the first one, with intervals of the differences.

    P-values and intervals are both adjusted by Bonferroni, so that they agree: the p-value is below 0.05 if and only if
    the interval does not contain 0. Holm's p-values have no such intervals.

    Parameters
    ----------
    scores : dict of method to ndarray
        The scores of all runs.
    methods : sequence of str
    n_folds : int
        Number of folds of a repetition.
    same : dict of method to method
        Methods that make the same predictions as an earlier one. They are not compared.
    """
    from scipy.stats import t as student

    compared = [name for name in methods[1:] if name not in same]
    found = []
    for name in compared:
        test = corrected_resampled_ttest(scores[name], scores[methods[0]], n_folds=n_folds)
        reach = float(student.isf(LEVEL / 2 / len(compared), test.df)) * test.standard_error
        found.append(
            {
                "method": name,
                "against": methods[0],
                "difference": json_number(test.mean_difference, 5),
                "low": json_number(test.mean_difference - reach, 5),
                "high": json_number(test.mean_difference + reach, 5),
                "t": json_number(test.statistic, 4),
                "p": json_number(test.p_value, 4),
                "p_adjusted": json_number(min(1.0, len(compared) * test.p_value), 4),
                "note": test.note,
            }
        )
    return found
