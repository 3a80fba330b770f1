"""Tables that tests write to files."""

import numpy as np
import pandas as pd


def mixed_table(n=60, seed=0):
    """Numbers, categories, missing cells, an identifier, a constant; ``size`` and ``colour`` tell the classes apart."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["low", "high"], n)
    return pd.DataFrame(
        {
            "id": np.arange(100, 100 + n),
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) + 3 * (kind == "high")),
            "noise": rng.normal(size=n) * 1000,
            "colour": np.where(rng.random(n) < 0.8, np.where(kind == "high", "red", "blue"), "green"),
            "unit": "cm",
            "kind": kind,
        }
    )
