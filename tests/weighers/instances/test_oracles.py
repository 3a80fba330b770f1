"""The selectors keep the rows that loops written from their papers keep, on tables full of ties, copies and holes."""

import numpy as np
import pandas as pd
import pytest
from naive import instances as naive
from scipy.special import ndtri

from weighbors import DROP3, DROP5, FCNN, HMNEI, IB2, IB3, ICF, Weights
from weighbors._random import generators
from weighbors.weighers.instances import instance_based
from weighbors.weighers.instances.drop import select_drop3, select_drop5
from weighbors.weighers.instances.fcnn import select_fcnn
from weighbors.weighers.instances.hmnei import select_hmnei
from weighbors.weighers.instances.icf import select_icf
from weighbors.weighers.instances.instance_based import select_ib2, select_ib3
from weighbors.weighers.instances.rows import LabelledRows, edit_rows

SEEDS = range(40)


class Table:
    """A generated table: whole numbers and categories, so that sums of differences are exact and ties are many."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        n, m, self.n_classes = int(rng.integers(12, 34)), int(rng.integers(1, 5)), int(rng.integers(2, 6))
        codes = np.append(np.arange(self.n_classes), rng.integers(0, self.n_classes, n - self.n_classes))
        X = (rng.integers(0, 8, (n, m)) + 2 * codes[:, None] * rng.integers(0, 2, m)).astype(float)
        X[-3:] = X[:3]  # copies, some with another class
        self.p, self.nominal = 1 + seed % 2, rng.random(m) < 0.3
        X[:, self.nominal] %= 3
        if seed % 3 == 0:
            X[rng.random(X.shape) < 0.1] = np.nan
        for j in np.flatnonzero(self.nominal):  # codes in the order of appearance, as estimators give them
            codes_of_column, _ = pd.factorize(X[:, j])
            X[:, j] = np.where(codes_of_column < 0, np.nan, codes_of_column)
        self.a = 2.0 ** rng.integers(-2, 3, m) if seed % 4 == 1 else None
        self.X, self.codes, self.n = X, codes, n

    @property
    def options(self):
        return {"a": self.a, "nominal": self.nominal, "p": self.p}

    @property
    def distances(self):
        return naive.distances(self.X, **self.options)

    @property
    def labelled(self):
        weights = Weights(feature_weights=self.a)
        return LabelledRows(self.X, self.codes, self.n_classes, self.nominal, weights, None, self.p)

    @property
    def seeds(self):
        """The central row of each class."""
        members = [np.flatnonzero(self.codes == c).tolist() for c in range(self.n_classes)]
        return [naive.central_row(self.X, rows, **self.options) for rows in members]


@pytest.fixture(scope="module", params=SEEDS)
def table(request):
    made = Table(request.param)
    made.d, made.labels, made.rows = made.distances, made.codes.tolist(), made.labelled
    return made


def kept_rows(mask):
    return set(np.flatnonzero(mask).tolist())


def test_editing(table):
    for k in (1, 3, 50):
        assert kept_rows(edit_rows(table.rows, k)) == naive.wilson(table.d, table.labels, k)


def test_central_rows(table):
    assert table.rows.central_rows(np.arange(table.n_classes)).tolist() == table.seeds


def test_fcnn(table):
    assert kept_rows(select_fcnn(table.rows)[0]) == naive.fcnn(table.d, table.labels, table.seeds)


def test_ib2(table, monkeypatch):
    for order in (np.arange(table.n), np.random.default_rng(0).permutation(table.n)):
        expected = naive.ib2(table.d, table.labels, order.tolist())
        assert kept_rows(select_ib2(table.rows, order)) == expected
        monkeypatch.setattr(instance_based, "_BLOCK", 5)
        assert kept_rows(select_ib2(table.rows, order)) == expected


def test_ib3(table, monkeypatch):
    order = np.random.default_rng(1).permutation(table.n)
    for levels in ((0.9, 0.75), (0.3, 0.2)):  # at low levels rows of so small tables become acceptable and poor
        z = [float(ndtri((1 + level) / 2)) for level in levels]
        expected = naive.ib3(table.d, table.labels, order.tolist(), *z, generators(0, 1)[0])
        assert kept_rows(select_ib3(table.rows, order, *levels, generators(0, 1)[0])) == expected
        monkeypatch.setattr(instance_based, "_BLOCK", 5)
        assert kept_rows(select_ib3(table.rows, order, *levels, generators(0, 1)[0])) == expected


@pytest.mark.parametrize("k", [1, 3])
def test_drop3(table, k, monkeypatch):
    expected = naive.drop3(table.d, table.labels, k)
    assert kept_rows(select_drop3(table.rows, k)) == expected
    monkeypatch.setattr("weighbors.weighers.instances.drop._SPARE", 0)  # candidates run out at once
    assert kept_rows(select_drop3(table.rows, k)) == expected


@pytest.mark.parametrize("k", [1, 3])
def test_drop5(table, k, monkeypatch):
    expected = naive.drop5(table.d, table.labels, k)
    assert kept_rows(select_drop5(table.rows, k)) == expected
    monkeypatch.setattr("weighbors.weighers.instances.drop._SPARE", 0)
    assert kept_rows(select_drop5(table.rows, k)) == expected


def test_icf(table):
    for k in (1, 3):
        assert kept_rows(select_icf(table.rows, k)[0]) == naive.icf(table.d, table.labels, k)


def test_hmnei(table):
    for epsilon in (0.0, 0.1, 1.0):
        assert kept_rows(select_hmnei(table.rows, epsilon)[0]) == naive.hmnei(table.d, table.labels, epsilon)


def test_the_tables_are_hard_enough():
    """Selections differ from all and nothing, IB3 accepts and removes rows, and HMN-EI takes several passes."""
    tables = [Table(seed).labelled for seed in SEEDS]
    for select in (lambda t: select_fcnn(t)[0], lambda t: select_drop3(t, 3), lambda t: select_icf(t, 3)[0]):
        sizes = [int(select(t).sum()) for t in tables]
        assert sum(0 < size < t.n for size, t in zip(sizes, tables, strict=True)) >= 35
    assert sum(select_ib3(t, np.arange(t.n), 0.3, 0.2, generators(0, 1)[0]).any() for t in tables) >= 15
    assert max(select_hmnei(t, 0.1)[1] for t in tables) >= 2
    assert max(select_icf(t, 1)[1] for t in tables) >= 2


SELECTORS = {
    "FCNN": (FCNN, lambda t: naive.fcnn(t.d, t.labels, t.seeds)),
    "IB2": (IB2, lambda t: naive.ib2(t.d, t.labels, list(range(t.n)))),
    "DROP3": (DROP3, lambda t: naive.drop3(t.d, t.labels, 3)),
    "DROP5": (DROP5, lambda t: naive.drop5(t.d, t.labels, 3)),
    "ICF": (ICF, lambda t: naive.icf(t.d, t.labels, 3)),
    "HMNEI": (HMNEI, lambda t: naive.hmnei(t.d, t.labels, 0.1)),
    "IB3": (
        lambda **options: IB3(**options),
        lambda t: naive.ib3(
            t.d, t.labels, list(range(t.n)), float(ndtri(0.95)), float(ndtri(0.875)), generators(0, 1)[0]
        ),
    ),
}


@pytest.mark.parametrize("name", SELECTORS)
@pytest.mark.filterwarnings("ignore::weighbors.exceptions.LostClassWarning")
def test_estimators_keep_what_the_functions_keep(name, table):
    """And the central row of a class of which nothing would be left."""
    make, book = SELECTORS[name]
    weigher = None if table.a is None else Weights(feature_weights=table.a)
    selector = make(weigher=weigher, p=table.p, categorical_features=table.nominal).fit(table.X, table.codes)
    expected = book(table)
    left = {table.labels[x] for x in expected}
    expected |= {row for c, row in enumerate(table.seeds) if c not in left}
    assert set(selector.sample_indices_.tolist()) == expected
