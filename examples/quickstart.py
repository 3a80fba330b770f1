"""A first look: which features matter, does knowing it help a k-NN, and why did it decide so?

Wisconsin's breast-cancer data, which come with scikit-learn. ``weighbors demo`` is the short way.
"""

import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbors import MBIW, ClassRelief, ReliefF, SimbaMBIW, WeightedKNeighborsClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = np.array(["malignant", "benign"])[y]
scaled = StandardScaler().set_output(transform="pandas").fit_transform(X)
print(f"Breast cancer: {len(X)} patients, {X.shape[1]} features, benign {np.mean(y == 'benign'):.0%}\n")

start = time.perf_counter()
print(ReliefF(n_neighbors=10).fit(scaled, y).weights_)
per_class = ClassRelief(n_neighbors=10).fit(scaled, y)
print(f"\nThe classes agree on what matters: correlations with RELIEF {per_class.class_correlations_.round(2)}")
odd = MBIW().fit(scaled, y).instance_weights_.argsort()[:3]
print(f"The most outlying patients are rows {', '.join(map(str, odd))}\n")

# Weights are learned inside each fold: what they buy is measured on rows they never saw.
cv = RepeatedStratifiedKFold(n_splits=10, n_repeats=3, random_state=0)
models = {
    "scikit-learn's 5-NN": KNeighborsClassifier(5),
    "5-NN, no weights": WeightedKNeighborsClassifier(5),
    "5-NN, ReliefF": WeightedKNeighborsClassifier(5, weigher=ReliefF(n_neighbors=10)),
    "5-NN, SIMBAMBIW": WeightedKNeighborsClassifier(5, weigher=SimbaMBIW()),
}
print("Accuracy, 3 x 10-fold")
for name, model in models.items():
    scores = cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=cv)
    print(f"  {name:<20} {scores.mean():.3f} +- {scores.std():.3f} over folds")

model = WeightedKNeighborsClassifier(5, weigher=ReliefF(n_neighbors=10)).fit(scaled[1:], y[1:])
told = model.explain(scaled[:1])
print(f"\nPatient 0 is called {model.predict(scaled[:1])[0]} (truth: {y[0]}). Her neighbours:")
print(told[["rank", "row", "label", "distance", "vote"]].to_string(index=False, float_format="{:.3f}".format))
shares = told.filter(like="share of").mean().nlargest(3)
print("Most of the distance to them comes from " + ", ".join(f"{n[9:]} ({s:.0%})" for n, s in shares.items()))
print(f"\nWhat ran:\n{model.plan_}\n\n{time.perf_counter() - start:.1f} s")
