"""Several goals: sorting against pymoo, fronts without dominated points, margins."""

import numpy as np
import pandas as pd
import pytest
from naive import evolution as naive
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from weighbors import EvolutionaryWeigher, WeightedKNeighborsClassifier
from weighbors.exceptions import InvalidDataError, LonelyClassWarning
from weighbors.weighers.evolution import Fitness, Genome, ParetoSearch, knee, pareto
from weighbors.weighers.evolution.pareto import choose_survivors, crowding, draw_margin_rows, non_dominated_ranks

X, Y = load_wine(return_X_y=True)
X = scale(X)
FAST = {"population_size": 20, "max_evaluations": 600, "random_state": 0, "objective": "pareto"}
RNG = np.random.default_rng


def dominated(goals):
    """By the book: somebody is nowhere worse and somewhere better."""
    return [
        any(all(b <= a) and any(b < a) for b in (np.array(row) for row in goals.tolist()))
        for a in (np.array(row) for row in goals.tolist())
    ]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("count", [2, 3])
def test_sorting_and_crowding_equal_pymoo(seed, count):
    sorting = pytest.importorskip("pymoo.util.nds.non_dominated_sorting")
    goals = RNG(seed).integers(0, 8, size=(40, count)).astype(float) if seed % 2 else RNG(seed).random((40, count))
    ranks = non_dominated_ranks(goals)
    fronts = sorting.NonDominatedSorting().do(goals)
    assert len(fronts) == ranks.max() + 1
    for rank, front in enumerate(fronts):
        assert set(front.tolist()) == set(np.flatnonzero(ranks == rank).tolist())
    if seed % 2 == 0:  # without ties there is one crowding distance
        from pymoo.operators.survival.rank_and_crowding.metrics import get_crowding_function

        front = goals[fronts[0]]
        theirs = get_crowding_function("cd").do(front)
        ours = crowding(front) / count
        np.testing.assert_allclose(ours[np.isfinite(theirs)], theirs[np.isfinite(theirs)])


def test_knee():
    assert knee(np.array([[0.0, 10.0], [0.1, 1.0], [1.0, 0.0]])) == 1
    assert knee(np.array([[0.3, 0.3]])) == 0
    assert knee(np.array([[0.0, 1.0], [1.0, 0.0]])) == 0  # equally near: the smaller first goal


def test_survivors_keep_the_first_front_and_drop_copies():
    goals = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [2.0, 2.0]])
    np.testing.assert_array_equal(choose_survivors(goals, 4), [0, 1, 3, 4])


@pytest.mark.parametrize("tasks", ["IS", "FS", "IS+FS", "IS+FS+IW+FW"])
def test_the_front(tasks):
    search = EvolutionaryWeigher(tasks, **FAST).fit(X, Y)
    front = search.pareto_front_
    columns = ["error", *(["instances"] if "IS" in tasks else []), *(["features"] if "FS" in tasks else [])]
    goals = front[columns].to_numpy()
    assert not any(dominated(goals))
    assert len(np.unique(goals, axis=0)) == len(goals)
    assert (front["n_instances"] > 0).all()
    assert (front["n_features"] > 0).all()
    assert search.selected_ == knee(goals)
    for index in (0, len(front) - 1, search.selected_):
        assert search.select(index) is search
        row = front.iloc[index]
        assert search.instance_support_.sum() == row["n_instances"]
        assert search.feature_support_.sum() == row["n_features"]
        assert search.reduction_ == pytest.approx(row["reduction"])
        model = WeightedKNeighborsClassifier(1, weigher=search.weights_).fit(X, Y)
        assert np.mean(model.predict(None) != Y) == pytest.approx(row["error"])
    for bad in (-1, len(front), 1.5):
        with pytest.raises(InvalidDataError, match="row of pareto_front_"):
            search.select(bad)


def area(goals):
    """Area that two goals dominate, up to 1.1 each: the best second goal at each of many first goals."""
    first = np.linspace(0, 1.1, 1101)
    best = [goals[goals[:, 0] <= at, 1].min(initial=1.1) for at in first]
    return np.mean(1.1 - np.array(best)) * 1.1


def test_the_front_grows_outwards():
    search = ParetoSearch(Genome(("IS",), 40, 1), 20, RNG(0))
    half = np.arange(40) < 20

    def goals(people):  # keep the first half, drop the second: a straight trade-off
        return np.column_stack([(~people.bits[:, half]).mean(axis=1), people.bits.mean(axis=1)])

    volumes = []
    while search.evaluations < 3000:
        search.tell(goals(search.ask(3000 - search.evaluations)))
        volumes.append(area(search.goals))
    assert volumes[-1] > volumes[0] + 0.2
    assert volumes[-1] > 0.8 * area(np.column_stack([1 - np.arange(21) / 20, np.arange(21) / 40]))


