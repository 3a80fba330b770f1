#!/bin/sh
# Build weighbors with sanitizers into a directory of its own, and run tests with it.
# Usage: sanitize.sh PYTHON SANITIZERS DIRECTORY TESTS, for example sanitize.sh python3 address,undefined build/x tests/engine
set -e
python=$1 sanitizers=$2 place=$3 tests=$4
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target "$place" \
  --config-settings build-dir="$place-objects" --config-settings cmake.define.WEIGHBORS_SANITIZE="$sanitizers" \
  --config-settings cmake.define.WEIGHBORS_MARCH_NATIVE=ON $SANITIZE_PIP_OPTIONS .
case $sanitizers in
  # polars has an allocator of its own, which crashes under the thread sanitizer: its tests are skipped.
  thread) library=libtsan.so hidden=polars ;;
  *) library=libasan.so hidden=none ;;
esac
# The import hook of an editable install would find its own core first, and the tests would run without sanitizers.
run="import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == '$hidden':
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
sys.meta_path[:] = [one for one in sys.meta_path if type(one).__name__ != 'ScikitBuildRedirectingFinder']
import pytest, weighbors._native as core
assert core.__file__.startswith(__import__('os').path.abspath('$place')), core.__file__
sys.exit(pytest.main(sys.argv[1:]))"
echo "running tests under the sanitizers $sanitizers ..."
# A sanitizer maps its shadow memory at fixed addresses, which random layouts of memory may occupy: setarch -R. When it
# is loaded, it looks for the function that throws exceptions, so the library of C++ must be there too. What it reports
# is written past Python: --capture=sys lets it through. The thread sanitizer does not see how the threads of other
# libraries (OpenMP) wait for each other, so it does not look at what these libraries write.
LD_PRELOAD="$(${CC:-cc} -print-file-name=$library) $(${CC:-cc} -print-file-name=libstdc++.so.6)" PYTHONPATH="$place" PYTHONMALLOC=malloc OPENBLAS_NUM_THREADS=1 \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
  TSAN_OPTIONS=exitcode=66:halt_on_error=1:detect_deadlocks=0:ignore_noninstrumented_modules=1 \
  setarch -R "$python" -c "$run" -q -x --capture=sys -m "not slow" -p no:cacheprovider $tests
