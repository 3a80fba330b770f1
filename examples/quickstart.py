"""A first look: does knowing which features matter help a k-NN, and why did it decide so?

Wisconsin's breast-cancer data, which come with scikit-learn; run by ``make demo``.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import f_classif
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from weighbors import WeightedKNeighborsClassifier, Weights

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = np.array(["malignant", "benign"])[y]
X = StandardScaler().set_output(transform="pandas").fit_transform(X)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# Weights can come from anywhere; here from how well each feature separates the classes alone,
# learned from the training rows only.
weights = Weights(feature_weights=f_classif(X_train, y_train)[0], feature_names=X.columns)
model = WeightedKNeighborsClassifier(n_neighbors=7, weigher=weights).fit(X_train, y_train)
plain = WeightedKNeighborsClassifier(n_neighbors=7).fit(X_train, y_train)
same = (plain.predict(X_test) == KNeighborsClassifier(7).fit(X_train, y_train).predict(X_test)).mean()

print(f"Breast cancer: {len(X_train)} training rows, {len(X_test)} test rows, {X.shape[1]} features\n")
print(weights, "\n")
print(f"Plain 7-NN on the test rows      {plain.score(X_test, y_test):.3f}   (as scikit-learn on {same:.0%} of them)")
print(f"Weighted 7-NN on the test rows   {model.score(X_test, y_test):.3f}\n")

told = model.explain(X_test[:1])
label = model.predict(X_test[:1])[0]
print(f"Test row {X_test.index[0]} is called {label} (truth: {y_test[0]}). Its neighbours:")
print(told[["rank", "row", "label", "distance", "vote"]].to_string(index=False, float_format="{:.3f}".format))
shares = told.filter(like="share of").mean().nlargest(3)
print("Most of the distance to them comes from: " + ", ".join(f"{n[9:]} ({s:.0%})" for n, s in shares.items()))
print(f"\nWhat ran:\n{model.plan_}")