def test_a_front_that_selects_nothing():
    weigher = EvolutionaryWeigher(
        "IS+FS+IW+FW", objective="pareto", population_size=4, max_evaluations=8, random_state=2
    )
    with pytest.warns(LonelyClassWarning), pytest.raises(InvalidDataError, match="no individual selects"):
        weigher.fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("tasks", "per_class"), [("FS", False), ("FW", False), ("FW", True), ("FS+FW", False), ("FS+FW", True)]
)
def test_margins_as_goals(tasks, per_class):  # paper 001 proposes the class margins as goals of a search for weights
    given = {**FAST, "max_evaluations": 100, "per_class": per_class, "objective": "margins"}
    search = EvolutionaryWeigher(tasks, **given).fit(X, Y)
    front = search.pareto_front_[[f"margin of {label}" for label in range(3)]].to_numpy()
    assert not any(dominated(-front))
    for index in (0, len(front) - 1, search.selected_):
        search.select(index)
        w = dict(enumerate(search.class_feature_weights_)) if per_class else search.feature_weights_
        np.testing.assert_allclose(front[index], naive.margins(X, Y.tolist(), w, search.feature_support_))


def test_margins_of_mixed_tables():
    frame = pd.DataFrame(X[::2, :3], columns=list("abc"))
    frame["d"] = pd.Categorical(np.where(X[::2, 4] > 0, "high", "low"))
    frame.iloc[::7, 1] = np.nan
    y = Y[::2].copy()
    y[0] = 7  # a class of one has no hit
    with pytest.warns(LonelyClassWarning):
        search = EvolutionaryWeigher("FW", **{**FAST, "max_evaluations": 60, "objective": ["error", "margins"]}).fit(
            frame, y
        )
    rows = np.column_stack([frame[list("abc")].to_numpy(), frame["d"].cat.codes])
    expected = naive.margins(rows, y.tolist(), search.feature_weights_, [True] * 4, nominal=[False, False, False, True])
    found = search.pareto_front_.iloc[search.selected_]
    np.testing.assert_allclose([found[f"margin of {c}"] for c in (0, 1, 2, 7)], expected)


def test_margins_of_some_rows(monkeypatch):
    codes = np.repeat([0, 1, 2], [50, 3, 9])
    options = {**FAST, "max_evaluations": 60, "objective": "margins"}
    every = EvolutionaryWeigher("FW", **options).fit(X, Y)
    monkeypatch.setattr(pareto, "_MARGIN_ROWS", 62)
    assert draw_margin_rows(codes, RNG(0)) is None
    monkeypatch.setattr(pareto, "_MARGIN_ROWS", 30)
    some = draw_margin_rows(codes, RNG(0))
    assert np.bincount(codes[some]).tolist() == [10, 3, 9]
    assert len(set(some.tolist())) == len(some)
    monkeypatch.setattr(pareto, "_MARGIN_ROWS", 60)
    seen, measure = [], pareto.class_margins
    monkeypatch.setattr(pareto, "class_margins", lambda *a, rows, **o: seen.append(rows) or measure(*a, rows=rows, **o))
    search = EvolutionaryWeigher("FW", **options).fit(X, Y)
    assert all(rows is seen[0] for rows in seen)  # drawn once per search
    assert np.bincount(Y[seen[0]]).tolist() == [20, 20, 20]
    found = search.pareto_front_.iloc[search.selected_, :3]
    np.testing.assert_allclose(
        found, naive.margins(X, Y.tolist(), search.feature_weights_, [True] * 13, of=set(seen[0].tolist()))
    )
    assert not every.pareto_front_.equals(search.pareto_front_)


def test_what_is_no_goal_is_not_measured(monkeypatch):
    asked = []
    judge = Fitness.__call__
    monkeypatch.setattr(Fitness, "__call__", lambda self, people: asked.append(len(people)) or judge(self, people))
    search = EvolutionaryWeigher("FS", **{**FAST, "max_evaluations": 80, "objective": ("features", "margins")}).fit(
        X, Y
    )
    assert asked == [len(search.pareto_front_)]  # the figures of the front only


@pytest.mark.parametrize(
    ("tasks", "goals", "told"),
    [
        ("FW", "pareto", "at least two goals"),
        ("FW", "error", "at least two goals"),
        ("IS", ["error", "features"], "needs FS among the tasks"),
        ("FS", ["error", "instances"], "needs IS among the tasks"),
        ("IS", ["error", "size"], "different names"),
        ("IS+FS", ["error", "error"], "different names"),
        ("IS", ["error", "margins"], "FS and FW only"),
        ("IS", [], "different names"),
    ],
)
def test_bad_goals(tasks, goals, told):
    with pytest.raises(InvalidDataError, match=told):
        EvolutionaryWeigher(tasks, **{**FAST, "objective": goals}).fit(X, Y)


def test_misuse():
    search = ParetoSearch(Genome(("IS",), 5, 1), 4, RNG(0))
    with pytest.raises(InvalidDataError, match="before ask"):
        search.tell(np.zeros((4, 2)))
    search.ask()
    for bad in (np.zeros((3, 2)), np.zeros(4), np.full((4, 2), np.nan)):
        with pytest.raises(InvalidDataError, match="row of goals"):
            search.tell(bad)
