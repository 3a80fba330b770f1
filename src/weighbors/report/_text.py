"""A report as Markdown and as lines for a terminal; needs nothing but the plain dict."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from ..plots._display import short
from ._words import percent

__all__ = ["escaped", "figure", "markdown", "terminal"]


def figure(value: Any, digits: int = 3) -> str:
    """A number, a word or nothing, as tables show it.

    Examples
    --------
    >>> figure(0.123456), figure(None), figure(True), figure(12)
    ('0.123', '–', 'yes', '12')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.{digits}g}".replace("-", "−") if isinstance(value, float) else str(value)


def escaped(text: Any) -> str:
    r"""Text that Markdown shows as it is, on one line.

    Examples
    --------
    >>> escaped("<b>|x_1|\n*")
    '&lt;b&gt;\\|x\\_1\\| \\*'
    """
    line = short(text, 80).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]()#+!|~$])", r"\\\1", line)


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def markdown(data: dict[str, Any]) -> str:
    """The whole report without its pictures."""
    lines = [f"# {escaped(data['title'])}", "", *(f"- {_prose(line)}" for line in data["summary"]), ""]
    lines += ["## Caveats", "", *(f"- {_prose(line)}" for line in data["caveats"]), ""]
    for part in (_features, _classes, _stability, _instances, _gain, _difficulty, _intervals, _made):
        lines += part(data)
    return "\n".join(lines).rstrip() + "\n"


def _prose(line: str) -> str:
    return re.sub(r"([\\`*_{}\[\]#|~$])", r"\\\1", line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def _features(data: dict[str, Any]) -> list[str]:
    told = data["features"]
    head = ("rank", "feature", "weight", "middle 80 %", f"among the best {told['best']}", "above shuffled labels")
    rows = (
        (
            str(row["rank"]),
            escaped(row["name"]),
            figure(row["weight"]),
            f"{figure(row['low'])} to {figure(row['high'])}",
            percent(row["among_best"], 0),
            figure(row["above_chance"]),
        )
        for row in told["rows"][:50]
    )
    return ["## Which features matter", "", *_table(head, rows)]


def _classes(data: dict[str, Any]) -> list[str]:
    told = data["classes"]
    rows = (
        (escaped(label), ", ".join(map(escaped, best)) or "–")
        for label, best in zip(told["labels"], told["best"], strict=True)
    )
    lines = ["## For which class", "", *_table(("class", "features of the largest weight"), rows)]
    if told["disagree"]:
        apart = (
            (
                escaped(row["name"]),
                f"{escaped(row['most'])} ({figure(row['most_weight'], 2)})",
                f"{escaped(row['least'])} ({figure(row['least_weight'], 2)})",
            )
            for row in told["disagree"]
        )
        lines += _table(("where classes disagree", "most for", "least for"), apart)
    return lines


def _stability(data: dict[str, Any]) -> list[str]:
    told = data["stability"]
    if "reason" in told:
        return ["## How stable is the choice", "", f"Not measured: {told['reason']}.", ""]
    rows = (
        tuple(map(figure, row))
        for row in zip(
            told["curve"]["size"],
            told["curve"]["stability"],
            told["curve"]["standard_error"],
            told["shuffled"]["stability"],
            strict=True,
        )
    )
    head = ("features chosen", "stability", "standard error", "with shuffled labels")
    return ["## How stable is the choice", "", *_table(head, rows)]


def _instances(data: dict[str, Any]) -> list[str]:
    head = ("row", "class", "weight", "neighbours of its class", "neighbours say", "kind")
    rows = (
        (
            escaped(row["label"]),
            escaped(row["class"]),
            figure(row["weight"]),
            percent(row["own_share"], 0),
            escaped(row["neighbors_say"]),
            row["kind"],
        )
        for row in data["instances"]["lowest"]
    )
    return ["## Which rows are outlying or noisy", "", *_table(head, rows)]


def _gain(data: dict[str, Any]) -> list[str]:
    told = data["gain"]
    rows = ((row["method"], percent(row["accuracy"]), percent(row["balanced_accuracy"])) for row in told["rows"])
    lines = ["## What it buys", "", *_table(("k-NN with", "accuracy", "balanced accuracy"), rows)]
    tests = (
        (
            test["method"],
            f"{100 * test['difference']:+.1f} ({100 * test['low']:+.1f} to {100 * test['high']:+.1f})".replace(
                "-", "−"
            ),
            figure(test["p_holm"], 2),
        )
        for test in told["tests"]
    )
    lines += _table((f"against no weights, {told['measure']}", "points (95 % interval)", "p, Holm"), tests)
    return [*lines, f"{told['test']}; {told['n_repeats']} × {told['n_folds']} folds.", ""]


def _difficulty(data: dict[str, Any]) -> list[str]:
    rows = (
        (escaped(row["label"]), figure(row["correlation"]) if not row["reason"] else row["reason"])
        for row in data["difficulty"]["classes"]
    )
    return ["## How hard the task looks", "", *_table(("class", "correlation with the common weights"), rows)]


def _intervals(data: dict[str, Any]) -> list[str]:
    told = data["intervals"]
    if "reason" in told:
        return ["## Representative intervals", "", f"None: {told['reason']}.", ""]
    rows = (
        (
            escaped(row["feature"]),
            escaped(row["class"]),
            escaped(figure(row["low"], 6)),
            escaped(figure(row["high"], 6)),
            figure(row["rows"]),
            figure(row["weight"], 2),
        )
        for row in told["rows"]
        if row["kept"]
    )
    return ["## Representative intervals", "", *_table(("feature", "class", "from", "to", "rows", "weight"), rows)]


def _made(data: dict[str, Any]) -> list[str]:
    made = data["made"]
    versions = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
    settings = "; ".join(f"{name}: {value}" for name, value in made["settings"].items())
    return ["## How it was made", "", f"{_prose(versions)}. {_prose(settings)}. {made['seconds']} s.", ""]


def terminal(data: dict[str, Any], width: int = 88) -> str:
    """Findings, the best features and caveats, in lines of ``width``."""

    def bullets(lines: Iterable[str]) -> list[str]:
        return [
            textwrap.fill(line, width, initial_indent="  · ", subsequent_indent="    ", break_on_hyphens=False)
            for line in lines
        ]

    told = data["features"]
    names = [short(row["name"], 32) for row in told["rows"][:10]]
    wide = max(map(len, names))
    rows = [
        f"  {name:<{wide}}  {figure(row['weight']):>8}  {figure(row['low']):>8} to {figure(row['high'])}"
        for name, row in zip(names, told["rows"], strict=False)
    ]
    head = f"Weights of the best {len(rows)} of {told['n_features']} features, with the middle 80 % of "
    head += f"{told['n_runs']} resamples"
    parts = [short(data["title"], 80), "", *bullets(data["summary"]), "", head, *rows]
    return "\n".join([*parts, "", "What to keep in mind", *bullets(data["caveats"])])
