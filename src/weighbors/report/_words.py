"""The summary of a report in plain language, and its caveats.

Every sentence is made from the plain dict of the report, so that the text always agrees with the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._names import shorten_name

__all__ = ["caveats", "is_numeric", "percent", "signed", "summary"]


def is_numeric(data: dict[str, Any]) -> bool:
    """Return whether a report is on a numeric target. Reports of earlier releases are on classes and do not say so."""
    return bool(data.get("target_type", "classes") == "numeric")


def _values(data: dict[str, Any]) -> str:
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
    """Return a difference of shares as text in percentage points, with its sign."""
    return f"{100 * difference:+.1f}".replace("-", "−")


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
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def summary(data: dict[str, Any]) -> list[str]:
    """Return the findings, one or two sentences for each topic."""
    if is_numeric(data):
        said = [_describe_numbers(data), _gain_of_numbers(data), _features(data), _directions(data), _stability(data)]
        return [sentence for sentence in [*said, _residuals(data)] if sentence]
    said = [_describe_table(data), _gain(data), _features(data), _stability(data), _classes(data), _instances(data)]
    return [sentence for sentence in said if sentence]


def _describe_table(data: dict[str, Any]) -> str:
    """Return sentences on the size of the table and its most frequent class."""
    table = data["table"]
    largest = max(table["classes"], key=lambda row: row["rows"])
    return (
        f"The table has {table['n_rows']} rows in {len(table['classes'])} classes and {table['n_features']} "
        f"feature{'s' * (table['n_features'] != 1)} ({_kinds(table)}). The most frequent class, "
        f"“{shorten_name(largest['label'], 40)}”, holds {percent(largest['share'])} of the rows."
    )


def _kinds(table: dict[str, Any]) -> str:
    """Return how many features are numeric and categorical, as text."""
    named = (("n_numeric", "numeric"), ("n_categorical", "categorical"))
    return " and ".join(f"{table[key]} {what}" for key, what in named if table[key])


def _score(data: dict[str, Any], method: str) -> float:
    """Return the score of a method: accuracy or balanced accuracy, whichever the report uses."""
    key = data["gain"]["measure"].replace(" ", "_")
    return float(next(row[key] for row in data["gain"]["rows"] if row["method"] == method))


def _gain(data: dict[str, Any]) -> str:
    """Return sentences on the accuracy with and without weights."""
    gain, k = data["gain"], data["made"]["settings"]["n_neighbors"]
    plain, guess = _score(data, "no weights"), _score(data, "most frequent class")
    test = gain["tests"][0]
    first = (
        f"On rows it did not learn from, a plain {k}-nearest-neighbour classifier reaches {gain['measure']} "
        f"{percent(plain)}; always saying the most frequent class gives {percent(guess)}."
    )
    change = f"Weighting the features changes that by {points(test['difference'])} points"
    adjusted = f"{p_value(test['p_holm'])} by Holm for {len(gain['tests'])} comparisons"
    interval = f"(95 % interval {points(test['low'])} to {points(test['high'])}, {adjusted})"
    if test["p_holm"] <= 0.05:
        verdict = "which is more than chance explains" if test["difference"] > 0 else "so the weights do harm here"
    else:
        verdict = "which chance can explain"
    return f"{first} {change} {interval}, {verdict}."


def _features(data: dict[str, Any]) -> str:
    """Return sentences on the features with the largest weights."""
    features = data["features"]
    names = join_names(row["name"] for row in features["rows"][:3])
    n, test = features["n_features"], features["test"]
    first = f"The features of the largest weight are {names}." if n > 1 else f"The only feature is {names}."
    if test is None:
        return first
    above, level = test["n_above_chance"], percent(test["level"])
    if above == 0:
        return (
            f"{first} But a permutation test finds no feature that weighs more than chance gives (false discovery rate "
            f"{level}), so none of them is shown to matter."
        )
    some = "it" if n == 1 else f"all {n}" if above == n else f"{above} of {n}"
    strictly = test["n_familywise"] or "none"
    return (
        f"{first} A permutation test finds {some} to weigh more than chance gives at a false discovery rate of "
        f"{level}, and {strictly} with a chance of at most {level} that any of these is false."
    )


def _stability(data: dict[str, Any]) -> str:
    """Return a sentence on the stability of the selected features, or an empty text if there is only one feature."""
    s = data["stability"]
    if "reason" in s:
        return ""
    # The limits are conventions of this report.
    level = "very stable" if s["stability"] >= 0.9 else "stable" if s["stability"] >= 0.75 else (
        "moderately stable" if s["stability"] >= 0.4 else "unstable")  # fmt: skip
    best = "the best feature is" if s["best"] == 1 else f"the best {s['best']} features is"
    return (
        f"The choice of {best} {level}: {s['stability']:.2f} on a scale where 1 means always the same and 0 a "
        f"random choice (with shuffled {_values(data)} it is {s['shuffled_stability']:.2f})."
    )


def _classes(data: dict[str, Any]) -> str:
    """Return a sentence on the agreement of the classes."""
    agreement, classes = data["difficulty"]["agreement"], data["classes"]
    if agreement is None:
        return "Whether the classes agree on what matters cannot be said: their weights are constant."
    known = [row["correlation"] for row in data["difficulty"]["classes"] if row["correlation"] is not None]
    if min(known) >= 0.8:
        text = "The classes agree on which features matter, which speaks for an easy task"
    elif min(known) >= 0.3:
        text = "The classes agree in part on which features matter"
    else:
        text = "At least one class goes by other features than the rest, which speaks for a hard task"
    opposed = classes["n_opposed"]
    verbs = ("features help one class and blur" if opposed > 1 else "feature helps one class and blurs") + " another"
    tail = f"; {opposed} {verbs}" if opposed else ""
    return f"{text} (correlations with the common weights {min(known):.2f} to {max(known):.2f}){tail}."


def _instances(data: dict[str, Any]) -> str:
    """Return sentences on unusual rows."""
    instances = data["instances"]
    n = data["table"]["n_rows_used"]
    names = join_names(row["label"] for row in instances["lowest"][:3])
    alone = instances["n_alone"]
    tail = ""
    if alone:
        whose, what = ("rows have", "their labels") if alone > 1 else ("row has", "its label")
        own, k = "their" if alone > 1 else "its", data["made"]["settings"]["n_neighbors"]
        tail = (
            f" {alone} {whose} nothing of {own} own class among {own} {k} nearest neighbours ({percent(alone / n)}): "
        )
        tail += f"look at {what}."
    return f"The most outlying rows are {names}.{tail}"


def _describe_numbers(data: dict[str, Any]) -> str:
    """Return a sentence on the size of the table and the range of the numeric target."""
    table, target = data["table"], data["table"]["target"]
    return (
        f"The table has {table['n_rows']} rows and {table['n_features']} feature{'s' * (table['n_features'] != 1)} "
        f"({_kinds(table)}). The target “{shorten_name(data['target'], 40)}” is a number from {target['least']:.4g} to "
        f"{target['largest']:.4g}, with mean {target['mean']:.4g} and standard deviation {target['deviation']:.4g}."
    )


def _gain_of_numbers(data: dict[str, Any]) -> str:
    """Return sentences on R² of plain and weighted neighbours and of learned votes."""
    gain, k = data["gain"], data["made"]["settings"]["n_neighbors"]
    rows = {row["method"]: row for row in gain["rows"]}
    plain = rows["no weights"]
    first = (
        f"On rows it did not learn from, a plain {k}-nearest-neighbour regressor has R² {_r2(plain['r2'])} (95 % "
        f"interval {_r2(plain['low'])} to {_r2(plain['high'])}), where 0 is what the mean of the "
        "target gives and 1 is perfect."
    )
    if plain["low"] <= 0:
        first += " So it is not shown that plain neighbours predict the target at all."
    changes = [_change(test, rows[test["method"]]["r2"], len(gain["tests"])) for test in gain["tests"]]
    return f"{first} {' '.join(changes)}"


def _r2(value: float) -> str:
    """Return R² with two decimals and a true minus sign."""
    return f"{value:.2f}".replace("-", "−")


def _change(test: dict[str, Any], r2: float, n_tests: int) -> str:
    """Return a sentence on how a method changes R² against no weights. ``n_tests`` is the number of comparisons."""
    name = {"feature weights": "Weighting the features gives", "learned votes": "Learned votes give"}[test["method"]]
    if test["p_holm"] is None or test["p_holm"] > 0.05:
        verdict = "which chance can explain"
    else:
        verdict = "which is more than chance explains" if test["difference"] > 0 else "which is worse than without them"
    return (
        f"{name} {_r2(r2)}, a change of {signed(test['difference'], 3)} (95 % interval {signed(test['low'], 3)} to "
        f"{signed(test['high'], 3)}, {p_value(test['p_holm'])} by Holm for {n_tests} comparisons), {verdict}."
    )


def _directions(data: dict[str, Any]) -> str:
    """Return a sentence on how the features with the largest weights go with the target."""
    rows = [row for row in data["features"]["rows"][:3] if row["correlation"] is not None]
    if not rows:
        return ""
    parts = [f"{shorten_name(row['name'], 40)} ({signed(row['correlation'])})" for row in rows]
    return (
        f"Rank correlations of the first features with the target: {', '.join(parts)}. Plus means that both rise "
        "together; near 0, a feature may still matter in a curve or together with others."
    )


def _residuals(data: dict[str, Any]) -> str:
    """Return sentences on the rows that their neighbours predict worst."""
    instances = data["instances"]
    worst = instances["lowest"][0]
    names = join_names(row["label"] for row in instances["lowest"][:3])
    far = instances["n_far"]
    tail = ""
    if far:
        one = far == 1
        tail = (
            f" {far} row{' lies' if one else 's lie'} more than two standard deviations of the target away from what "
            f"{'its' if one else 'their'} neighbours say: look at {'it, it' if one else 'them, they'} may be "
            f"{'an error' if one else 'errors'}."
        )
    return (
        f"The rows farthest from the prediction of their neighbours are {names}; row "
        f"{shorten_name(worst['label'], 40)} has {worst['target']:.4g} and its neighbours say {worst['predicted']:.4g}."
        f"{tail}"
    )


def caveats(data: dict[str, Any]) -> list[str]:
    """Return the caveats: limits of the data and of the methods, followed by the notes of the user."""
    found = [
        *_size_caveats(data["table"]),
        *_table_caveats(data["table"], data["made"]["settings"]),
        *_method_caveats(data),
    ]
    found += [str(note) for note in data["notes"]]
    return found


def _size_caveats(table: dict[str, Any]) -> list[str]:
    """Return caveats that follow from the numbers of rows, classes and features."""
    found, n = [], table["n_rows"]
    classes = bool(table["classes"])
    if table["n_rows_used"] < n:
        shares = ", classes in their shares" if classes else ""
        found.append(
            f"{table['n_rows_used']} of the {n} rows were drawn at random{shares}, to keep the work "
            "under a minute. All figures are of these rows."
        )
    if n < 100:
        moves = f"one row more or less changes the accuracy by about {percent(1 / n)}, and " if classes else ""
        found.append(f"{n} rows are few: {moves}intervals are wide. Take the order of the features as a hint.")
    counts = [row["rows"] for row in table["classes"]]
    small = [row["label"] for row in table["classes"] if row["rows"] < 10]
    if small:
        found.append(
            f"{len(small)} class{'es have' if len(small) > 1 else ' has'} fewer than 10 rows ({join_names(small)}): "
            f"what is said of {'them' if len(small) > 1 else 'it'} rests on very little."
        )
    if counts and max(counts) > 3 * min(counts):
        found.append(
            f"Classes are uneven ({max(counts)} to {min(counts)} rows), so balanced accuracy, the mean of what is "
            "found of each class, is compared instead of accuracy."
        )
    if table["n_features"] > n:
        found.append(
            f"There are more features than rows ({table['n_features']} and {n}). Some will look relevant by luck: "
            "trust those that the permutation test found, and confirm them on other data."
        )
    return found


def _table_caveats(table: dict[str, Any], settings: dict[str, Any]) -> list[str]:
    """Return caveats on missing values, copies of rows, groups, and a missing permutation test."""
    found = []
    if table["n_missing"]:
        found.append(
            f"{percent(table['share_missing'], 2)} of the cells, in {table['n_columns_with_missing']} "
            f"column{'s' if table['n_columns_with_missing'] != 1 else ''}, are missing. In distances a missing value "
            "counts as far away from everything; in the weights it counts as what "
            f"{'its class makes' if table['classes'] else 'its column makes'} likely."
        )
    copies = table["n_copies"]
    # A few copies are normal in rounded data.
    if copies > 0.02 * table["n_rows"]:
        found.append(
            f"{copies} rows are exact copies of others. Copies can stand on both sides of a fold, which makes the "
            "scores look better than they are for new rows."
        )
    if table["n_contradicting"]:
        found.append(
            f"{table['n_contradicting']} rows have a twin with the same values and another "
            f"{'class' if table['classes'] else 'target'}: no method can tell these apart."
        )
    if not table["grouped"]:
        found.append(
            "Rows are taken as independent. If several belong to one patient or one machine, give groups, or the "
            "scores are too good."
        )
    if settings["n_permutations"] == 0:
        found.append(
            "The table is too large to also learn weights from many permutations of the labels in a minute, so no "
            "feature was tested against chance."
        )
    return found


def _method_caveats(data: dict[str, Any]) -> Sequence[str]:
    """Return caveats on the methods."""
    found = []
    features, s = data["features"], data["stability"]
    if features["test"] is not None and features["test"]["n_above_chance"] > features["n_features"] / 2:
        found.append(
            f"The permutation test compares with {_values(data)} that mean nothing at all. Beside many strong features "
            "even a column of noise can pass it, since other features then decide which rows are neighbours."
        )
    if "reason" not in s:
        # Two training parts of m folds have m − 2 of their m − 1 folds in common.
        overlap = (s["n_folds"] - 2) / (s["n_folds"] - 1)
        found.append(
            f"Stability is measured over folds, whose training parts share {percent(overlap, 0)} of their rows. New "
            f"rows would agree less; compare it with the stability of shuffled {_values(data)}, not with 0."
        )
        if s["tied"]:
            found.append(
                f"In {percent(s['tied'], 0)} of the runs the last feature chosen and the next one weigh the same, and "
                "the order of the columns decides: the choice looks more stable than it is."
            )
    found.append(
        "Weights tell what helps neighbours: features that say the same share the credit, and a large weight is not "
        "a cause."
    )
    whole = (
        "The rank correlations and the residuals of the rows"
        if is_numeric(data)
        else "The class weights, the outlying rows and the intervals"
    )
    found.append(
        f"The scores are of rows that had no part in the weights. {whole} were found with all rows: they describe this "
        "table."
    )
    return found
