"""A report as Markdown, and as text for a terminal. Both are made from the plain dict of the report."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from .._names import shorten_name
from ._phrases import is_numeric, method_name, percent, points, signed
from ._words_list import describe_list, stand_in_names


def format_cell(value: Any, digits: int = 3) -> str:
    """Return a number, a bool or a missing value as text for a table.

    Examples
    --------
    >>> format_cell(0.123456), format_cell(None), format_cell(True), format_cell(12)
    ('0.123', '–', 'yes', '12')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.{digits}g}".replace("-", "−") if isinstance(value, float) else str(value)


def escape_markdown(text: Any, most: int = 80) -> str:
    r"""Return a text, escaped and shortened to ``most`` characters, so that Markdown shows it on one line.

    Examples
    --------
    >>> escape_markdown("<b>|x_1|\n*")
    '&lt;b&gt;\\|x\\_1\\| \\*'
    """
    line = shorten_name(text, most).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]()#+!|~$])", r"\\\1", line)


def _markdown_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return the lines of a Markdown table with the column names ``head``."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def markdown(data: dict[str, Any]) -> str:
    """Return the whole report as Markdown, without figures."""
    lines = [f"# {escape_markdown(data['title'])}", "", *(f"- {_prose(line)}" for line in data["summary"]), ""]
    lines += ["## Caveats", "", *(f"- {_prose(line)}" for line in data["caveats"]), ""]
    numbers = (_list, _features, _stability, _residuals, _gain_of_numbers, _left_out)
    classes = (_list, _features, _classes, _stability, _instances, _gain, _difficulty, _intervals)
    for part in (*(numbers if is_numeric(data) else classes), _provenance):
        lines += part(data)
    return "\n".join(lines).rstrip() + "\n"


