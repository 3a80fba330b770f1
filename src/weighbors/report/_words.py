"""The summary of a report in plain language.

Every sentence is made from the plain dict of the report, so that the text always agrees with the numbers.
"""

from __future__ import annotations

from typing import Any

from .._names import shorten_name
from ._phrases import interval, is_numeric, join_names, percent, points, signed, target_values, verdict
from ._words_list import describe_list


def summary(data: dict[str, Any]) -> list[str]:
    """Return the findings, one or two sentences for each topic."""
    if is_numeric(data):
        said = [_describe_numbers(data), _gain_of_numbers(data), describe_list(data), _features(data)]
        said += [_directions(data), _stability(data), _residuals(data)]
    else:
        said = [_describe_table(data), _gain(data), describe_list(data), _features(data)]
        said += [_stability(data), _classes(data), _instances(data)]
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
    first = (
        f"On rows it did not learn from, a plain {k}-nearest-neighbour classifier reaches {gain['measure']} "
        f"{percent(plain)}; always saying the most frequent class gives {percent(guess)}."
    )
    tests = {one["method"]: one for one in gain["tests"]}
    if "feature weights" not in tests:
        second = "Weighting the features does not change a single prediction."
    else:
        test = tests["feature weights"]
        change = f"Weighting the features changes that by {points(test['difference'])} percentage points"
        said = verdict(test, "so the weights do harm here")
        second = f"{change} {interval(test, len(tests), points)}, {said}."
    return " ".join([first, second, *_votes(data, tests.get("learned votes"))])


def _votes(data: dict[str, Any], test: dict[str, Any] | None) -> list[str]:
    """Return a sentence on learned votes, or none if they predict the same as the k-NN or were not measured.

    ``test`` compares them with the k-NN without weights.
    """
    if test is None:
        return []
    reached = percent(_score(data, "learned votes"))
    change = f"{points(test['difference'])} {interval(test, len(data['gain']['tests']), points)}"
    said = verdict(test, "so plain neighbours are the better choice here")
    return [f"Learned votes of all rows in place of k neighbours reach {reached}, a change of {change}, {said}."]


def _features(data: dict[str, Any]) -> str:
    """Return sentences on the features with the largest weights."""
    features = data["features"]
    names = join_names(row["name"] for row in features["rows"][:3])
    n, test = features["n_features"], features["test"]
    first = f"The features of the largest weight are {names}." if n > 1 else f"The only feature is {names}."
    first += _ties(features["rows"][:3]) + _unlike_the_list(data)
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


def _unlike_the_list(data: dict[str, Any]) -> str:
    """Return why the first features are not those of the list, or an empty text if they are on it or it is empty."""
    listed = {row["name"] for row in data["list"].get("rows", ())}
    if not listed or all(row["name"] in listed for row in data["features"]["rows"][:3]):
        return ""
    return (
        " They are not all on the list: it rates each feature by itself, and weights also count what features tell "
        "together."
    )


def _ties(rows: list[dict[str, Any]]) -> str:
    """Return a sentence on the first tie among the features that are named, or an empty text if there is none."""
    tied = [row for row in rows if row["tied"]]
    if not tied:
        return ""
    named = [row["name"] for row in tied if row["rank"] == tied[0]["rank"]]
    further = tied[0]["tied"] + 1 - len(named)
    if not further:
        return f" {join_names(named)} weigh the same: only the order of the columns decides which comes first."
    return (
        f" {join_names(named)} weigh{'s' * (len(named) == 1)} the same as {further} "
        f"other{'s' * (further > 1)}: only the order of the columns decides which are named."
    )


