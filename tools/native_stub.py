"""Write the typed contract of the compiled core, src/weighbors/_native.pyi, from the core itself.

Run after a change of the bindings: ``make stub``, or ``python tools/native_stub.py`` where weighbors is installed.
nanobind lists every function for float32 and for float64, and arrays with their shapes. Here they get the names of
``weighbors._typing``, under which both are the same function.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from nanobind.stubgen import StubGen

from weighbors import _native

TARGET = Path(__file__).parent.parent / "src" / "weighbors" / "_native.pyi"
ARRAY = re.compile(r"(?:Annotated\[)?NDArray(?:\[numpy\.(\w+)\])?(?:, dict\(.*?\)\])?")
NAMES = {"float32": "FloatArray", "float64": "FloatArray", "int64": "IndexArray", "bool_": "BoolArray"}
HEADER = '''"""Typed contract of the compiled core, written by tools/native_stub.py: do not edit.

Arrays are C-contiguous and are never converted; the float arrays of a call have one dtype unless their comment in
src/native names another. The structs of src/native/types.hpp say what each argument is. A call processes the rows
[begin, end) only and releases the GIL, so that several threads can share one set of arrays.
"""
'''


def merge_overloads(text: str) -> str:
    """Return the stub with overloads that have become equal written once."""
    parts = re.split(r"(?<!@overload)\n(?=@overload\n|def |class |[A-Z_0-9]+: )", text)
    kept: list[str] = []
    for part in (part.strip("\n") for part in parts):
        if part not in kept:
            kept.append(part)
    names = [re.match(r"(?:@overload\n)?def (\w+)\(", part) for part in kept]  # None: a class or a constant
    count = Counter(name[1] for name in names if name)
    for i, name in enumerate(names):
        if name and count[name[1]] == 1:
            kept[i] = kept[i].removeprefix("@overload\n")
    return "\n\n".join(kept) + "\n"


def make_stub() -> str:
    """Return the text of the stub file."""
    generator = StubGen(_native)
    generator.put(_native)
    text = generator.get()
    text = text[text.index("\n\n") :] if text.startswith('"""') else text
    text = ARRAY.sub(lambda found: NAMES.get(found[1], "AnyArray"), text)
    text = re.sub(r"(References|SparseRows|PackedRows|PopulationTable)Float(32|64)", r"\1", text)
    text = re.sub(r"^([A-Z_0-9]+: \w+) = .*$", r"\1", text, flags=re.MULTILINE)  # constants differ between builds
    body = merge_overloads("\n".join(line for line in text.splitlines() if not line.startswith(("import ", "from "))))
    names = sorted(name for name in {*NAMES.values(), "AnyArray"} if name in body)
    overload = "from typing import overload\n\n" if "@overload" in body else ""
    text = f"{HEADER}\n{overload}from ._typing import {', '.join(names)}\n\n{body.lstrip()}"
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, encoding="utf8").stdout


def main() -> None:
    """Write the file, or with ``--check`` say whether it is up to date."""
    text = make_stub()
    if "--check" in sys.argv:
        sys.exit(0 if TARGET.read_text(encoding="utf8") == text else f"{TARGET.name} is out of date: run make stub")
    TARGET.write_text(text, encoding="utf8")


if __name__ == "__main__":
    main()
