"""Options of the test run, and which tests need the data sets of the papers, whose directory WEIGHBORS_DATA names."""

from pathlib import Path

import pytest

from weighbors.datasets import data_directory
from weighbors.exceptions import InvalidDataError


@pytest.fixture(scope="session")
def papers_data() -> Path:
    """The directory of the papers' data sets. A test that uses it gets the marker ``data``."""
    return data_directory()


@pytest.hookimpl(tryfirst=True)  # before -m selects by markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use `papers_data`, and skip all marked tests if the data sets are not here."""
    try:
        data_directory()
        skip = None
    except InvalidDataError as error:
        skip = pytest.mark.skip(reason=f"the papers' data sets are not here: {error}")
    for item in items:
        if "papers_data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.data)
        if skip and item.get_closest_marker("data"):
            item.add_marker(skip)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-level", help="run the compiled core at this CPU level, such as baseline or avx2")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--cpu-level"):
        from weighbors import _native

        _native.set_cpu_level(config.getoption("--cpu-level"))
