"""A worker process: it receives cells from its parent, computes and writes them, and returns their status.

The process ends when its parent ends, even in the middle of a cell: a thread reads the pipe, and ends the process at
the end of the pipe. On Linux the kernel kills the process if this thread cannot run. No cell is left half written,
because cells are written in atomic writes.
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

_LENGTH = struct.Struct("<Q")


def send(pipe: IO[bytes], message: Any, *, by_value: bool = False) -> None:
    """Write one message to the pipe.

    With ``by_value`` the message may contain classes and functions that the other process cannot import.
    """
    payload = _find_dumps()(message) if by_value else pickle.dumps(message)
    # The length comes first, so that the reader knows where a message ends.
    pipe.write(_LENGTH.pack(len(payload)))
    pipe.write(payload)
    pipe.flush()


@lru_cache
def _find_dumps() -> Callable[[Any], bytes]:
    """Return the ``dumps`` function of cloudpickle, which joblib includes, or of pickle if there is no cloudpickle."""
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        with suppress(ImportError):
            return cast("Callable[[Any], bytes]", importlib.import_module(name).dumps)
    return pickle.dumps


def _read_exactly(pipe: IO[bytes], size: int) -> bytes:
    """Return the next ``size`` bytes of the pipe. Raise EOFError if there are fewer."""
    raw = pipe.read(size)
    if raw is None or len(raw) < size:
        raise EOFError
    return raw


def receive_raw(pipe: IO[bytes]) -> bytes:
    """Return one message without unpickling it. Raise EOFError if the other process has ended."""
    (size,) = _LENGTH.unpack(_read_exactly(pipe, _LENGTH.size))
    return _read_exactly(pipe, size)


def receive(pipe: IO[bytes]) -> Any:
    """Return one message, unpickled."""
    return pickle.loads(receive_raw(pipe))


def _listen(pipe: IO[bytes], inbox: queue.SimpleQueue[bytes]) -> None:
    """Put messages into the inbox. End this process when the pipe ends."""
    try:
        while True:
            inbox.put(receive_raw(pipe))
    except (EOFError, OSError):
        os._exit(0)  # the parent has finished or was killed


def _end_with_parent() -> None:
    """Ask Linux to kill this process when the thread that started it ends."""
    if sys.platform == "linux":
        import ctypes

        with suppress(Exception):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def main() -> None:
    """Answer the messages of the parent process on standard input and output until the parent ends."""
    _end_with_parent()
    pipe_in, pipe_out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Methods must not read or write the pipe by accident: standard input is empty, standard output is stderr.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # text that a method prints goes to stderr, so that it does not corrupt the messages
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe_in, inbox), daemon=True).start()
    _serve(inbox, pipe_out)


def _serve(inbox: queue.SimpleQueue[bytes], pipe_out: IO[bytes]) -> None:
    """Answer the messages of the parent: store a "job" or "data", and compute and write a "cell"."""
    from .cell import run_cell

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
        # Any error is an answer, so that the parent does not wait in vain.
        except Exception:
            answer = "broken\n" + traceback.format_exc()
        sys.stdout.flush()
        try:
            send(pipe_out, answer)
        except BrokenPipeError:
            os._exit(0)  # the parent was killed; a traceback would tell nobody anything


if __name__ == "__main__":
    main()
