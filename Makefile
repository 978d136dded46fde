# Needs Python 3.11 or newer, make and pip; everything else is installed into $(VENV).
#
#   make demo        a controlled task over real files
#   make test        the tests with contracts on, and the coverage gates
#   make check       format, lint, types, architecture, generated files
#   make gen         write the generated files        make gen-check   compare them
#   make prove       symbolic proofs of the spec      make bench       figures beside other libraries
#   make nightly     every test, many examples        make campaign    rounds of random search
#   make test-all    make test under each of $(VERSIONS) that this machine has
#   make clean       remove what the targets above made
#
# Another interpreter: make test PYTHON=/path/to/python3.12 VENV=.venv-3.12

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# One pip at a time may change the environment.
.NOTPARALLEL:

IS_NEW_ENOUGH := import sys; assert sys.version_info >= (3, 11)

# A name on PATH proves nothing (version managers leave shims that fail): each candidate is run.
ifndef PYTHON
PYTHON := $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
    if "$$p" -c '$(IS_NEW_ENOUGH)' >/dev/null 2>&1; then echo "$$p"; break; fi; done)
endif

VENV ?= .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
VERSIONS ?= 3.11 3.12 3.13

# Counts, to be set on the command line. EXAMPLES: per hypothesis test.
PYTEST_ARGS ?=
NIGHTLY_EXAMPLES ?= 5000
CAMPAIGN_ROUNDS ?= 10
CAMPAIGN_EXAMPLES ?= 2000
CAMPAIGN_SEED ?= 1
CAMPAIGN_TESTS ?= tests/property tests/faults tests/integration/test_store_processes.py

# Decided in full: whatever is pure. The rest also meets clocks, threads and platforms.
PURE := */chongming_spec/*,*/chongming_task/core/*
UNMEASURED := */chongming_spec/conformance/*,*/_generated_*

.PHONY: help demo test check gen gen-check prove bench nightly campaign test-all clean

help:
	@sed -n '3,12p' Makefile | sed 's/^# \{0,1\}//'

# ---------------------------------------------------------------- environments

$(VENV)/.stamp-venv:
	@if [ -z "$(PYTHON)" ]; then echo 'Python 3.11 or newer is needed; say which with PYTHON=...' >&2; exit 1; fi
	@"$(PYTHON)" -c '$(IS_NEW_ENOUGH)' || { echo '$(PYTHON) is not Python 3.11 or newer' >&2; exit 1; }
	rm -rf $(VENV)
	"$(PYTHON)" -m venv $(VENV) 2>/dev/null || { \
	    "$(PYTHON)" -m venv --clear --without-pip $(VENV) && \
	    "$(PYTHON)" -m pip --python $(PY) install --quiet pip; }
	$(PIP) install --upgrade 'pip>=25.1'
	touch $@

# The library and its two dependencies.
$(VENV)/.stamp-run: pyproject.toml $(VENV)/.stamp-venv
	$(PIP) install --editable .
	touch $@

$(VENV)/.stamp-test $(VENV)/.stamp-check $(VENV)/.stamp-prove $(VENV)/.stamp-bench: \
    $(VENV)/.stamp-%: pyproject.toml $(VENV)/.stamp-run
	$(PIP) install --group $*
	touch $@

# ---------------------------------------------------------------- targets

demo: $(VENV)/.stamp-run
	$(PY) docs/examples/demo.py

test: $(VENV)/.stamp-test
	CHONGMING_CONTRACTS=1 $(PY) -m coverage run -m pytest $(PYTEST_ARGS)
	$(PY) -m coverage report --include='$(PURE)' --fail-under=100
	$(PY) -m coverage report --omit='$(PURE),$(UNMEASURED)' --fail-under=90

# mypy reads the tests too, so their libraries have to be there.
check: $(VENV)/.stamp-check $(VENV)/.stamp-test
	$(PY) -m ruff format --check
	$(PY) -m ruff check
	$(PY) -m mypy --strict
	$(BIN)/lint-imports
	PYTHONPATH=spec $(PY) -m chongming_gen --check

gen: $(VENV)/.stamp-check
	PYTHONPATH=spec $(PY) -m chongming_gen

gen-check: $(VENV)/.stamp-check
	PYTHONPATH=spec $(PY) -m chongming_gen --check

prove: $(VENV)/.stamp-prove $(VENV)/.stamp-test
	PYTHONPATH=. $(PY) tests/prove/gate.py

bench: $(VENV)/.stamp-bench
	$(PY) -m benchmarks

nightly: $(VENV)/.stamp-test $(VENV)/.stamp-prove
	CHONGMING_CONTRACTS=1 CHONGMING_PROFILE=nightly CHONGMING_EXAMPLES=$(NIGHTLY_EXAMPLES) \
	    $(PY) -m pytest -m 'nightly or not nightly' -o faulthandler_timeout=0 $(PYTEST_ARGS)

# Each round has its own seed; the failing round is repeated by CAMPAIGN_SEED=<its seed> CAMPAIGN_ROUNDS=1.
campaign: $(VENV)/.stamp-test
	@seed=$(CAMPAIGN_SEED); last=$$((seed + $(CAMPAIGN_ROUNDS))); \
	while [ $$seed -lt $$last ]; do \
	    echo "campaign: seed $$seed, $(CAMPAIGN_EXAMPLES) examples per test"; \
	    CHONGMING_CONTRACTS=1 CHONGMING_PROFILE=nightly CHONGMING_EXAMPLES=$(CAMPAIGN_EXAMPLES) \
	    CHONGMING_FAULTS=campaign CHONGMING_FAULTS_SEED=$$seed \
	        $(PY) -m pytest $(CAMPAIGN_TESTS) -q -m 'nightly or not nightly' \
	        -o faulthandler_timeout=0 --hypothesis-seed=$$seed $(PYTEST_ARGS) || exit 1; \
	    seed=$$((seed + 1)); \
	done

test-all:
	@ran=; \
	for v in $(VERSIONS); do \
	    found=; \
	    for p in python$$v "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$v.*/bin/python$$v; do \
	        if "$$p" -c '$(IS_NEW_ENOUGH)' >/dev/null 2>&1; then found=$$p; break; fi; \
	    done; \
	    if [ -z "$$found" ]; then echo "test-all: no Python $$v here, left out"; continue; fi; \
	    echo "test-all: Python $$v"; \
	    $(MAKE) test PYTHON="$$found" VENV=.venv-$$v || exit 1; \
	    ran="$$ran $$v"; \
	done; \
	if [ -z "$$ran" ]; then echo 'test-all: found none of $(VERSIONS)' >&2; exit 1; fi; \
	echo "test-all: passed under$$ran"

clean:
	rm -rf .venv .venv-* build dist .coverage .coverage.* htmlcov
	rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find spec src models tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
