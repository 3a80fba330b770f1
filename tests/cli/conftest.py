"""The command line in this process: exit code, stdout and stderr."""

from typing import NamedTuple

import pytest
from support.tables import mixed_table

from weighbors.cli import main


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def weighbors(capsys, monkeypatch, tmp_path):
    """Run a command in an empty directory; a traceback anywhere fails the test."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Done(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def mixed(tmp_path):
    path = tmp_path / "mixed.csv"
    mixed_table().to_csv(path, index=False)
    return path
