"""What tests of evolutionary searches share: a table, settings of a short search, and equality of two fits."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

X, Y = load_wine(return_X_y=True)
X = scale(X)
FAST = {"population_size": 10, "max_evaluations": 200, "random_state": 0}


def same(a, b):
    for name in ("instance_support_", "feature_support_", "feature_weights_", "instance_scales_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert a.fitness_ == b.fitness_
    assert a.weights_ == b.weights_
    pd.testing.assert_frame_equal(a.history_.drop(columns="seconds"), b.history_.drop(columns="seconds"))


# A search in a process of its own that says where it is and saves every generation: to be killed.
KILLED = """
import sys, time
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale
from weighbors import EvolutionaryWeigher
from weighbors.weighers.evolution import fit
fit._SAVE_SECONDS = 0
X, y = load_wine(return_X_y=True)
def slow(progress):
    print(progress.evaluations, flush=True)
    time.sleep(0.02)
EvolutionaryWeigher({tasks!r}, objective={objective!r}, population_size=10, max_evaluations=1500, random_state=0,
                    checkpoint=sys.argv[1], callback=slow).fit(scale(X), y)
"""
