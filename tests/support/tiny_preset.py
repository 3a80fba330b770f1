"""A preset small enough for tests: two data sets, two methods, one table with an answer known by hand."""

from functools import partial

import weighbors as wb
from support.stubs import Trouble, two_problems
from weighbors.presets import Definition, Preset


def data_sets(quick):
    return ("first",) if quick else ("first", "second")


def build(quick, data_home, how="not", seconds=0.0):
    methods = {"centre": Trouble(how, seconds), "plain": wb.WeightedKNeighborsClassifier(3)}
    data = {name: two_problems()[name] for name in data_sets(quick)}
    return Definition(data, methods, cv=3, n_repeats=1 if quick else 2, random_state=5)


def tables(results):
    table = results.table("accuracy").reset_index()
    table.columns.name = None
    return {"accuracy": table.assign(paper=[0.5] * len(table))}


def summary(tables):
    return f"{len(tables['accuracy'])} data sets"


def preset(how="not", seconds=0.0, **changes):
    parts = {
        "data_sets": data_sets,
        "build": partial(build, how=how, seconds=seconds),
        "tables": tables,
        "summary": summary,
    }
    return Preset("tiny", "A tiny paper", "Nobody, 2000", "As they are; 2 repeats; seed 5.", **{**parts, **changes})
