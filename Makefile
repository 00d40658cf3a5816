# Two commands: `make demo` shows the main job on a built-in table, `make test` runs every check.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Bytecode is stored: tests start many processes, and each would compile all that it imports again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types layers loops queue unit unit-1 unit-2 bounds bounds-computed format bench docs spark release lowest clean
.DEFAULT_GOAL := demo

# uv installs in seconds what takes pip a minute; where it cannot be had, or finds no index, pip does.
PIP := $(BIN)/python -m pip install -qq --no-compile --disable-pip-version-check
install = ($(PIP) uv && $(BIN)/uv pip install --quiet --python $(BIN)/python --editable $(1)) || $(PIP) --editable $(1)

# The library alone serves the demonstration; the checks need tools, too. Both are installed again
# only when the declared dependencies change.
$(VENV)/library: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "separatrix needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(call install,.)
	@touch $@

$(VENV)/tools: $(VENV)/library
	$(call install,'.[dev]')
	@touch $@

demo: $(VENV)/library
	$(BIN)/separatrix fit sample:diabetes --target progression --out demo

# Loops are compiled while the tools are installed and the text is checked.
test: $(VENV)/library
	@$(MAKE) --no-print-directory -j 4 lint types layers bounds-computed unit

lint: $(VENV)/tools
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

# Types live until the end: to look for garbage among them takes a quarter of the time.
types: $(VENV)/tools
	$(BIN)/python -c 'import gc, mypy.__main__ as mypy; gc.enable = gc.disable; gc.disable(); mypy.console_entry()'

layers: $(VENV)/tools
	$(BIN)/lint-imports

# Before the tests: each of their processes would compile what both need.
loops: $(VENV)/library
	-$(BIN)/separatrix compile

# Two processes share the modules of tests, with one BLAS thread each: more threads than cores would
# only wait for each other.
QUEUE := $(CURDIR)/$(VENV)/queue
SHARED := SEPARATRIX_TEST_QUEUE=$(QUEUE) OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

unit: unit-1 unit-2

unit-1 unit-2: queue
	$(SHARED) $(BIN)/python -m pytest

queue: loops $(VENV)/tools
	@rm -rf $(QUEUE) && mkdir $(QUEUE)

# Hostile numbers once more, with all loops compiled to check their bounds, into a cache of their own.
CHECKED := NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/bounds OPENBLAS_NUM_THREADS=1 \
	  $(BIN)/python -m pytest -q tests/laws/test_hostile_numbers.py

bounds: $(VENV)/tools
	$(CHECKED)

# Those loops among them that write where they computed: merges, trees, centers, boxes, working sets.
COMPUTED := linkages or Agglomerative or KMeans or KMedoids or Neighbors or BoxClassifier or Lasso

bounds-computed: $(VENV)/tools
	$(CHECKED) -k "$(COMPUTED)"

format: $(VENV)/tools
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/tools
	$(call install,'.[bench]')
	$(BIN)/python benchmarks/run.py

# The site, in docs/_build/html: it needs no network and no server.
docs: $(VENV)/tools
	$(call install,'.[docs]')
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# Spark is large and needs Java, so that `make test` skips it in words; here both are fetched.
spark: $(VENV)/tools
	$(call install,'.[spark]')
	$(PIP) install-jdk
	@test -n "$$JAVA_HOME" || command -v java >/dev/null || $(BIN)/python -c 'import jdk; print("Java:", jdk.install("17", jre=True))'
	JAVA_HOME=$${JAVA_HOME:-$$(command -v java >/dev/null || ls -d $$HOME/.jre/*17* | tail -1)} \
	  $(BIN)/python -m pytest -q tests/rows/test_spark.py tests/rows/test_equal_answers.py -k spark

# What would be published: built, installed in an environment of its own, checked and tried there.
# Python may be named, as in `make release VERSION=3.13`.
VERSION ?= 3.11
UV := $(BIN)/uv
APART := $(CURDIR)/$(VENV)/apart
fresh = rm -rf $(APART) && $(UV) venv --quiet --python $(VERSION) $(APART)
into = $(UV) pip install --quiet --python $(APART)/bin/python
tried = cd $(APART) && bin/separatrix fit sample:diabetes --target progression --models linear,ridge \
	  --no-reference --out tried && bin/separatrix verify tried sample:diabetes

release: $(VENV)/tools
	rm -rf dist
	$(UV) build --quiet
	$(fresh) && $(into) dist/*.whl && $(UV) pip check --python $(APART)/bin/python
	$(tried)
	@ls -l dist

# The same trial with the lowest versions that are declared.
lowest: $(VENV)/tools
	$(fresh) && $(into) --resolution lowest-direct -r pyproject.toml && $(into) --no-deps --editable .
	$(tried)

clean:
	rm -rf $(VENV) docs/_build docs/reference docs/gallery docs/outputs demo build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
