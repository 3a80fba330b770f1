"""Seeds from ``random_state``."""

import ast
from pathlib import Path

import numpy as np

import weighbors
from weighbors._random import generators, seed_sequence


def test_seeds_are_made_in_one_place():
    package = Path(weighbors.__file__).parent
    defined = [
        path.name
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name == "seed_sequence"
    ]
    assert defined == ["_random.py"]


def test_every_kind_of_random_state():
    assert seed_sequence(7).entropy == 7
    first, second = (seed_sequence(np.random.RandomState(3)).entropy for _ in range(2))
    assert first == second
    assert seed_sequence(np.random.RandomState(4)).entropy != first
    assert seed_sequence(None).entropy != seed_sequence(None).entropy
    given = np.random.SeedSequence(5)
    assert seed_sequence(given) is given
    state = np.random.RandomState(0)
    assert generators(state, 1)[0].random() != generators(state, 1)[0].random()  # a RandomState moves on
