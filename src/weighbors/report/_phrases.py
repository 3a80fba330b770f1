"""Small phrases for the sentences of a report: numbers, intervals, names and verdicts as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._names import shorten_name


def is_numeric(data: dict[str, Any]) -> bool:
    """Return whether a report is on a numeric target. Reports of earlier releases are on classes and do not say so."""
    return bool(data.get("target_type", "classes") == "numeric")


def target_values(data: dict[str, Any]) -> str:
    """Return what the target of a row is called: "labels", or "targets" for a number."""
    return "targets" if is_numeric(data) else "labels"


def signed(value: float | None, digits: int = 2) -> str:
    """Return a number with its sign, or a dash for None.

    Examples
    --------
    >>> signed(0.123), signed(-2.0), signed(None)
    ('+0.12', '−2.00', '–')
    """
    return "–" if value is None else f"{value:+.{digits}f}".replace("-", "−")


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share as a percentage with at most ``digits`` decimals, or "unknown" for None.

    Examples
    --------
    >>> percent(0.1234), percent(1.0), percent(None)
    ('12.3 %', '100 %', 'unknown')
    """
    if share is None:
        return "unknown"
    text = f"{100 * share:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def points(difference: float) -> str:
    """Return a difference of shares as text in percentage points, with its sign.

    A small difference gets more digits, so that it does not look like 0.

    Examples
    --------
    >>> points(0.0123), points(-0.0002), points(0.0)
    ('+1.2', '−0.02', '+0.0')
    """
    value = 100 * difference
    small = value != 0 and abs(value) < 0.05
    return (f"{value:+.1g}" if small else f"{value:+.1f}").replace("-", "−")


def join_names(names: Iterable[Any], most: int = 3) -> str:
    """Return the first ``most`` names, joined with commas and "and".

    Examples
    --------
    >>> join_names(["a", "b", "c"]), join_names(["a"])
    ('a, b and c', 'a')
    """
    shown = [shorten_name(name, 40) for name in names][:most]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"


def p_value(p: float | None) -> str:
    """Return a p-value as text for a sentence, such as "p = 0.02"."""
    if p is None:
        return "p unknown"
    if p < 0.001:
        return "p < 0.001"
    # More digits near 0.05, so that the text is on the same side of the limit as the number.
    digits = next((n for n in (2, 3, 4) if (float(f"{p:.{n}g}") <= 0.05) == (p <= 0.05)), 4)
    return f"p = {p:.{digits}g}"


def method_name(row: dict[str, Any]) -> str:
    """Return the name of a row of scores, with the other methods that make the same predictions."""
    same = row.get("same", [])
    return f"{row['method']} (the same predictions: {', '.join(same)})" if same else str(row["method"])


def verdict(test: dict[str, Any], worse: str) -> str:
    """Return what the interval of a comparison says. ``worse`` is said of a change for the worse."""
    if test["low"] > 0:
        return "which is more than chance explains"
    return worse if test["high"] < 0 else "which chance can explain"


def interval(test: dict[str, Any], n_tests: int, show: Callable[[float], str]) -> str:
    """Return interval and p-value of a comparison as text. ``show`` formats a difference."""
    adjusted = f", both adjusted for {n_tests} comparisons" if n_tests > 1 else ""
    return f"(95 % interval {show(test['low'])} to {show(test['high'])}, {p_value(test['p_adjusted'])}{adjusted})"
