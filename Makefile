# Two commands matter: `make demo` and `make test`. Each installs what it needs into .venv, once.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test test-full lint docs bench bench-scale clean

help:
	@echo "make demo       install into .venv, screen a real survey privately, write demo.html"
	@echo "make test       install what tests need and run the quick ones (minutes)"
	@echo "make test-full  run the slow evidence: live oracle, exhaustive searches, audits"
	@echo "make lint       ruff and mypy"
	@echo "make docs       build the documentation into site/index.html"
	@echo "make bench      compare speed with fast-mine, side by side"
	@echo "make bench-scale  count 10^8 rows, beside DuckDB and Spark (4 GB of disk, minutes)"
	@echo "make clean      remove .venv and caches"

demo: .venv/demo.done
	@$(BIN)/dpmic demo

test: .venv/test.done
	@echo "dpmic: running the tests on all cores, some minutes"
	@$(BIN)/python -m pytest -q -n auto -rs
	@$(MAKE) --no-print-directory lint

test-full: .venv/full.done
	@echo "dpmic: running the slow evidence, half an hour or so"
	@$(BIN)/python -m pytest -q -m full -n auto -rs

lint: .venv/test.done
	@echo "dpmic: ruff and mypy"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

docs: .venv/docs.done
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "dpmic: open site/index.html"

bench: .venv/full.done
	@$(BIN)/python benchmarks/peers.py

bench-scale: .venv/full.done
	@$(BIN)/python benchmarks/scale.py

clean:
	rm -rf .venv site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -exec rm -rf {} +

.venv/pip.done:
	@$(PYTHON) -c 'import sys; v = sys.version_info; ok = v >= (3, 11); \
	  ok or print(f"dpmic: Python 3.11 or newer is needed, {v[0]}.{v[1]} was found; pass PYTHON=python3.12"); \
	  sys.exit(not ok)'
	@echo "dpmic: creating .venv"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

# One rule for each set of extras: .venv/demo.done installs dpmic[demo], and so on.
.venv/%.done: pyproject.toml | .venv/pip.done
	@echo "dpmic: installing into .venv (extra: $*)"
	@$(BIN)/python -m pip install --quiet --editable '.[$*]'
	@touch $@
