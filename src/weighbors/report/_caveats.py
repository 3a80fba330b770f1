"""The caveats of a report: limits of the data and of the methods, made from its plain dict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._phrases import is_numeric, join_names, percent, target_values


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
            f"The permutation test compares with {target_values(data)} that mean nothing at all. Beside many strong "
            "features even a column of noise can pass it, since other features then decide which rows are neighbours."
        )
    if "reason" not in s:
        # Two training parts of m folds have m − 2 of their m − 1 folds in common.
        overlap = (s["n_folds"] - 2) / (s["n_folds"] - 1)
        found.append(
            f"Stability is measured over folds, whose training parts share {percent(overlap, 0)} of their rows. New "
            f"rows would agree less; compare it with the stability of shuffled {target_values(data)}, not with 0."
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
