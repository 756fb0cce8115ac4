# `make try` sets dslint up and shows it on a bad sample; `make test` sets up the tests and runs everything.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SAMPLE := samples/ds_config.json

.PHONY: try test lint docs gpu clean

$(BIN)/dslint: pyproject.toml hatch_build.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	@touch $(BIN)/dslint

$(VENV)/.tested: $(BIN)/dslint pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@

# The sample is bad on purpose, so the linter's exit status of 1 is what should happen.
try: $(BIN)/dslint
	@echo; echo '$$ dslint $(SAMPLE)'
	@$(BIN)/dslint --isolated $(SAMPLE); test $$? -eq 1
	@echo; echo '$$ dslint --diff --unsafe-fixes $(SAMPLE)'
	@$(BIN)/dslint --isolated --diff --unsafe-fixes $(SAMPLE); test $$? -eq 1

lint: $(VENV)/.tested
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n 2 -m 'not engine and not frameworks and not matrix and not gpu'

clean:
	rm -rf $(VENV) dist site rules/compiled.json
