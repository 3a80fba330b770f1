"""Where the papers' data sets are: WEIGHBORS_DATA, or ../shared/data beside the project."""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[2] / "shared" / "data"
if "WEIGHBORS_DATA" not in os.environ and (_BESIDE / "MANIFEST.csv").is_file():
    os.environ["WEIGHBORS_DATA"] = str(_BESIDE)


@pytest.fixture(scope="session")
def papers_data() -> Path:
    """The directory of data sets; tests that need it are skipped without it."""
    from weighbors.datasets import data_directory
    from weighbors.exceptions import InvalidDataError

    try:
        return data_directory()
    except InvalidDataError as error:
        pytest.skip(f"the papers' data sets are not here: {error}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-level", help="run the compiled core at this CPU level, such as baseline or avx2")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--cpu-level"):
        from weighbors import _native

        _native.set_cpu_level(config.getoption("--cpu-level"))
