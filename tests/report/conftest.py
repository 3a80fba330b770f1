"""Reports that several tests share; one of them is built from names that try to inject HTML."""

import numpy as np
import pandas as pd
import pytest
from support.report_tables import hostile_table

from weighbors.report import _effort, build_report


@pytest.fixture(scope="session", autouse=True)
def _few_pairs():
    """Make lists from few pairs of half samples, since most tests are about other sections. The code is the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_effort, "PAIRS", (5,))
        patch.setattr(_effort, "FOLD_PAIRS", (1,))
        yield


@pytest.fixture(scope="session")
def hostile():
    table, y = hostile_table()
    rows = [f"<a href='javascript:alert({i})'>{i}</a>" for i in range(60)]
    return build_report(
        table, y, target="<u>target</u>", title="<h1>Title</h1>", row_labels=rows, notes=["left out: <em>id</em>"]
    )


@pytest.fixture(scope="session")
def wine():
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True, as_frame=True)
    return build_report(X, np.array(["barolo", "grignolino", "barbera"])[y], target="cultivar")


@pytest.fixture(scope="session")
def number_report():
    """A report on a numeric target: numbers, a category, missing cells, and one row with a wrong price."""
    rng = np.random.default_rng(0)
    size, colour = rng.normal(size=90), rng.choice(["red", "blue"], 90)
    price = 10 * size + 8 * (colour == "red") + rng.normal(size=90)
    price[17] += 60
    size[3] = np.nan
    table = pd.DataFrame({"size": size, "<b>colour</b>": colour, "noise": rng.normal(size=90), "more": rng.random(90)})
    return build_report(table, price, target="price")
