"""Tables with names and values that could break a report."""

import numpy as np
import pandas as pd

HOSTILE = [
    "<script>alert('name')</script>",
    'quote" onload="alert(1)',
    "two\nlines\tand\x00nul",
    "smile \U0001f600 \u202eright to left",
    "$formula^{",
    "pipe | star * `code` [link](javascript:alert(1))",
    "</script><img src=x onerror=alert(1)>",
    "z" * 10_000,
    "same",
    "same",
]


def hostile_table():
    """60 rows with a name of every evil kind, numbers, categories and holes."""
    rng = np.random.default_rng(0)
    y = np.array(["<b>sick</b>", "well & good"], dtype=object)[np.arange(60) % 2]
    values = rng.normal(size=(60, len(HOSTILE))) + (np.arange(60) % 2)[:, None] * np.linspace(2, 0, len(HOSTILE))
    table = pd.DataFrame(values, columns=HOSTILE)
    table.isetitem(3, np.where(values[:, 3] > 0.5, "<i>a</i>", "b|c"))
    table.isetitem(4, (values[:, 4] > 0).astype(int))
    table.iloc[::7, 0] = np.nan
    table.iloc[3, 3] = None
    return table, y
