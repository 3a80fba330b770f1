"""Fuzzing: random cases against slow oracles, by seeds and by hypothesis.

A short share runs with all tests. ``WEIGHBORS_FUZZ=100`` runs a hundred times as many cases.
``WEIGHBORS_FUZZ_FROM`` is the first seed, so that several runs see different cases.
"""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz import checks, learner_checks, newer_checks

FACTOR, FIRST = int(os.environ.get("WEIGHBORS_FUZZ", "1")), int(os.environ.get("WEIGHBORS_FUZZ_FROM", "0"))
CASES = {"check_lazy": 6, "check_hnsw": 6, "check_search": 25, "check_population": 25}
CASES |= {check.__name__: 4 for check in learner_checks.LEARNER_CHECKS + newer_checks.NEWER_CHECKS}
CASES |= {"check_damaged_files": 40, "check_any_estimator": 20, "check_votes": 20}
SEEDED = checks.CHECKS + learner_checks.LEARNER_CHECKS + newer_checks.NEWER_CHECKS
#: Checks that also need a directory.
WITH_FILES = [checks.check_damaged_files, *newer_checks.NEWER_FILE_CHECKS]


@pytest.mark.parametrize("check", SEEDED, ids=lambda check: check.__name__)
def test_cases_by_seeds(check):
    if check is learner_checks.check_npdr:
        pytest.importorskip("statsmodels")
    if check is checks.check_hnsw:
        pytest.importorskip("faiss")
    for seed in range(FIRST, FIRST + FACTOR * CASES.get(check.__name__, 12)):
        checks.run_case(check, seed)


@pytest.mark.parametrize("check", WITH_FILES, ids=lambda check: check.__name__)
def test_cases_with_files(tmp_path, check):
    for seed in range(FIRST, FIRST + FACTOR * CASES.get(check.__name__, 6)):
        checks.run_case(check, seed, tmp_path)


@settings(max_examples=20 * FACTOR, deadline=None, derandomize=FACTOR == 1)
@given(st.integers(0, 2**32 - 1), st.sampled_from([checks.check_search, checks.check_population, checks.check_simba]))
def test_cases_by_hypothesis(seed, check):
    checks.run_case(check, seed)
