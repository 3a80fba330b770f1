"""A weigher whose `Weights` hold one vector per class, for tests of those that must take or refuse such weights."""

import numpy as np

from weighbors import ClassRelief


class PerClassRelief(ClassRelief):
    """`ClassRelief` that gives a k-NN the positive part of each class's vector, normalised."""

    def _metric_parts(self):
        rows = np.maximum(self.class_feature_weights_, 0.0) + 1e-3
        return {"feature_weights": rows / rows.sum(axis=1, keepdims=True), "classes": self.classes_}
