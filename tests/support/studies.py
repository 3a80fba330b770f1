"""Small studies that tests share, and a script that runs one in a process of its own."""

from pathlib import Path

import weighbors as wb
from support.stubs import Trouble, noise_of, two_problems
from weighbors.evaluation import Study

TESTS = Path(__file__).parents[1]
TIMES = ["fit_seconds", "predict_seconds"]


def table_of(results):
    """The table without what no two runs share."""
    return results.frame().drop(columns=TIMES)


def small(store, **options):
    methods = {"centre": Trouble(), "plain": wb.WeightedKNeighborsClassifier(3)}
    return Study(two_problems(), methods, store, **{"cv": 3, "n_repeats": 2, "measures": {"noise": noise_of}} | options)


SCRIPT = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background ignores it
sys.path.insert(0, {str(TESTS)!r})
from support.stubs import Trouble, noise_of, two_problems
import weighbors as wb
from weighbors.evaluation import Study
methods = {{"centre": Trouble(seconds=0.02), "plain": wb.WeightedKNeighborsClassifier(3)}}
study = Study(two_problems(), methods, sys.argv[1], cv=3, n_repeats=4, measures={{"noise": noise_of}})
study.run(n_jobs=int(sys.argv[2]))
"""


def slowly(store):
    methods = {"centre": Trouble(seconds=0.02), "plain": wb.WeightedKNeighborsClassifier(3)}
    return Study(two_problems(), methods, store, cv=3, n_repeats=4, measures={"noise": noise_of})


def cells_in(store):
    return len(list((store / "cells").glob("[!.]*.cell"))) if (store / "cells").is_dir() else 0