def _prose(line: str) -> str:
    """Return a sentence, escaped for Markdown. Parentheses, plus signs and exclamation marks are not escaped."""
    return re.sub(r"([\\`*_{}\[\]#|~$])", r"\\\1", line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def _list(data: dict[str, Any]) -> list[str]:
    """Return the section on the list of features."""
    section = data["list"]
    lines = ["## The list", "", _prose(describe_list(data)), ""]
    if "reason" in section:
        return lines
    if section["nearest"]:
        lines += ["The features with the smallest q-values, which are not on the list:", ""]
    head = ("feature", "q-value", "half samples", "weight", "group", "stand-ins", "direction")
    rows = (
        (
            escape_markdown(row["name"]),
            format_cell(row["q"], 2),
            percent(row["share"], 0),
            format_cell(row["weight"]),
            format_cell(row["group"]),
            escape_markdown(stand_in_names(row), 200),
            escape_markdown(row["direction"], 200),
        )
        for row in section["rows"] or section["nearest"]
    )
    return [*lines, *_markdown_table(head, rows)]


def _features(data: dict[str, Any]) -> list[str]:
    """Return the section on the features."""
    section, numbers = data["features"], is_numeric(data)
    head = (
        "rank",
        "feature",
        "weight",
        "middle 80 %",
        f"among the best {section['best']}",
        "p, adjusted",
        "above chance",
        *(["rank correlation"] if numbers else []),
    )
    rows = (
        (
            str(row["rank"]),
            escape_markdown(row["name"]),
            format_cell(row["weight"]),
            f"{format_cell(row['low'])} to {format_cell(row['high'])}",
            percent(row["among_best"], 0),
            format_cell(row["p_adjusted"], 2),
            format_cell(row["above_chance"]),
            *([signed(row["correlation"])] if numbers else []),
        )
        for row in section["rows"][:50]
    )
    return ["## Which features matter", "", *_markdown_table(head, rows)]


def _classes(data: dict[str, Any]) -> list[str]:
    """Return the section on the weights per class."""
    section = data["classes"]
    rows = (
        (escape_markdown(label), ", ".join(map(escape_markdown, best)) or "–")
        for label, best in zip(section["labels"], section["best"], strict=True)
    )
    lines = ["## For which class", "", *_markdown_table(("class", "features of the largest weight"), rows)]
    if section["disagree"]:
        apart = (
            (
                escape_markdown(row["name"]),
                f"{escape_markdown(row['most'])} ({format_cell(row['most_weight'], 2)})",
                f"{escape_markdown(row['least'])} ({format_cell(row['least_weight'], 2)})",
            )
            for row in section["disagree"]
        )
        lines += _markdown_table(("where classes disagree", "most for", "least for"), apart)
    return lines


def _stability(data: dict[str, Any]) -> list[str]:
    """Return the section on the stability of the selected features."""
    section = data["stability"]
    if "reason" in section:
        return ["## How stable is the choice", "", f"Not measured: {section['reason']}.", ""]
    rows = (
        tuple(map(format_cell, row))
        for row in zip(
            section["curve"]["size"],
            section["curve"]["stability"],
            section["curve"]["standard_error"],
            section["shuffled"]["stability"],
            strict=True,
        )
    )
    what = "targets" if is_numeric(data) else "labels"
    head = ("features chosen", "stability", "standard error", f"with shuffled {what}")
    return ["## How stable is the choice", "", *_markdown_table(head, rows)]


def _instances(data: dict[str, Any]) -> list[str]:
    """Return the section on unusual rows."""
    head = ("row", "class", "weight", "neighbours of its class", "neighbours say", "kind")
    rows = (
        (
            escape_markdown(row["label"]),
            escape_markdown(row["class"]),
            format_cell(row["weight"]),
            percent(row["own_share"], 0),
            escape_markdown(row["neighbors_say"]),
            row["kind"],
        )
        for row in data["instances"]["lowest"]
    )
    lines = ["## Which rows are unusual", "", *_markdown_table(head, rows)]
    if data["instances"]["suspect"]:
        suspect = (
            (escape_markdown(row["label"]), escape_markdown(row["class"]), escape_markdown(row["why"], 200))
            for row in data["instances"]["suspect"]
        )
        lines += ["### Rows whose label is suspect", "", *_markdown_table(("row", "class", "why"), suspect)]
    return lines


def _residuals(data: dict[str, Any]) -> list[str]:
    """Return the section on the rows that their neighbours predict worst, for a numeric target."""
    head = ("row", "target", "neighbours say", "residual", "in standard deviations")
    rows = (
        (
            escape_markdown(row["label"]),
            format_cell(row["target"], 5),
            format_cell(row["predicted"], 5),
            format_cell(row["residual"], 4),
            signed(row["in_deviations"], 1),
        )
        for row in data["instances"]["lowest"]
    )
    return ["## Which rows are unlike their neighbours", "", *_markdown_table(head, rows)]


def _gain_of_numbers(data: dict[str, Any]) -> list[str]:
    """Return the section on R² of plain and weighted neighbours, for a numeric target."""
    section = data["gain"]
    rows = (
        (
            method_name(row),
            f"{signed(row['r2'], 3)} ({signed(row['low'], 3)} to {signed(row['high'], 3)})",
            format_cell(row["rmse"], 4),
            format_cell(row["mae"], 4),
        )
        for row in section["rows"]
    )
    lines = ["## How well neighbours predict", ""]
    lines += _markdown_table(("method", "R² (95 % interval)", "RMSE", "MAE"), rows)
    tests = (
        (
            test["method"],
            f"{signed(test['difference'], 3)} ({signed(test['low'], 3)} to {signed(test['high'], 3)})",
            format_cell(test["p_adjusted"], 2),
        )
        for test in section["tests"]
    )
    head = ("against no weights", "change of R² (95 % interval)", "p, adjusted")
    lines += _markdown_table(head, tests) if section["tests"] else []
    return [*lines, f"{section['test']}; {section['n_repeats']} × {section['n_folds']} folds.", ""]


def _left_out(data: dict[str, Any]) -> list[str]:
    """Return the sentence on the sections that need classes."""
    return [f"Class weights, class difficulty and intervals are left out: {data['classes']['reason']}.", ""]


def _gain(data: dict[str, Any]) -> list[str]:
    """Return the section on the gain in accuracy."""
    section = data["gain"]
    rows = ((method_name(row), percent(row["accuracy"]), percent(row["balanced_accuracy"])) for row in section["rows"])
    lines = [
        "## How much accuracy weights and learned votes add",
        "",
        *_markdown_table(("method", "accuracy", "balanced accuracy"), rows),
    ]
    tests = (
        (
            test["method"],
            f"{points(test['difference'])} ({points(test['low'])} to {points(test['high'])})",
            format_cell(test["p_adjusted"], 2),
        )
        for test in section["tests"]
    )
    head = (f"against no weights, {section['measure']}", "percentage points (95 % interval)", "p, adjusted")
    lines += _markdown_table(head, tests) if section["tests"] else []
    return [*lines, f"{section['test']}; {section['n_repeats']} × {section['n_folds']} folds.", ""]


def _difficulty(data: dict[str, Any]) -> list[str]:
    """Return the section on the agreement of the classes."""
    rows = (
        (escape_markdown(row["label"]), format_cell(row["correlation"]) if not row["reason"] else row["reason"])
        for row in data["difficulty"]["classes"]
    )
    return [
        "## Do the same features matter for all classes?",
        "",
        *_markdown_table(("class", "correlation with the common weights"), rows),
    ]


def _intervals(data: dict[str, Any]) -> list[str]:
    """Return the section on representative intervals."""
    section = data["intervals"]
    if "reason" in section:
        return ["## Representative intervals", "", f"None: {section['reason']}.", ""]
    rows = (
        (
            escape_markdown(row["feature"]),
            escape_markdown(row["class"]),
            escape_markdown(format_cell(row["low"], 6)),
            escape_markdown(format_cell(row["high"], 6)),
            escape_markdown(count_text(row["counts"], data["classes"]["labels"])),
            format_cell(row["weight"], 2),
        )
        for row in section["rows"]
        if row["kept"]
    )
    return [
        "## Representative intervals",
        "",
        *_markdown_table(("feature", "class", "from", "to", "rows by class", "weight"), rows),
    ]


def count_text(counts: Sequence[int], labels: Sequence[str]) -> str:
    """Return the number of rows of each class as text, largest first. Classes without rows are left out.

    Examples
    --------
    >>> count_text([1, 0, 30], ["sick", "well", "unknown"])
    'unknown 30, sick 1'
    """
    pairs = sorted(zip(counts, labels, strict=True), key=lambda pair: -pair[0])
    found = [f"{shorten_name(label, 24)} {count}" for count, label in pairs if count]
    more = f", {len(found) - 6} more classes" if len(found) > 6 else ""
    return ", ".join(found[:6]) + more if found else "none"


def _provenance(data: dict[str, Any]) -> list[str]:
    """Return the section on provenance: versions, settings and time."""
    made = data["made"]
    versions = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
    settings = "; ".join(f"{name}: {value}" for name, value in made["settings"].items())
    return ["## How it was made", "", f"{_prose(versions)}. {_prose(settings)}. {made['seconds']} s.", ""]


def terminal(data: dict[str, Any], width: int = 88) -> str:
    """Return the findings, the best features and the caveats as text for a terminal.

    Sentences are wrapped to lines of at most ``width`` characters.
    """

    def bullets(lines: Iterable[str]) -> list[str]:
        return [
            textwrap.fill(line, width, initial_indent="  · ", subsequent_indent="    ", break_on_hyphens=False)
            for line in lines
        ]

    section = data["features"]
    names = [shorten_name(row["name"], 32) for row in section["rows"][:10]]
    wide = max(map(len, names))
    rows = [
        f"  {name:<{wide}}  {format_cell(row['weight']):>8}  {format_cell(row['low']):>8} to {format_cell(row['high'])}"
        for name, row in zip(names, section["rows"], strict=False)
    ]
    head = f"Weights of the best {len(rows)} of {section['n_features']} features, with the middle 80 % of "
    head += f"{section['n_runs']} resamples"
    parts = [shorten_name(data["title"], 80), "", *bullets(data["summary"]), "", head, *rows]
    return "\n".join([*parts, "", "What to keep in mind", *bullets(data["caveats"])])
