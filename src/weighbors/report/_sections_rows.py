"""The section on unusual rows of a table with classes: rows with low weights, and rows whose labels are suspect."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._names import shorten_name
from .._typing import IndexArray
from ..evaluation.projection import project
from ._data import ReportData
from ._measure import WholeTableResults
from ._plain import json_number, json_numbers, shown_cell

MOST_INSTANCES = 15
MOST_SUSPECT = 50
SHOWN_VALUES = 12  # number of feature columns in the table of rows
MAP_POINTS = 1000


def instance_section(
    table: ReportData, drawn: IndexArray, whole: WholeTableResults, order: IndexArray
) -> dict[str, Any]:
    """Return the rows with the smallest instance weights, the rows with suspect labels, and a map of rows.

    Parameters
    ----------
    table : ReportData
    drawn : ndarray of shape (n,)
        Row numbers in the whole table.
    whole : WholeTableResults
    order : ndarray of shape (M,)
        Column numbers, largest weight first.
    """
    by_weight = np.argsort(whole.omega, kind="stable")
    odd = by_weight[:MOST_INSTANCES]
    suspect = by_weight[whole.own_share[by_weight] == 0]
    columns = order[:SHOWN_VALUES]
    values = table.frame(columns)
    return {
        "method": "MBIW",
        "lowest": [
            {
                **_describe_row(table, drawn, whole, i),
                "kind": "noisy" if whole.own_share[i] < 0.5 else "outlying",
                "values": [shown_cell(value) for value in values.iloc[i]],
            }
            for i in odd.tolist()
        ],
        "n_suspect": len(suspect),
        "suspect": [
            {**_describe_row(table, drawn, whole, i), "why": _why_suspect(table, whole, i)}
            for i in suspect[:MOST_SUSPECT].tolist()
        ],
        "columns": [table.names[j] for j in columns],
        "least": json_number(whole.omega.min(), 4),
        "median": json_number(np.median(whole.omega), 4),
        "largest": json_number(whole.omega.max(), 4),
        "map": {
            **describe_map(table, drawn, odd),
            "weight": json_numbers(whole.omega[shown_points(table, odd)], 3),
            "class": table.codes[shown_points(table, odd)].tolist(),
        },
    }


def _describe_row(table: ReportData, drawn: IndexArray, whole: WholeTableResults, i: int) -> dict[str, Any]:
    """Return number, name, class and weight of row ``i``, and what its neighbours say.

    ``drawn`` are the numbers of the rows in the whole table.
    """
    return {
        "row": int(drawn[i]),
        "label": table.row_labels[i],
        "class": str(table.classes[table.codes[i]]),
        "weight": json_number(whole.omega[i], 4),
        "own_share": json_number(whole.own_share[i], 4),
        "neighbors_say": str(table.classes[whole.predicted[i]]),
    }


def _why_suspect(table: ReportData, whole: WholeTableResults, i: int) -> str:
    """Return why the label of row ``i`` is suspect."""
    if table.counts[table.codes[i]] == 1:
        return "no other row has its class"
    most = shorten_name(table.classes[whole.predicted[i]], 60)
    return f"none of its {whole.n_neighbors} nearest rows has its class; the most frequent class among them is {most}"


def shown_points(table: ReportData, odd: IndexArray) -> IndexArray:
    """Return the rows that the map shows: evenly spaced rows, and the unusual rows ``odd``."""
    spaced = np.linspace(0, table.n - 1, min(table.n, MAP_POINTS)).astype(np.int64)
    return np.unique(np.concatenate([odd, spaced]))


def describe_map(table: ReportData, drawn: IndexArray, odd: IndexArray) -> dict[str, Any]:
    """Return the positions of rows on two principal components. ``drawn`` and ``odd`` are as in `instance_section`."""
    coordinates, explained = project(table.rows, table.nominal)
    some = shown_points(table, odd)
    return {
        "x": json_numbers(coordinates[some, 0], 3),
        "y": json_numbers(coordinates[some, 1], 3),
        "row": drawn[some].tolist(),
        "explained": json_numbers(explained, 3),
    }
