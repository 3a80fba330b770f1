"""Results of a study written by hand, cell by cell, for tables whose answers are known."""

import numpy as np

from weighbors.evaluation.study.cell_file import write_cell
from weighbors.evaluation.study.results import read_results
from weighbors.evaluation.study.store import Store

VERSIONS = {"weighbors": "0", "numpy": "0"}


def results_of(place, cells, names=None):
    """Results of hand-made cells.

    Each is a dict: dataset, method, repeat, fold, and any of scores, measures (dicts), weights, rows and
    predictions (labels 0, 1, ...), n_train, n_test.
    """
    store = Store(place)
    store.open()
    where, shapes = {}, {}
    for i, cell in enumerate(cells):
        identity = f"{i:032x}"
        where[identity] = [cell["dataset"], cell["method"], cell.get("repeat", 0), cell["fold"]]
        features = len(cell.get("weights", (0, 0)))
        shapes[cell["dataset"]] = {"feature_names": (names or {}).get(cell["dataset"])}
        head = dict(zip(("dataset", "method", "repeat", "fold"), where[identity], strict=True))
        facts = {"status": "done", "scores": cell.get("scores", {}), "measures": cell.get("measures", {}), "seed": i,
                 "n_train": cell.get("n_train", 8), "n_test": cell.get("n_test", 2), "n_features": features,
                 "fit_seconds": 0.5, "predict_seconds": 0.25, "versions": VERSIONS, "labels": [0, 1, 2]}  # fmt: skip
        arrays = {}
        if "weights" in cell:
            arrays["weights"] = np.asarray(cell["weights"], dtype=np.float64)
        if "predictions" in cell:
            arrays["rows"] = np.asarray(cell["rows"], dtype=np.int32)
            arrays["predictions"] = np.asarray(cell["predictions"], dtype=np.int32)
        write_cell(store.cell(identity), {**head, **facts}, arrays)
    return read_results(store, where, shapes)
