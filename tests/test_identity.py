"""Digests differ for different methods, functions and tables."""

import functools
import importlib
import types

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from weighbors import ReliefF
from weighbors._io.identity import describe, describe_function, digest

TEMPLATE = """
import numpy as np
LIMIT = {limit}
TABLE = np.arange({table})
def helper(x):
    return x + {helper}
class Model:
    def get_params(self, deep=False):
        return {{}}
    def fit(self, X, y):
        return {method}
class Scorer:
    def __call__(self, x):
        return x * {call}
def outer(number):
    array = np.full(3, number)
    def inner(x):
        return x + array.sum()
    return inner
def plain(x, by={default}, *, keyword={keyword}):
    return helper(x) * by
def nested(x):
    def deep(z):
        return z + {deep}
    return [deep(z) for z in x]
def constant(x):
    return x > LIMIT
def table(x):
    return TABLE[x]
"""
FIRST = {"limit": 1, "table": 3, "helper": 1, "method": 1, "call": 1, "default": 1, "keyword": 1, "deep": 1}


def module(**changed):
    made = types.ModuleType("__main__")
    exec(TEMPLATE.format(**{**FIRST, **changed}), made.__dict__)
    return made


def both(what):
    return digest(describe(what)), (describe_function(what) if not hasattr(what, "get_params") else None)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("plain", "default"),
        ("plain", "keyword"),
        ("plain", "helper"),
        ("nested", "deep"),
        ("constant", "limit"),
        ("table", "table"),
    ],
)
def test_an_edited_function_is_another_one(name, changed):
    same, again, edited = (both(getattr(made, name)) for made in (module(), module(), module(**{changed: 2})))
    assert same == again
    assert same[0] != edited[0]
    assert same[1] != edited[1]


def test_what_a_function_closes_over_counts():
    made = module()
    for kind in (lambda v: made.outer(v), lambda v: functools.partial(made.plain, v)):
        assert both(kind(1)) == both(kind(1))
        assert both(kind(1))[0] != both(kind(2))[0]
        assert both(kind(1))[1] != both(kind(2))[1]
    of_array = functools.partial(made.plain, by=np.arange(3))
    assert both(of_array)[1] != both(functools.partial(made.plain, by=np.arange(4)))[1]


def test_the_code_of_a_users_class_counts():
    assert digest(describe(module().Model())) == digest(describe(module().Model()))
    assert digest(describe(module().Model())) != digest(describe(module(method=2).Model()))
    assert both(module().Scorer())[0] != both(module(call=2).Scorer())[0]
    assert both(module().Scorer())[1] != both(module(call=2).Scorer())[1]


def test_functions_that_call_each_other_end():
    made = types.ModuleType("__main__")
    exec("def a(x):\n    return b(x)\ndef b(x):\n    return a(x)\n", made.__dict__)
    assert both(made.a) == both(made.a)
    assert both(made.a)[0] != both(made.b)[0]


def test_code_of_installed_packages_is_known_by_its_name():
    told = describe(make_pipeline(ReliefF(3), LogisticRegression()))
    assert "code" not in str(told)
    assert describe(np.median)["function"] == "numpy.median"


def test_a_study_computes_the_cell_of_an_edited_measure_again(tmp_path):
    from weighbors.evaluation import Study

    X, y = np.arange(24.0).reshape(12, 2), np.array([0, 1] * 6)

    def measure_of(level):
        def measure(model, X_train, y_train, X_test, y_test):
            return float(level)

        return measure

    def run(level):
        study = Study({"d": (X, y)}, {"m": LogisticRegression()}, tmp_path, cv=2, measures={"level": measure_of(level)})
        return study.run().cells["level"].tolist()

    assert run(1) == [1.0, 1.0]
    assert run(2) == [2.0, 2.0]


@pytest.mark.parametrize("place", ["site-packages", "dist-packages", "project"])
def test_packages_of_another_environment_are_not_the_users(tmp_path, monkeypatch, place):
    folder = tmp_path / "lib" / place
    folder.mkdir(parents=True)
    name = f"elsewhere_{place.replace('-', '_')}"
    (folder / f"{name}.py").write_text("class Model:\n    def fit(self, X, y):\n        return 1\n", encoding="utf8")
    monkeypatch.syspath_prepend(folder)
    described = describe(importlib.import_module(name).Model)
    assert ("code" in described) == (place == "project")
