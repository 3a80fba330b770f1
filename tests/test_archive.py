"""Archives that would fill the memory are refused before they are unpacked; archives that were written can be read."""

import io
import struct
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest

from weighbors import EvolutionaryWeigher, TableClassifier, Weights
from weighbors._io import archive
from weighbors._io.archive import DAMAGE, read_archive, read_arrays, write_archive
from weighbors.blocks.sources import open_source
from weighbors.cli import main
from weighbors.datasets import read_table
from weighbors.exceptions import CheckpointError, InvalidDataError, ModelFileError, WeightsFileError

ZEROS = 2**25  # bytes; zip packs zeros about a thousand times


@pytest.fixture(autouse=True)
def low_limit(monkeypatch):
    monkeypatch.setattr(archive, "PLAIN_BYTES", 2**20)


@pytest.fixture
def bomb(tmp_path):
    """A model file, by its names, whose rows are zeros without end."""
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, header=np.array("{}"), about=np.array("{}"), numbers=np.zeros(ZEROS // 8))
    return path


def fitted_from(path):
    EvolutionaryWeigher(population_size=4, max_evaluations=4, checkpoint=path).fit(np.eye(4), [0, 0, 1, 1])


@pytest.mark.parametrize(("read", "error"), [(read_archive, ValueError), (TableClassifier.load, ModelFileError),
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


HOSTILE = r"""
import io, resource, sys, zipfile
import numpy as np
from weighbors import Weights
from weighbors.exceptions import WeighborsError
kind, path = sys.argv[1:]
if kind == "load":  # in a process of its own, whose memory no file has filled before
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        Weights.load(path)
    except WeighborsError:
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
elif kind == "array":  # a single array, as NumPy would read it: as a whole
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**8,)})
        file.truncate(8 * 10**8)
elif kind == "names":  # a directory of very many parts
    one = b"PK\x01\x02" + bytes(24) + b"\x01\x00" + bytes(16) + b"x"
    end = b"PK\x05\x06" + bytes(8) + (len(one) * 10**6).to_bytes(4, "little") + bytes(6)
    open(path, "wb").write(b"PK\x03\x04" + one * 10**6 + end)
elif kind == "header":
    np.savez_compressed(path, header=np.array("[" * 3 * 10**7))
else:  # zeros: the right header, in a small file
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        with archive.open("feature_weights.npy", "w", force_zip64=True) as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (2**26,)})
            for _ in range(512):
                file.write(bytes(2**20))
        buffer = io.BytesIO()
        np.save(buffer, np.array('{"format": "weighbors.Weights", "version": 1}'))
        archive.writestr("header.npy", buffer.getvalue())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
@pytest.mark.parametrize("kind", ["array", "names", "header", "zeros"])
def test_checking_a_hostile_file_takes_little_memory(tmp_path, kind):
    for step in (kind, "load"):
        script = [sys.executable, "-c", HOSTILE, step, str(tmp_path / "x.npz")]
        done = subprocess.run(script, capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 200  # MiB


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


@pytest.mark.parametrize("text", [
    "{'descr': '<f8', 'fortran_order': False, 'shape': (2,",  # TokenError
    "  {'a':1}\n {",  # IndentationError
    "{[]: 1}",  # TypeError
    "{'descr' '<f8' !}",  # SyntaxError
    "-" * 9000 + "1",  # RecursionError or MemoryError
    "(" * 9000,
    "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 3: 4}",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (True, 2.5)}",
    "{'descr': 'nonsense', 'fortran_order': False, 'shape': (2,)}",
])  # fmt: skip
def test_headers_that_numpy_cannot_parse_are_damage(tmp_path, text):
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(16)
    path, plain = tmp_path / "bad.npz", tmp_path / "bad.npy"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("header", "about", "weights", "X", "y"):
            archive.writestr(f"{name}.npy", content)
    plain.write_bytes(content)
    for read, error in ((TableClassifier.load, ModelFileError), (Weights.load, WeightsFileError),
                        (read_table, InvalidDataError), (fitted_from, CheckpointError)):  # fmt: skip
        with pytest.raises(error):
            read(path)
    with pytest.raises(InvalidDataError, match="cannot be mapped"):
        open_source(plain, None, piece_bytes=2**20)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(path), "--target", "y", "-o", str(tmp_path / "report.html")])
    assert ended.value.code == 3


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
