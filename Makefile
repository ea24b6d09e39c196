# make run    audits the examples and leaves reports to open       make test   runs the whole suite
# Both set up .venv first; nothing else is needed than Python >= 3.11 and make.

PYTHON       ?= python3
VENV         ?= .venv
BENCH_VENV   ?= .venv-bench
EXTRAS       ?= data,sql,test,lint
WORKERS      ?= 2
OUT          ?= out
PYTEST_ARGS  ?=
FUZZ_SECONDS ?= 3600
BENCH_ARGS   ?=

SHELL        := /bin/bash
BIN          := $(VENV)/bin
STAMP        := $(VENV)/.installed
BENCH_STAMP  := $(BENCH_VENV)/.installed
PINS         := constraints.txt
EXAMPLES      = $(wildcard examples/*.toml)

.DEFAULT_GOAL := help
.PHONY: help setup run test fuzz same bench lint format papers docs pins clean
.DELETE_ON_ERROR:

help:  ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/make \1\t\2/' | expand -t 16

setup: $(STAMP)  ## make .venv with everything the tests and checks need

# $(1) environment, $(2) what to install. setuptools comes from the pins too, so that a build repeats.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Sievert needs Python >= 3.11, and $(PYTHON) is not one: make PYTHON=/path/to/python3.12 ..." >&2; exit 1; }
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install -qq --disable-pip-version-check -c $(PINS) pip setuptools
	$(1)/bin/python -m pip install -qq --disable-pip-version-check -c $(PINS) --no-build-isolation $(2)
endef

$(STAMP): pyproject.toml $(PINS)
	$(call install,$(VENV),-e '.[$(EXTRAS)]')
	@touch $@

$(BENCH_STAMP): pyproject.toml $(PINS)
	$(call install,$(BENCH_VENV),-e '.[bench]')
	@touch $@

# audit exits 1 when a file's own [accept] limits are exceeded: that is an answer, not a failure here.
run: setup  ## audit every example and leave an HTML report of each
	@mkdir -p $(OUT)
	@test -n "$(EXAMPLES)" || { echo "no examples/*.toml to audit" >&2; exit 1; }
	@for file in $(EXAMPLES); do \
	  report=$(OUT)/$$(basename $$file .toml).html; \
	  echo; echo "── sievert audit $$file --report $$report"; \
	  $(BIN)/sievert audit $$file --report $$report --force; code=$$?; \
	  test $$code -le 1 || { echo "sievert audit $$file ended with exit code $$code" >&2; exit $$code; }; \
	done
	@echo; echo "Open a report in a browser:"; \
	for file in $(EXAMPLES); do echo "  $(OUT)/$$(basename $$file .toml).html"; done

# Two workers with two BLAS threads each would fight for two cores.
test: export OPENBLAS_NUM_THREADS = 1
# Folders that live in memory spare the tests that write, sync and are killed the waits for a disk.
test: export PYTEST_DEBUG_TEMPROOT = $(shell test -w /dev/shm && echo /dev/shm)
# What one process compiled no other needs to compile again, whatever the surroundings say.
test: export PYTHONDONTWRITEBYTECODE =
test: setup  ## run every test and doctest (PYTEST_ARGS="-m 'not slow'" for a quick look)
	$(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

fuzz: setup  ## hostile arguments and files for an hour, releases killed at every system call
	SIEVERT_CRASH=long SIEVERT_FUZZ_SECONDS=$(FUZZ_SECONDS) SIEVERT_MUTANTS=100000 $(BIN)/python -m pytest -n $(WORKERS) -s tests/crash tests/fuzz tests/proofs/test_two_opinions.py $(PYTEST_ARGS)

same: setup  ## compare every answer about the examples, byte for byte, with the recording
	@mkdir -p $(OUT)
	$(BIN)/python tests/golden/same_output.py record $(OUT)/same_output.json.gz 2>/dev/null
	$(BIN)/python tests/golden/same_output.py compare tests/golden/same_output.json.gz $(OUT)/same_output.json.gz

lint: setup  ## ruff, formatting, types, and the arrows between the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports --no-logo

format: setup  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(BENCH_STAMP)  ## measure against peers, in an environment of its own (BENCH_ARGS=leakage for one)
	$(BENCH_VENV)/bin/python -m benchmarks $(BENCH_ARGS)

papers: setup  ## regenerate the tables and figures of the source papers
	@test -f papers/__main__.py || { echo "papers/ is not written yet" >&2; exit 1; }
	$(BIN)/python -m papers

pins:  ## write constraints.txt anew from the newest releases
	@rm -rf .venv-pins && $(PYTHON) -m venv .venv-pins
	.venv-pins/bin/python -m pip install -qq --upgrade pip setuptools
	.venv-pins/bin/python -m pip install -qq -e '.[data,test,lint,bench]'
	@{ sed '/^[^#]/,$$d' $(PINS); .venv-pins/bin/python -m pip freeze --all --exclude-editable; } > $(PINS).new
	@mv $(PINS).new $(PINS) && rm -rf .venv-pins && echo "$(PINS) is new; run .ci/run before you commit it"

docs: setup  ## build the documentation as HTML pages (no network); a warning is an error
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs $(OUT)/docs
	@echo "open $(OUT)/docs/index.html"

clean:  ## remove what the other targets made, but not the environments
	rm -rf $(OUT) build dist .bench .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
