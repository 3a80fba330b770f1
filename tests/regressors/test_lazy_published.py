"""The lazy learners for numbers against another program, and the page of the comparison against its figures."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from weighbors import IBkRegressor, KStarRegressor, LWLRegressor

ROOT = Path(__file__).parents[2]

# Attributes a, b (numbers), c in {x, y, z} and the target.
TRAIN = """5,-1.32,z,8.36 4,1.14,y,21.28 2,1.45,x,12.9 0,3.63,x,8.26 4,0.77,x,16.54 1,0.2,y,8.4 5,-0.08,z,12.84
    4,-0.49,y,20.02 3,0.55,z,7.1 1,0.41,z,2.82 6,0.36,x,18.72 6,-0.17,z,15.66 4,0.02,z,12.04 2,-1.05,y,9.9
    2,-1.09,y,11.82 0,0.89,x,1.78 3,0.72,y,17.44 0,0.9,x,5.8 3,0.04,y,15.08 5,1.74,x,21.48 0,-1.18,z,-6.36
    6,-0.33,y,24.34 6,3.45,x,28.9 2,2.64,x,12.28"""
TEST = "4,0.84,z 2,3.35,x 4,2.19,x 2,-0.36,y 2,2.24,x 0,0.9,y 6,0.8,x 2,-0.36,z"
# Weka 3.6.14, java weka.classifiers.lazy.<scheme> <options> -t train.arff -T test.arff -p 0: it prints three decimals.
# LinearRegression has the options -S 1 -C.
WEKA = {
    "IBk -K 3": [10.66, 11.147, 16.767, 12.267, 10.327, 11.913, 18.913, 7.32],
    "IBk -K 3 -I": [10.465, 11.457, 17.709, 12.02, 11.738, 10.867, 18.962, 6.722],
    "IBk -K 3 -F": [10.629, 11.179, 16.931, 12.24, 10.631, 11.67, 18.949, 7.198],
    "KStar": [13.93, 12.138, 18.619, 13.571, 12.462, 6.757, 17.071, 10.314],
    "LWL": [13.758, 8.971, 19.984, 8.099, 8.923, 4.579, 19.242, 13.303],
    "LWL -K 9": [11.135, 9.382, 13.863, 10.073, 14.904, 9.753, 17.536, 10.637],
    "LWL -W LinearRegression": [12.265, 14.747, 18.899, 11.933, 12.627, 7.388, 21.557, 2.821],
}
OURS = {
    "IBk -K 3": IBkRegressor(3),
    "IBk -K 3 -I": IBkRegressor(3, weights="inverse"),
    "IBk -K 3 -F": IBkRegressor(3, weights="similarity"),
    "KStar": KStarRegressor(),
    "LWL": LWLRegressor(),
    "LWL -K 9": LWLRegressor(n_neighbors=9),
    "LWL -W LinearRegression": LWLRegressor("linear", ridge=1e-8),
}


def small(text):
    """Columns a, b, c, and the target if it is there."""
    rows = [row.split(",") for row in text.split()]
    frame = pd.DataFrame(rows, columns=list("abcy")[: len(rows[0])])
    return frame.astype({name: float for name in frame if name != "c"})


@pytest.mark.parametrize("scheme", WEKA)
def test_predictions_are_those_of_weka(scheme):
    train = small(TRAIN)
    tolerance = 0.015 if scheme == "KStar" else 0.00051  # Weka stops its root finder early
    found = OURS[scheme].fit(train[["a", "b", "c"]], train["y"]).predict(small(TEST))
    np.testing.assert_allclose(found, WEKA[scheme], rtol=0, atol=tolerance)


def test_the_page_shows_the_committed_figures(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    import weka_numbers

    page = (ROOT / "docs" / "lazy_learners.md").read_text(encoding="utf8")
    figures = pd.read_csv(ROOT / "docs" / "results" / "weka_numbers.csv")
    assert set(figures["scheme"]) == set(weka_numbers.schemes())
    assert set("r-" + figures["data"]) == set(weka_numbers.SETS)
    for inside in (False, True):
        assert weka_numbers.equal_rows(figures, extremes_in_training=inside) in page
    assert weka_numbers.differences(figures) in page
