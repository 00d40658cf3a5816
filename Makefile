# Two commands: `make demo` shows the main job on a built-in table, `make test` runs every check.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Bytecode is stored: tests start many processes, and each would compile all that it imports again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types layers unit format bench clean
.DEFAULT_GOAL := demo

# One installation serves both commands; it is redone only when the declared dependencies change.
$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "separatrix needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --no-compile --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(VENV)/installed
	$(BIN)/separatrix fit sample:diabetes --target progression --out demo

# The checks of the text need one processor and the tests the others, so they run together.
test: $(VENV)/installed
	@$(MAKE) --no-print-directory -j 4 lint types layers unit

lint: $(VENV)/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/installed
	$(BIN)/mypy

layers: $(VENV)/installed
	$(BIN)/lint-imports

# Two workers with one BLAS thread each: more threads than cores would only wait for each other.
# Compiled before: each worker would compile what both need.
unit: $(VENV)/installed
	-$(BIN)/separatrix compile
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

format: $(VENV)/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/installed
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[dev,bench]'
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) demo build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
