"""Reports that several tests share; one of them is built from names that try to inject HTML."""

import numpy as np
import pytest
from report_tables import hostile_table

from weighbors.report import build_report


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
