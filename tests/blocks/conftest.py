"""Tables in blocks: how much memory a task may use, and arrays that are mapped from a file."""

import numpy as np
import pytest


@pytest.fixture
def task_bytes(monkeypatch):
    """Set the memory of a task, from which the sizes of blocks follow."""
    return lambda limit: monkeypatch.setattr("weighbors.blocks.table.TASK_BYTES", limit)


@pytest.fixture
def mapped(tmp_path):
    """Write an array to a file and map it."""

    def write(array):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npy"
        np.save(path, array)
        return np.load(path, mmap_mode="r")

    return write
