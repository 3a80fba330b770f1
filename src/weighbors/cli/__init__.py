"""The command line. Each command is one file.

Results go to stdout, all other messages to stderr. The exit codes are: 0 no error, 1 failure of the system (full disk,
no memory, missing package), 2 wrong command line, 3 wrong data, 4 a study has failed cells, 130 interrupted.
"""

from ._app import main

__all__ = ["main"]
