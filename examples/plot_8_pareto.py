"""
How small can a table get?
==========================

One fitness mixes accuracy and size by weights that have to be guessed. With several
goals the search finds the trade-offs, and you choose afterwards.
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from weighbors import EvolutionaryWeigher
from weighbors.plots import ParetoFrontDisplay

data = load_diabetes(as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(data.data)
worst = data.target > data.target.quantile(0.75)  # the quarter that fared worst
y = np.where(worst, "worst", "rest")

search = EvolutionaryWeigher(
    "IS+FS", fitness="g_mean", objective="pareto", max_evaluations=5000, random_state=0
).fit(X, y)
ParetoFrontDisplay.from_estimator(search).ax_.set_xlim(0.16, 0.3)

# %%
# The error is 1 − G-mean; instances and features are the shares that are kept. No row
# of the front is better than another in everything: points that look beaten in the
# picture keep fewer features, which it does not show. The ring is the knee, the point
# nearest to the best of all goals. The last row, a single patient, always errs and is
# off the picture.
print(search.pareto_front_.round(3).to_string())

# %%
# Another trade-off
# -----------------
# ``select`` puts another row to use: the masks, the weights and ``reduce`` follow.
best = int(search.pareto_front_["error"].argmin())
search.select(best)
ParetoFrontDisplay.from_estimator(search).ax_.set_xlim(0.16, 0.3)
small, _ = search.reduce(X, y)
print(f"row {best}: {len(small)} patients, features {', '.join(small.columns)}")
