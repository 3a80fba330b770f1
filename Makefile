# Everything from a bare python3 (3.11 or newer): each target sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
# Compiling all of scipy and scikit-learn takes longer than installing them: Python compiles, and keeps, what it imports.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
export PYTHONDONTWRITEBYTECODE :=
SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE $(shell find src -type f -not -name '*.pyc')

# No C++ compiler on the PATH: build with the one in the PyPI package ziglang, for this CPU.
ifeq ($(shell command -v $(or $(filter-out default,$(CXX)),c++) g++ clang++ 2>/dev/null),)
ZIG := $(CURDIR)/$(VENV)/zig
BUILD := CC=$(ZIG)/cc CXX=$(ZIG)/c++ CMAKE_ARGS="-DWEIGHBORS_MARCH_NATIVE=ON -DCMAKE_AR=$(ZIG)/ar -DCMAKE_RANLIB=$(ZIG)/ranlib"
COMPILER := $(VENV)/zig/c++
else
HERE := CMAKE_ARGS="-DWEIGHBORS_MARCH_NATIVE=ON -DWEIGHBORS_OPTIMIZATION=-O2"
endif

.PHONY: help demo dev test test-data slow sanitize fuzz kills bench lint stub stub-check docs docs-look house clean

help:
	@echo "make demo   tell what matters in real data: a summary here, and report.html"
	@echo "make dev    set up .venv for work on the sources: an editable copy, with what tests and lint need"
	@echo "make test   run the tests (make slow: the long studies; make test-data: those that need the papers' data sets)"
	@echo "make sanitize  run the tests of the compiled core under the address, undefined and thread sanitizers"
	@echo "make bench  measure against scikit-learn, FAISS and fast-select"
	@echo "make lint   ruff, mypy, clang-format, and the rules of imports"
	@echo "make house  count code lines, parameters, and the functions that some calls go through"
	@echo "make docs   build the documentation into docs/_build/html (make docs-look: look at it in a browser)"

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; this is " + sys.version)'
	@echo "setting up $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/zig/c++: $(VENV)/made
	@echo "no C++ compiler found: using the one in the package ziglang ..."
	@sh tools/zig_compiler.sh $(BIN)/python $(VENV)/zig

