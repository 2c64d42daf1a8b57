# `make run`: set up and take the quick tour. `make test`: set up with test extras and run the suite. `make faults`: break things.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: run test lint faults reproduce site clean
.DEFAULT_GOAL := run

run: $(VENV)/.installed
	$(BIN)/python run.py $(ARGS)

test: $(VENV)/.installed-test lint
	$(BIN)/python -m pytest -n auto $(ARGS)

# Kills, full disks, damaged files, hostile requests: what was lost, into docs/reliability.md.
faults: $(VENV)/.installed-test
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults --write $(ARGS)

# Every table and figure, from the corpora under ATD_DATA: about eight hours of one core. Call it again after a stop, and it goes on.
reproduce: $(VENV)/.installed-test
	$(BIN)/python docs/reproduce.py outputs/reproduce $(ARGS)

# The documentation as pages, into outputs/site; a warning fails.
site: $(VENV)/.installed-test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict $(ARGS)

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# A stamp per extra: a second call installs nothing unless pyproject.toml changed.
$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[platform]'
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache build dist *.egg-info
