"""Sentences on the list of features, made from the plain dict of a report."""

from __future__ import annotations

from typing import Any

from .._names import shorten_name
from ._phrases import interval, is_numeric, join_names, percent, points, signed, verdict


def describe_list(data: dict[str, Any]) -> str:
    """Return sentences on the list: how long it is, which features are on it, and how well it predicts alone."""
    section = data["list"]
    if "reason" in section:
        return f"No list of features was made: {section['reason']}."
    level, n = percent(section["target_fdr"]), section["n_selected"]
    if not n:
        return (
            f"The list is empty: at a false discovery rate of {level}, half samples find no feature often enough (the "
            f"smallest q-value is {section['least_q']:.2g}). This does not show that no feature matters."
        )
    names = [row["name"] for row in section["rows"]]
    named = join_names(names, 5) if n <= 5 else f"{', '.join(shorten_name(name, 40) for name in names[:5])} and others"
    first = (
        f"{n} of {data['features']['n_features']} features {'are' if n > 1 else 'is'} on the list at a false discovery "
        f"rate of {level}: {named}."
    )
    if section["n_groups"] < n:
        number = section["n_groups"]
        first += f" Some of them stand in for each other: there {'are' if number > 1 else 'is'} {number} "
        first += f"group{'s' * (number > 1)}."
    return f"{first} {list_score(data)}"


def list_score(data: dict[str, Any]) -> str:
    """Return sentences on the score of a k-NN with the listed features alone."""
    score = data["list"]["score"]
    if "reason" in score:
        return f"How well the list predicts alone was not measured: {score['reason']}."
    numeric = is_numeric(data)
    listed, every, nothing = (_show(score[name], numeric) for name in ("the_list", "all_features", "no_feature"))
    test, sizes = score["test"], score["sizes"]

    def show(value: float) -> str:
        return signed(value, 3) if numeric else points(value)

    lengths = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else f"each of {sizes[0]}"
    unit = "" if numeric else " percentage points"
    text = (
        f"On the rows left out in the first {score['n_folds']} folds, lists made from the other rows ({lengths} "
        f"features) give a k-NN "
        f"{score['measure']} {listed}, all features {every}, and no feature {nothing}. The change from all features to "
        f"the list is {show(test['difference'])}{unit} {interval(test, 1, show)}, "
        f"{verdict(test, 'so the list alone is worse than all features')}."
    )
    if score["n_empty"]:
        text += f" In {score['n_empty']} of {score['n_folds']} folds the list was empty."
    return text


def _show(value: float, numeric: bool) -> str:
    """Return a score as text: R² with two decimals, or a percentage."""
    return f"{value:.2f}".replace("-", "−") if numeric else percent(value)


def stand_in_names(row: dict[str, Any]) -> str:
    """Return the features that stand in for one as text.

    Examples
    --------
    >>> stand_in_names({"stand_ins": ["a", "b", "c", "d", "e"], "n_stand_ins": 12})
    'a, b, c and 9 more'
    >>> stand_in_names({"stand_ins": [], "n_stand_ins": 0})
    'none'
    """
    names, n = [shorten_name(name, 40) for name in row["stand_ins"][:3]], row["n_stand_ins"]
    if n <= 3:
        return ", ".join(names) or "none"
    return f"{', '.join(names)} and {n - 3} more"