def _stability(data: dict[str, Any]) -> str:
    """Return a sentence on the stability of the selected features, or an empty text if there is only one feature."""
    s = data["stability"]
    if "reason" in s:
        return ""
    best = "best feature" if s["best"] == 1 else f"best {s['best']} features"
    first = (
        f"Over the folds, the choice of the {best} has a stability of {s['stability']:.2f}, where 1 means always the "
        f"same and 0 a random choice. Shuffled {target_values(data)}, which mean nothing, give "
        f"{s['shuffled_stability']:.2f}"
    )
    # Shuffled labels have a stability above 0, because folds share rows. So only the difference says something.
    if s["above_shuffled_low"] is None or s["above_shuffled_low"] <= 0:
        return f"{first}: the choice is not shown to be more stable than with {target_values(data)} that mean nothing."
    return f"{first}: the choice is more stable than chance explains."


def _classes(data: dict[str, Any]) -> str:
    """Return a sentence on the agreement of the classes. It says nothing of how hard the task is: scores do."""
    agreement, classes = data["difficulty"]["agreement"], data["classes"]
    if agreement is None:
        return "Whether the same features matter for all classes cannot be said: their weights are constant."
    rows = [row for row in data["difficulty"]["classes"] if row["correlation"] is not None]
    low, high = (pick(rows, key=lambda row: row["correlation"]) for pick in (min, max))
    if low["correlation"] >= 0.8:
        text = "Much the same features matter for all classes"
    elif low["correlation"] >= 0.3:
        text = "The features that matter are partly different from class to class"
    else:
        text = f"For class “{shorten_name(low['label'], 40)}” other features matter than for the classes together"
    opposed = classes["n_opposed"]
    tested = data["features"]["test"] is not None
    which = "of the features that the permutation test found" if tested else f"feature{'s' * (opposed > 1)}"
    verbs = f"help{'s' * (opposed == 1)} to tell one class apart but not another"
    tail = f"; {opposed} {which} {verbs}" if opposed else ""
    return (
        f"{text} (correlations with the common weights {_r2(low['correlation'])} to {_r2(high['correlation'])}){tail}."
    )


def _instances(data: dict[str, Any]) -> str:
    """Return sentences on unusual rows. Rows with suspect labels are named, and the page lists them."""
    instances = data["instances"]
    first = f"The most unusual rows are {join_names(row['label'] for row in instances['lowest'][:3])}."
    n, suspect = instances["n_suspect"], instances["suspect"]
    if not n:
        return first
    named, k = join_names((row["label"] for row in suspect), 5), data["made"]["settings"]["n_neighbors"]
    listed = "they are listed" if n <= len(suspect) else f"the first {len(suspect)} are listed"
    if n == 1:
        return f"{first} Check the label of row {named}: none of its {k} nearest rows has its class."
    which = named if n <= 5 else f"such as {named}"
    return (
        f"{first} Check the labels of {n} rows ({which}): none of the {k} nearest rows of each has its class; {listed} "
        "under “Rows whose label is suspect”."
    )


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
    if "feature weights" in plain["same"]:
        changes = ["Weighting the features does not change a single prediction.", *changes]
    return f"{first} {' '.join(changes)}"


def _r2(value: float) -> str:
    """Return R² or a correlation with two decimals and a true minus sign."""
    return f"{value:.2f}".replace("-", "−")


def _change(test: dict[str, Any], r2: float, n_tests: int) -> str:
    """Return a sentence on how a method changes R² against no weights. ``n_tests`` is the number of comparisons."""
    name = {"feature weights": "Weighting the features gives", "learned votes": "Learned votes give"}[test["method"]]
    said = verdict(test, "which is worse than without them")
    change = f"a change of {signed(test['difference'], 3)} {interval(test, n_tests, lambda value: signed(value, 3))}"
    return f"{name} {_r2(r2)}, {change}, {said}."


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
            f"{'its' if one else 'their'} neighbours say; the table of these rows lists "
            f"{'it' if one else 'them' if far <= len(instances['lowest']) else 'the farthest of them'}. Check "
            f"{'it for an error' if one else 'them for errors'}."
        )
    return (
        f"The rows farthest from the prediction of their neighbours are {names}; row "
        f"{shorten_name(worst['label'], 40)} has {worst['target']:.4g} and its neighbours say {worst['predicted']:.4g}."
        f"{tail}"
    )
