"""The web service of the page on deployment answers over loopback as the model does, also to eight clients at once."""

import json
import runpy
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from support.tables import mixed_table

from weighbors import TableClassifier, WeightedKNeighborsClassifier

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "web_service.py"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A model, and the address of a server that loaded it from a file."""
    frame, path = mixed_table(), tmp_path_factory.mktemp("service") / "model.wb"
    model = TableClassifier(WeightedKNeighborsClassifier(3)).fit(frame.drop(columns="kind"), frame["kind"])
    model.save(path)
    server = runpy.run_path(str(PAGE))["make_server"](path, port=0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield model, f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    thread.join()
    server.server_close()


def post(address, body):
    with urlopen(Request(address, data=body, method="POST"), timeout=30) as answer:
        return json.loads(answer.read())


def rows_of(frame):
    return frame.to_json(orient="records").encode()


def test_it_is_short():
    assert len([line for line in PAGE.read_text("utf8").splitlines() if line.strip()]) <= 30


def test_it_answers_as_the_model_does(service):
    model, address = service
    new = mixed_table(30, seed=2).drop(columns="kind")
    expected = model.predict_table(new).reset_index(names="row").to_dict("records")
    assert post(address, rows_of(new)) == expected


def test_eight_clients_at_once(service):
    model, address = service
    new = mixed_table(40, seed=2).drop(columns="kind")
    expected = model.predict(new).tolist()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: post(address, rows_of(new.iloc[[i]]))[0]["prediction"], range(40)))
    assert found == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [(b"{", "Expecting"), (b'[{"size": 1}]', "the table lacks 2 of the 3 columns"), (b"[]", "lacks"), (b"3", "")],
)
def test_bad_requests_are_refused_with_a_reason(service, body, message):
    with pytest.raises(HTTPError) as caught:
        post(service[1], body)
    assert caught.value.code == 400
    assert message in json.loads(caught.value.read())["error"]
