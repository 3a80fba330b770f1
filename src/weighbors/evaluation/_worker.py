"""A worker process: takes cells from its parent, computes and writes them, says how they ended.

It dies with its parent: a thread reads the pipe, and the end of it ends the process, even in the
middle of a cell; Linux also ends it where that thread never gets its turn. Nothing is lost by
that, since cells are written whole.
"""

from __future__ import annotations

import importlib
import os
import pickle
import queue
import signal
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, cast

__all__ = ["main", "receive", "send"]

_LENGTH = struct.Struct("<Q")


def send(pipe: IO[bytes], message: Any, *, by_value: bool = False) -> None:
    """Write one message; ``by_value`` also takes classes and functions that cannot be imported elsewhere."""
    payload = _dumps()(message) if by_value else pickle.dumps(message)
    pipe.write(_LENGTH.pack(len(payload)))
    pipe.write(payload)
    pipe.flush()


@lru_cache
def _dumps() -> Callable[[Any], bytes]:
    """cloudpickle, which joblib brings (up to 1.5 inside itself); without it, plain pickle."""
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        with suppress(ImportError):
            return cast("Callable[[Any], bytes]", importlib.import_module(name).dumps)
    return pickle.dumps


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    raw = pipe.read(size)
    if raw is None or len(raw) < size:
        raise EOFError
    return raw


def receive_raw(pipe: IO[bytes]) -> bytes:
    """Read one message, still packed; EOFError where the other side is gone."""
    (size,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    return _exactly(pipe, size)


def receive(pipe: IO[bytes]) -> Any:
    """Read one message."""
    return pickle.loads(receive_raw(pipe))


def _listen(pipe: IO[bytes], inbox: queue.SimpleQueue[bytes]) -> None:
    try:
        while True:
            inbox.put(receive_raw(pipe))
    except (EOFError, OSError):
        os._exit(0)  # the parent is done, or dead


def _end_with_parent() -> None:
    """Ask Linux to end this process with the lane that started it."""
    if sys.platform == "linux":
        import ctypes

        with suppress(Exception):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def main() -> None:
    """Serve the parent over standard input and output until it closes them."""
    _end_with_parent()
    pipe_in, pipe_out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # what a method prints goes to stderr, not into the messages
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe_in, inbox), daemon=True).start()
    _serve(inbox, pipe_out)


def _serve(inbox: queue.SimpleQueue[bytes], pipe_out: IO[bytes]) -> None:
    from ._cell import run_cell

    job: Any = None
    data: Any = None
    while True:
        try:
            kind, content = pickle.loads(inbox.get())
            if kind == "job":
                job = content
                answer = "ready"
            elif kind == "data":
                data = content
                answer = "ready"
            else:
                cell, train, test, path = content
                answer = run_cell(job, data, cell, train, test, Path(path))
        except Exception:
            answer = "broken\n" + traceback.format_exc()
        sys.stdout.flush()
        send(pipe_out, answer)


if __name__ == "__main__":
    main()
