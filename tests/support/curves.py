"""Selection curves written by hand."""

import numpy as np
import pandas as pd

from weighbors.evaluation.selection_result import SelectionCurve, SelectionRun


def handmade_curve(scores):
    """A curve of one weigher with given scores (runs × sizes) and features 0, 1, 2 in this order in all runs."""
    scores = np.asarray(scores, dtype=float)
    runs = [SelectionRun(np.arange(3), np.zeros(3, bool), row) for row in scores]
    mean = scores.mean(axis=0)
    frame = pd.DataFrame({"weigher": "w", "size": [1, 2, 3], "score": mean, "standard_error": 0.0, "low": mean})
    frame = frame.assign(
        high=mean, stability=[1.0, 1.0, np.nan], stand_in_stability=np.nan, tied=0.0, shuffled_stability=np.nan
    )
    frame = frame.assign(shuffled_score=np.nan)
    part = np.zeros(len(runs), dtype=int)
    names = ("a", "b", "c")
    return SelectionCurve(
        frame, np.arange(1, 4), {"w": runs}, part, {"w": np.arange(3)}, None, names, "score", "", 0.9, 0
    )
