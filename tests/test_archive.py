"""Archives that would fill the memory are refused before they are unpacked; archives that were written can be read."""

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from weighbors import EvolutionaryWeigher, Weights, _archive
from weighbors._archive import DAMAGE, read_archive, read_arrays, write_archive
from weighbors.classifiers import TableModel
from weighbors.datasets import read_table
from weighbors.exceptions import CheckpointError, InvalidDataError, ModelFileError, WeightsFileError

ZEROS = 2**25  # bytes; zip packs zeros about a thousand times


@pytest.fixture(autouse=True)
def low_limit(monkeypatch):
    monkeypatch.setattr(_archive, "PLAIN_BYTES", 2**20)


@pytest.fixture
def bomb(tmp_path):
    """A model file, by its names, whose rows are zeros without end."""
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, header=np.array("{}"), about=np.array("{}"), numbers=np.zeros(ZEROS // 8))
    return path


def fitted_from(path):
    EvolutionaryWeigher(population_size=4, max_evaluations=4, checkpoint=path, resume=True).fit(np.eye(4), [0, 0, 1, 1])


@pytest.mark.parametrize(("read", "error"), [(read_archive, ValueError), (TableModel.load, ModelFileError),
                                             (Weights.load, WeightsFileError), (read_table, InvalidDataError),
                                             (fitted_from, CheckpointError)])  # fmt: skip
def test_a_bomb_is_refused_before_it_is_unpacked(bomb, read, error):
    assert bomb.stat().st_size < 2**16
    tracemalloc.start()
    try:
        with pytest.raises(error, match=r"its 0\.0 MiB would unpack to 32, more than 200 times as much"):
            read(bomb)
        assert tracemalloc.get_traced_memory()[1] < ZEROS / 8
    finally:
        tracemalloc.stop()


def test_many_names_for_one_part_count_each(tmp_path):
    path = tmp_path / "many.npz"
    part = np.zeros(2**16)  # half of the limit
    np.savez_compressed(path, **{f"x{i}": part for i in range(4)})
    with pytest.raises(ValueError, match="would unpack"):
        read_arrays(path)


def npy(shape, content=b""):
    """An array file that says to have a shape."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue() + content


@pytest.mark.parametrize(("content", "message"), [(npy((10**12,)), "should have 8000000000000 bytes and has 0"),
                                                  (npy((10**6, 10**6), bytes(80)), "and has 80"),
                                                  (npy((2,), bytes(80)), "should have 16 bytes and has 80"),
                                                  (b"no array", "magic string")])  # fmt: skip
def test_arrays_that_lie_about_their_size(tmp_path, content, message):
    path = tmp_path / "lie.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", content)
    with pytest.raises(ValueError, match=message):
        read_arrays(path)


def test_a_directory_that_lies_about_sizes(tmp_path, bomb):
    """Zip reads as many bytes as it declares, so a small number there only cuts the array off."""
    raw = bytearray(bomb.read_bytes())
    with zipfile.ZipFile(bomb) as archive:
        true = struct.pack("<I", archive.getinfo("numbers.npy").file_size)
    assert raw.count(true) >= 1
    path = tmp_path / "small.npz"
    path.write_bytes(raw.replace(true, struct.pack("<I", 1000)))
    with pytest.raises(DAMAGE, match="Bad CRC-32"):
        read_arrays(path)


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packing_is_refused(tmp_path, kind):
    path = tmp_path / "other.npz"
    with zipfile.ZipFile(path, "w", kind) as archive:
        archive.writestr("x.npy", npy((2,), bytes(16)))
    with pytest.raises(ValueError, match="packed in a way that numpy does not use"):
        read_arrays(path)


def test_what_is_written_can_be_read_however_regular(tmp_path):
    path, zeros = tmp_path / "regular.npz", np.zeros(ZEROS // 8)
    write_archive(path, {"format": "f"}, {"zeros": zeros})
    assert path.stat().st_size > ZEROS  # not packed
    header, state = read_archive(path)
    assert header["format"] == "f"
    np.testing.assert_array_equal(state["zeros"], zeros)
    for size in (2**16, 2**17 - 300, *range(2**17 - 60, 2**17 + 1, 6)):  # the last ones are about the limit
        write_archive(path, {}, {"zeros": zeros[:size]})
        assert len(read_archive(path)[1]["zeros"]) == size
        assert (path.stat().st_size < 2**14) == (size < 2**17 - 250)  # packed where it is small


def test_all_kinds_of_arrays_are_read(tmp_path):
    path = tmp_path / "kinds.npz"
    given = {
        "text": np.array(["a", "bü"]),
        "one": np.array(3.5),
        "none": np.zeros((0, 4)),
        "bits": np.eye(3, dtype=bool),
        "turned": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "named": np.zeros(2, dtype=[("é", "<f8")]),
    }
    np.savez(path, **given)
    found = read_arrays(path)
    assert list(found) == list(given)
    for name, array in given.items():
        np.testing.assert_array_equal(found[name], array)
