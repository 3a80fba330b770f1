"""Published tables of scores that tests share."""

import numpy as np
import pandas as pd

#: Demšar 2006 (JMLR 7), table 6: AUC of C4.5 with and without two of its parameters tuned. On "voting"
#: the printed ranks put C4.5+cf above C4.5+m+cf though both are printed as .975.
DEMSAR = pd.DataFrame(
    {
        "adult": [0.763, 0.768, 0.771, 0.798],
        "breast cancer": [0.599, 0.591, 0.590, 0.569],
        "breast cancer wisconsin": [0.954, 0.971, 0.968, 0.967],
        "cmc": [0.628, 0.661, 0.654, 0.657],
        "ionosphere": [0.882, 0.888, 0.886, 0.898],
        "iris": [0.936, 0.931, 0.916, 0.931],
        "liver disorders": [0.661, 0.668, 0.609, 0.685],
        "lung cancer": [0.583, 0.583, 0.563, 0.625],
        "lymphography": [0.775, 0.838, 0.866, 0.875],
        "mushroom": [1.000, 1.000, 1.000, 1.000],
        "primary tumor": [0.940, 0.962, 0.965, 0.962],
        "rheum": [0.619, 0.666, 0.614, 0.669],
        "voting": [0.972, 0.981, 0.9751, 0.975],
        "wine": [0.957, 0.978, 0.946, 0.970],
    },
    index=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
).T

#: García & Herrera 2008 (JMLR 9): mean ranks of five classifiers over 30 data sets, from their case study.
GARCIA_RANKS = pd.Series({"C4.5": 2.1, "1-NN": 3.25, "NaiveBayes": 2.2, "Kernel": 13 / 3, "CN2": 187 / 60})


def table_of_ranks(mean_ranks, n):
    """Some table of n data sets whose mean ranks are the given ones (one tie where a sum ends in .5)."""
    wanted = np.round(mean_ranks.to_numpy() * n * 2) / 2
    random = np.random.default_rng(0)
    ranks = np.array([random.permutation(len(wanted)) + 1.0 for _ in range(n)])
    halves = np.flatnonzero(wanted % 1)
    if len(halves):  # two methods share a rank on the first data set
        others = [j for j in range(len(wanted)) if j not in halves]
        ranks[0, halves] = 1.5
        ranks[0, others] = np.arange(3, len(wanted) + 1)
    while (gap := wanted - ranks.sum(axis=0)).any():
        up, down = np.argmax(gap), np.argmin(gap)
        rows = [i for i in range(len(halves) and 1, n) if ranks[i, up] < ranks[i, down]]
        steps = np.array([ranks[i, down] - ranks[i, up] for i in rows])
        fits = np.flatnonzero(steps <= max(1, min(gap[up], -gap[down])))
        i = rows[random.choice(fits)] if len(fits) else rows[int(np.argmin(steps))]
        ranks[i, [up, down]] = ranks[i, [down, up]]
    return pd.DataFrame(-ranks, columns=mean_ranks.index)
