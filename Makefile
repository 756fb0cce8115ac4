# `make try` sets dslint up and shows it on a bad sample; `make test` sets up the tests and runs everything.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SAMPLE := samples/ds_config.json
CONFIGS ?= ../shared/corpus/configs
COUNT ?= 10000
MATRIX := 0.14.5,0.15.4,0.16.9,0.17.6,0.18.9,0.19.8
SECONDS ?= 60
FAR := not engine and not frameworks and not matrix and not gpu

.PHONY: try test lint quick docs engine bench parity gpu fuzz lock audit clean

$(BIN)/dslint: pyproject.toml hatch_build.py
	@$(PYTHON) -c 'import sys; sys.version_info < (3, 10) and sys.exit("dslint needs Python 3.10 or newer; name one: make try PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	@touch $@

# What tests and docs need, at the versions and with the hashes of the lock.
$(VENV)/.tested: $(BIN)/dslint requirements/ci.txt
	$(PIP) --require-hashes --requirement requirements/ci.txt
	@touch $@

$(VENV)/.documented: $(VENV)/.tested
	@touch $@

# DeepSpeed is built beside torch and what else stands before it in the file, without kernels: they are compiled when asked for.
$(VENV)/.engined: requirements/engine.txt $(VENV)/.tested
	$(PIP) $$(sed '/^deepspeed/,$$d; /^#/d' $<)
	DS_BUILD_OPS=0 $(PIP) --no-build-isolation --requirement $<
	@touch $@

# The sources of the few older releases without which some rules can't be shown.
$(VENV)/.released: $(VENV)/.engined $(shell find rules -name '*.yaml')
	DS_ACCELERATOR=cpu $(BIN)/python tests/engine/sources.py $(VENV)/releases
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

# Everything that needs no engine and no GPU.
test: lint $(VENV)/.documented
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n 2 -m '$(FAR)'

# What a change needs before it is committed: a minute or two.
quick: $(VENV)/.tested
	$(BIN)/python -m pytest -n 2 -m '$(FAR) and not slow'

# The site, in site/: docs/ and a page for every rule.
docs: $(VENV)/.documented
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo 'site/index.html'

# The rules' claims, each on the real DeepSpeed, and what else is held against it or a framework; installs them (some GB).
engine: export DS_ACCELERATOR = cpu
engine: export DSLINT_PROVE = 1
engine: export DSLINT_SDISTS = $(CURDIR)/$(VENV)/releases
engine: $(VENV)/.released
	$(BIN)/python -m pytest -m 'engine or matrix or frameworks' tests/engine/test_rules*.py
	$(BIN)/python -m pytest -n 2 -m 'engine or frameworks' --ignore-glob 'tests/engine/test_rules*.py'

# What dslint costs; what it gets right is measured by `make parity`, which wants an engine.
bench: $(VENV)/.tested
	@for file in bench/[a-z]*.py; do echo "$$file"; $(BIN)/python -m bench.$$(basename $$file .py) || exit 1; done

# dslint against the real DeepSpeedConfig on COUNT variants of the CONFIGS. DSLINT_SDISTS names a folder of unpacked releases,
# RELEASES those to ask; without it the installed one is asked. What was answered is kept in build/parity.
parity: $(VENV)/.engined
	DS_ACCELERATOR=cpu $(BIN)/python -m bench.parity --configs $(CONFIGS) --count $(COUNT) --sample 200 \
	  --releases $(or $(RELEASES),$(if $(DSLINT_SDISTS),$(MATRIX),$$($(BIN)/python -c 'import importlib.metadata as m; print(m.version("deepspeed"))')))

# Looks for inputs that dslint does not stand, SECONDS for each target; guided by coverage where atheris is installed.
fuzz: $(VENV)/.tested
	-$(PIP) --only-binary :all: atheris
	$(BIN)/python -m fuzz --seconds $(SECONDS)

# The lock is written anew: within the ranges of pyproject.toml, for every Python and system.
lock: $(BIN)/dslint
	$(PIP) uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.10 --generate-hashes --no-annotate \
		--custom-compile-command 'make lock' --extra test --extra docs --extra server pyproject.toml requirements/ci.in \
		--output-file requirements/ci.txt

# The lock held against the advisory database; says so, and does not fail, where that can't be reached.
audit: $(BIN)/dslint
	$(PIP) pip-audit
	$(BIN)/python requirements/audit.py

# CONFIGS is a folder of real configs, each of which is trained for some steps before and after its fixes. At most eight minutes;
# what is left then, the next call does.
gpu: $(VENV)/.engined
	$(BIN)/python -m bench.gpu --configs $(CONFIGS) --out bench/results/gpu.json

clean:
	rm -rf $(VENV) dist site rules/compiled.json rules/messages.compiled.json
