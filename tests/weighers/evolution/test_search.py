"""Operators and the ask/tell search, apart from any data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from weighbors import EvolutionaryWeigher, _native
from weighbors.exceptions import InvalidDataError
from weighbors.weighers.evolution import EvolutionSearch, Genome, Population, operators
from weighbors.weighers.evolution.operators import (
    differential,
    half_uniform,
    pick_three,
    reflect,
    restore_classes,
)

RNG = np.random.default_rng


@given(st.integers(4, 30), st.integers(0, 2**32 - 1))
def test_three_others_all_different(n, seed):
    picked = np.column_stack([np.arange(n), *pick_three(n, RNG(seed))])
    assert picked.min() >= 0
    assert picked.max() < n
    assert all(len(set(row)) == 4 for row in picked.tolist())


def test_the_three_are_uniform():
    counts = np.zeros((4, 6))
    for seed in range(4000):
        for place, row in enumerate(pick_three(6, RNG(seed))):
            counts[place, row[2]] += 1
    assert (counts[:, 2] == 0).all()
    others = counts[:3][:, [0, 1, 3, 4, 5]]
    assert (abs(others - 800) < 5 * np.sqrt(800)).all()


@given(st.integers(1, 8), st.integers(0, 60), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_hux_swaps_exactly_half_of_the_differing_bits(count, length, seed):
    rng = RNG(seed)
    a, b = rng.random((2, count, length)) < rng.random()
    child = half_uniform(a, b, rng)
    differ = (a != b).sum(axis=1)
    from_b = ((child != a) & (a != b)).sum(axis=1)
    assert ((from_b == differ // 2) | (from_b == differ - differ // 2)).all()  # one of the two children
    np.testing.assert_array_equal(child[a == b], a[a == b])  # matching bits are inherited


def test_hux_is_uniform_over_the_subsets_and_the_children():
    a, b = np.zeros((1, 5), dtype=bool), np.array([[True, True, False, True, True]])
    rng, seen = RNG(0), {}
    for _ in range(6000):
        child = tuple(half_uniform(a, b, rng)[0].tolist())
        seen[child] = seen.get(child, 0) + 1
    assert len(seen) == 6  # choose 2 of 4
    assert all(abs(count - 1000) < 5 * np.sqrt(1000) for count in seen.values())
    odd = np.array([[True, True, True, False, False]])
    sizes = [int(half_uniform(a, odd, rng).sum()) for _ in range(2000)]
    assert set(sizes) == {1, 2}  # floor(3 / 2) = 1 changes sides; the other child has the rest
    assert abs(sizes.count(1) - 1000) < 5 * np.sqrt(500)


@pytest.mark.parametrize("shape", [(0, 5), (1, 0), (1, 1), (3, 129), (4, 128), (9, 300)])
def test_hux_is_selection_sampling_with_one_number_per_differing_bit(shape):
    rng = RNG(shape[1])
    a, b = rng.random((2, *shape)) < 0.4
    for row in range(min(2, len(a))):
        b[row] = a[row] if row else ~a[row]  # all bits differ, or none
    differ = a != b
    uniform, other = rng.random(int(differ.sum()) + 1), rng.random(len(a)) < 0.5
    expected, numbers = a.copy(), iter(uniform)
    for i in range(len(a)):
        places = np.flatnonzero(differ[i])
        left, wanted = len(places), len(places) // 2
        for j in places:
            chosen = next(numbers) * left < wanted
            left, wanted = left - 1, wanted - int(chosen)
            if chosen != other[i]:
                expected[i, j] = b[i, j]
    child = np.empty_like(a)
    _native.cross_halves(target=a, partner=b, other=other, uniform=uniform, child=child)
    np.testing.assert_array_equal(child, expected)
    if len(uniform) > 1:
        with pytest.raises(ValueError, match="uniform"):
            _native.cross_halves(target=a, partner=b, other=other, uniform=uniform[:-2], child=child)


def test_a_class_is_lost_only_if_none_of_its_rows_is_selected():
    members = [np.arange(200), np.arange(200, 400)]
    bits = np.zeros((3, 400), dtype=bool)
    bits[:, 0] = True
    bits[1, 399] = True  # the last row of class 1, far behind the first ones
    bits[2, 210] = True
    before = np.ones_like(bits)
    repaired = restore_classes(bits, before, members, RNG(0))
    np.testing.assert_array_equal(repaired[1:], bits[1:])
    assert repaired[0].sum() == 201


@given(st.floats(-5, 5))
def test_reflection_stays_inside_and_leaves_the_inside(value):
    out = float(reflect(np.array([value]))[0])
    assert 0 <= out <= 1
    if 0 <= value <= 1:
        assert out == value
    elif -1 <= value < 0:
        assert out == pytest.approx(-value)
    elif 1 < value <= 2:
        assert out == pytest.approx(2 - value)


def test_differential_evolution(monkeypatch):  # paper 004, eqs. 4 and 5
    rng = RNG(0)
    x, a, b, c = rng.random((4, 200, 5))
    crossed = (differential(x, a, b, c, RNG(2)) != x).mean()
    assert 0.88 < crossed < 0.95  # 0.9, and one forced
    monkeypatch.setattr(operators, "RATE", 1.0)
    np.testing.assert_allclose(differential(x, a, b, c, RNG(1)), reflect(a + 0.8 * (b - c)))
    monkeypatch.setattr(operators, "RATE", 0.0)
    forced = differential(x, a, b, c, RNG(1))
    assert ((forced != x).sum(axis=1) == 1).all()  # one component always comes from the mutant
    assert differential(x[:, :0], a[:, :0], b[:, :0], c[:, :0], rng).shape == (200, 0)


def drive(search, fitness, budget):
    while search.evaluations < budget and not search.exhausted:
        asked = search.ask(budget - search.evaluations)
        search.tell(fitness(asked))
    return search


def ones(people):
    return people.bits.mean(axis=1) if people.bits.shape[1] else -((people.weights - 0.3) ** 2).sum(axis=1)


def test_it_finds_what_is_to_be_found():
    bits = drive(EvolutionSearch(Genome(("IS",), 60, 1), 30, RNG(0)), ones, 4000)
    assert bits.fitness.max() == 1
    reals = drive(EvolutionSearch(Genome(("FW",), 1, 8), 30, RNG(0)), ones, 6000)
    assert reals.fitness.max() > -1e-4
    np.testing.assert_allclose(reals.population.weights[reals.best()], 0.3, atol=1e-2)


def test_the_budget_is_kept_and_the_best_never_gets_worse():
    search = EvolutionSearch(Genome(("IS", "FW"), 20, 4), 10, RNG(0))
    seen, told = [], 0
    while search.evaluations < 507:
        asked = search.ask(507 - search.evaluations)
        told += len(asked)
        search.tell(ones(asked))
        seen.append(search.fitness.max())
    assert told == search.evaluations == 507
    assert seen == sorted(seen)
    assert search.ask(0).bits.shape[0] == 0


def test_a_trial_that_equals_its_target_is_not_asked_for():
    search = EvolutionSearch(Genome(("IS",), 12, 1), 6, RNG(0))
    search.tell(ones(search.ask()))
    for _ in range(60):
        before, asked = search.population, search.ask()
        places = search._asked[1]
        assert (asked.bits != before.bits[places]).any(axis=1).all()
        search.tell(np.zeros(len(asked)))


def test_a_part_that_is_on_changes():
    search = drive(EvolutionSearch(Genome(("IS", "FS", "IW", "FW"), 6, 3), 8, RNG(0)), ones, 24)
    assert search.population.weights.std() > 0
    assert not (search.population.bits == search.population.bits[0, 0]).all()


@pytest.mark.parametrize("tasks", [("IS",), ("FW",), ("IS", "FS", "IW", "FW")])
def test_state_and_restore_continue_to_the_bit(tasks):
    genome = Genome(tasks, 15, 4)
    whole = drive(EvolutionSearch(genome, 10, RNG(5)), ones, 600)
    half = EvolutionSearch(genome, 10, RNG(5))
    while half.evaluations < 300 and not half.exhausted:  # whole generations
        half.tell(ones(half.ask()))
    again = EvolutionSearch(genome, 10, RNG(0))
    again.load(half.state())
    drive(again, ones, 600)
    for key, value in whole.state().items():
        np.testing.assert_array_equal(again.state()[key], value, err_msg=key)


def test_misuse():
    genome = Genome(("IS",), 5, 1)
    with pytest.raises(InvalidDataError, match="at least 4"):
        EvolutionSearch(genome, 3, RNG(0))
    search = EvolutionSearch(genome, 5, RNG(0))
    with pytest.raises(InvalidDataError, match="before ask"):
        search.tell(np.zeros(5))
    with pytest.raises(InvalidDataError, match="first population has 5"):
        search.ask(4)
    search.ask()
    with pytest.raises(InvalidDataError, match="twice"):
        search.ask()
    with pytest.raises(InvalidDataError, match="between tell and ask"):
        search.state()
    for bad in (np.zeros(4), np.full(5, np.nan)):
        with pytest.raises(InvalidDataError, match="a number for each of 5 individuals"):
            search.tell(bad)


@pytest.mark.parametrize("tasks", [("FW",), ("IS", "FW")])
def test_a_population_that_is_all_alike_is_exhausted(tasks):
    search = EvolutionSearch(Genome(tasks, 4, 2), 5, RNG(0))
    search.tell(ones(search.ask()))
    assert not search.exhausted
    search.population = Population(np.full((5, 2), 0.3), np.ones((5, search.genome.n_bits), dtype=bool))
    assert len(search.ask()) == 0  # nothing would ever be asked again
    search.tell(np.zeros(0))
    assert search.exhausted


def test_a_spread_start_has_small_and_large_selections():
    genome = Genome(("IS",), 400, 1)
    half, spread = (
        EvolutionSearch(genome, 20, np.random.default_rng(0), start=start).population.bits.mean(axis=1)
        for start in ("half", "spread")
    )
    assert np.abs(half - 0.5).max() < 0.1
    # Individual i of 20 has bits with probability (i + ½) / 20: four standard deviations of 400 bits are at most .1.
    assert np.abs(spread - (np.arange(20) + 0.5) / 20).max() < 0.1


def test_a_spread_start_is_a_setting_of_the_estimator():
    X, y = load_wine(return_X_y=True)
    options = {"population_size": 20, "max_evaluations": 20, "random_state": 0}
    kept = {
        start: EvolutionaryWeigher("IS", start=start, **options).fit(scale(X), y).instance_support_.mean()
        for start in ("half", "spread")
    }
    assert kept["spread"] < 0.2 < kept["half"]  # of the first population, the smallest good selection is the fittest
    with pytest.raises(ValueError, match="'start' parameter of EvolutionaryWeigher must be"):
        EvolutionaryWeigher("IS", start="wide").fit(X, y)
