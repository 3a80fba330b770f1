"""Serve a model of a table over HTTP: post a JSON list of rows, get labels and probabilities."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd

from weighbors import TableClassifier


def make_server(path: str, port: int = 8000) -> ThreadingHTTPServer:
    """Return a server on this computer that answers by the model in a file."""
    model = TableClassifier.load(path)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                table = model.predict_table(pd.DataFrame(json.loads(body)))
                status, answer = 200, table.reset_index(names="row").to_dict("records")
            except (TypeError, ValueError) as error:  # no JSON, missing columns: the message says which
                status, answer = 400, {"error": str(error)}
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    make_server(sys.argv[1]).serve_forever()
