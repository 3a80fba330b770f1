"""The command line: one file per command that parses, calls one library function and prints.

Results go to stdout, everything else to stderr. Exit codes: 0 all is well, 1 the machine failed (disk
full, memory, a package that is missing), 2 the command line is wrong, 3 the data are, 4 a study has
failed cells, 130 interrupted.
"""

from ._app import main

__all__ = ["main"]
