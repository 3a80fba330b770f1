#!/bin/sh
# Usage: zig_compiler.sh PYTHON DIRECTORY
# For machines without a C++ compiler: installs the one in the PyPI package ziglang and writes
# wrappers named cc, c++, ar and ranlib into DIRECTORY.
set -eu
python=$1
directory=$2
"$python" -m pip install --quiet --disable-pip-version-check ziglang
# the binary itself: inside pip's build environment "python -m ziglang" finds no package
zig=$("$python" -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')
mkdir -p "$directory"
for tool in cc c++ ar ranlib; do
  printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$zig" "$tool" > "$directory/$tool"
  chmod +x "$directory/$tool"
done