# $(VENV)/with-NAME: weighbors as it is in the sources now, with the extra or dependency group NAME of pyproject.toml.
# What it needs is installed while it is built.
$(VENV)/with-%: $(VENV)/made $(COMPILER) $(SOURCES)
	@if [ -e $(VENV)/editable ]; then $(MAKE) --silent --no-print-directory $(VENV)/needs-$* dev; else \
	  $(MAKE) --silent --no-print-directory -j2 $(VENV)/built $(VENV)/needs-$* && \
	  $(PIP) --no-deps --force-reinstall $(VENV)/built-wheel/*.whl; fi
	@rm -f $(VENV)/demo
	@touch $@

# For work on the sources: an editable copy for this CPU alone, which no other target replaces. Python is run as it stands
# in the sources; after a change of C++ `make dev` compiles what has changed.
dev: $(VENV)/made $(COMPILER)
	@$(MAKE) --silent --no-print-directory $(VENV)/needs-dev
	@echo "building the editable copy: compiling the core takes about a minute the first time ..."
	@$(BUILD) $(HERE) $(PIP) --no-deps --no-build-isolation --config-settings editable.rebuild=false \
	  --config-settings build-dir=build/editable --editable .
	@touch $(VENV)/editable
	@echo "now edit, and run for example: .venv/bin/python -m pytest tests/weighers/test_relief.py"

# The same for the demonstration, built for this CPU alone and at -O2, which takes a third of the time.
$(VENV)/demo: $(VENV)/made $(COMPILER) $(SOURCES)
	@if [ -e $(VENV)/editable ]; then $(MAKE) --silent --no-print-directory $(VENV)/needs-report dev; else \
	  $(MAKE) --silent --no-print-directory -j2 $(VENV)/built-here $(VENV)/needs-report && \
	  $(PIP) --no-deps --force-reinstall $(VENV)/built-here-wheel/*.whl; fi
	@$(BIN)/python -c "import weighbors.report, matplotlib.figure, jinja2, sklearn.datasets"  # compiles what it imports
	@rm -f $(VENV)/with-*
	@touch $@

$(VENV)/built $(VENV)/built-here: $(SOURCES)
	@echo "building weighbors: compiling the core takes one or two minutes ..."
	@rm -rf $@-wheel
	@$(BUILD) $(if $(filter %-here,$@),$(HERE)) $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps \
	  --config-settings build-dir=build/$(notdir $@) --wheel-dir $@-wheel .
	@touch $@

$(VENV)/needs-%: pyproject.toml
	@echo "installing what weighbors needs for $* ..."
	@$(BIN)/python tools/requirements.py $* > $@.txt
	@$(PIP) --requirement $@.txt
	@touch $@

demo: $(VENV)/demo
	@$(BIN)/weighbors demo --force

# Two processes share two cores: threads of BLAS on top of them would only wait for each other. Each process gets the
# tests of whole files at first, which share what takes long to set up, and takes tests from the other in the end.
test: $(VENV)/with-test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

# The tests that need the papers' data sets; WEIGHBORS_DATA names their directory. Without a summary line: see docs-look.
test-data: $(VENV)/with-test
	@test -f "$(WEIGHBORS_DATA)/MANIFEST.csv" || { echo "set WEIGHBORS_DATA to the directory of the data sets"; exit 2; }
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -qq -n 2 --dist worksteal -m "data and not slow"
	@echo "the tests that need the papers' data sets passed"

slow: $(VENV)/with-test
	$(BIN)/python -m pytest -m slow

# The compiled core is built once per set of sanitizers, in a directory of its own. Python itself is not instrumented, so
# the sanitizer's library is loaded first; Python frees little at its end, so leaks are not looked for.
SANITIZED_TESTS ?= tests/engine tests/weighers tests/votes tests/common/test_callers_arrays.py tests/fuzz
sanitize: $(VENV)/with-test
	@sh tools/sanitize.sh $(BIN)/python address,undefined build/sanitize-address "$(SANITIZED_TESTS)"
	@sh tools/sanitize.sh $(BIN)/python thread build/sanitize-thread "$(SANITIZED_TESTS)"

# Random cases against the oracles for some seconds; and processes, workers and schedulers killed at random moments.
FUZZ_SECONDS ?= 600
KILLS ?= 100
fuzz: $(VENV)/with-test
	@PYTHONPATH=tests $(BIN)/python -m fuzz $(FUZZ_SECONDS)

kills: $(VENV)/with-test
	@PYTHONPATH=tests $(BIN)/python -m fuzz.kills $(KILLS)

bench: $(VENV)/with-bench
	@for script in neighbors weighers intervals evolution backends imports study; do echo "== $$script"; $(BIN)/python benchmarks/$$script.py; done

# Nothing is built for it: the stub file of the core, which needs a built one, has a target of its own.
lint: $(VENV)/made $(VENV)/needs-lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror src/native/*
	$(BIN)/python tools/house.py --check

# The typed contract of the compiled core, from the core as it is built.
stub: $(VENV)/with-lint
	$(BIN)/python tools/native_stub.py

stub-check: $(VENV)/with-lint
	$(BIN)/python tools/native_stub.py --check

house: $(VENV)/with-lint
	@$(BIN)/python tools/house.py

docs: $(VENV)/with-docs
	@rm -rf docs/api/generated  # names that are gone would stay
	$(BIN)/python -m sphinx -E -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# Twelve pages as wide as a phone, a laptop and a large screen. Without a summary line: that of make test is the one that counts.
docs-look: $(VENV)/with-test
	$(BIN)/python -m pytest -qq tests/documentation
	@echo "the pages of the documentation were looked at in a browser"

clean:
	rm -rf $(VENV) build dist docs/_build docs/gallery docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
