# Every target installs what it needs into .venv first; a second run finds the stamp and starts at once.
# The ordinary clients are used: pip, and through it uv, which installs the rest several times faster.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# XLA brings its own threads; a second pool inside BLAS only fights with it.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1

# Python would compile what it imports at the first import, or, told not to write, at every one: seconds each time.
INSTALL := $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python
unexport PYTHONDONTWRITEBYTECODE

# Two installers must not write into one environment at the same time.
.NOTPARALLEL:

.PHONY: help install demo test test-shapes test-system test-all faults mutants versions lock locked reproduce bench lint format types layers docs clean

help: ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gpssm needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

# The environment itself is an order-only prerequisite: its time stamp says nothing about what is installed in it.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(INSTALL) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(INSTALL) -e '.[docs]'
	@touch $@ $(VENV)/.installed

# The CPU build of PyTorch where it can be had: the default one brings gigabytes for graphics cards.
$(VENV)/.installed-bench: pyproject.toml | $(BIN)/python
	$(INSTALL) --torch-backend cpu -e '.[bench]' 2>/dev/null || $(INSTALL) -e '.[bench]'
	@touch $@ $(VENV)/.installed

install: $(VENV)/.installed-dev $(VENV)/.installed-docs ## Install the package with everything needed to work on it

demo: $(VENV)/.installed ## Identify a small system, draw the result and say where the figures are
	$(BIN)/python -m gpssm.demo $(DEMO_ARGS)

# Two processes, because compiling for many small tests keeps one core busy; a file stays in one of them, because its
# tests share what they compiled.
test: $(VENV)/.installed-dev ## Run the tests, without those that are slow or start processes
	$(BIN)/python -m pytest -m "not slow and not system" -n 2 --dist loadscope $(PYTEST_ARGS)

test-shapes: $(VENV)/.installed-dev ## Run the same tests with every annotated shape and type checked at run time
	GPSSM_TEST_SHAPES=1 $(BIN)/python -m pytest -m "not slow and not system" -n 2 --dist loadscope $(PYTEST_ARGS)

# In three runs: every compiled program takes mappings of memory, and one process may have 65 530 of them.
SYSTEM := GPSSM_TEST_SHAPES=1 $(BIN)/python -m pytest -m "system and not slow" -n 2 --dist loadscope
test-system: $(VENV)/.installed-dev ## Run the tests that start processes, kill, fuzz, or repeat long computations
	$(SYSTEM) tests/methods $(PYTEST_ARGS)
	$(SYSTEM) tests/predict tests/fitting tests/optimisers tests/evaluate tests/golden $(PYTEST_ARGS)
	$(SYSTEM) tests --ignore=tests/methods --ignore=tests/predict --ignore=tests/fitting --ignore=tests/optimisers \
		--ignore=tests/evaluate --ignore=tests/golden $(PYTEST_ARGS)

test-all: $(VENV)/.installed-dev ## Run all tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

faults: $(VENV)/.installed-dev ## Provoke faults of every kind and count the survived; FAULTS_ARGS=--many for thousands
	$(BIN)/python -m tests.faults $(FAULTS_ARGS)

mutants: $(VENV)/.installed-dev ## Change the mathematics in 150 places, one at a time, and count what the tests notice (hours; resumes)
	$(BIN)/python -m tests.mutants $(MUTANTS_ARGS)

versions: $(VENV)/.installed-dev ## Run the tests with the lowest versions allowed and with other Pythons; VERSIONS_ARGS=lowest for some
	.ci/versions $(VERSIONS_ARGS)

# Versions and digests of every package, for all systems and Pythons; it names no place that packages come from.
lock: $(VENV)/.installed-dev ## Write down the newest versions of everything in requirements.lock
	$(BIN)/uv pip compile --quiet pyproject.toml --extra dev --extra docs --universal --upgrade --generate-hashes \
		--no-emit-index-url --no-annotate --custom-compile-command "make lock" -o requirements.lock

locked: | $(BIN)/python ## Install exactly what requirements.lock says, for results that can be had again
	$(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock
	$(INSTALL) --no-deps -e .
	@touch $(VENV)/.installed $(VENV)/.installed-dev $(VENV)/.installed-docs

reproduce: $(VENV)/.installed-dev ## Run every experiment (hours; goes on where it was cut) and rebuild the pages of results
	$(BIN)/python -m experiments.reproduce $(REPRODUCE_ARGS)

BENCH_ARGS ?= --quick
bench: $(VENV)/.installed-bench ## Measure speed, memory and growth, also of peers; BENCH_ARGS= (empty) for the long version
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

lint: $(VENV)/.installed-dev ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.installed-dev ## Mend style and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.installed-dev ## Check types
	$(BIN)/pyright --pythonpath $(BIN)/python

layers: $(VENV)/.installed-dev ## Check who imports whom
	$(BIN)/lint-imports

# Everything anew each time: the API pages depend on the package, which Sphinx does not watch, and a page that has gone
# would stay.
docs: $(VENV)/.installed-docs ## Build the documentation; a warning is an error
	rm -rf docs/_build/html
	$(BIN)/python -m sphinx --fresh-env --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	@! grep -rlE --include='*.html' '<(script|link|img)[^>]+(src|href)="https?://' docs/_build/html \
		|| { echo "these pages load something from the network: they could not be read without one"; exit 1; }
	@echo "documentation is in $(abspath docs/_build/html)/index.html"

clean: ## Remove the environment and everything built
	rm -rf $(VENV) docs/_build .pytest_cache .jax_cache .ruff_cache .hypothesis .import_linter_cache
