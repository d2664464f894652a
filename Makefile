# Three commands matter: `make demo`, `make check` and `make test`. Each installs what it needs into .venv, once.
PYTHON ?= python3
OLDEST ?= python3.11
BIN := .venv/bin
# Empty is unset: pytest keeps the tests it has rewritten, which is half the time of collecting them.
export PYTHONDONTWRITEBYTECODE :=
IN_LOWEST := .venv-lowest/bin/python -m pytest
BUILT_OF := pyproject.toml CMakeLists.txt $(wildcard src/dpmic/_kernels/native/*)
# A compiler that is there must compile the kernels: an error in them would go unnoticed if numpy did their
# work, more slowly. Without one, and in the demo, numpy does it.
NATIVE ?= $(if $(shell command -v $(CXX) 2>/dev/null),required,auto)
.venv/demo.done: NATIVE = auto

.PHONY: help demo check test test-full test-lowest lint docs gallery dist bench bench-scale bench-synthetic audit clean

help:
	@echo "make demo       install into .venv, screen a real survey privately, write demo.html"
	@echo "make check      install what tests need, run the quick tests and ruff: on every change (90 seconds)"
	@echo "make test       run the slow tests too, and mypy: before a change lands (5 minutes)"
	@echo "make test-full  run all evidence: live oracle, exhaustive searches, audits; and test-lowest"
	@echo "make test-lowest  run the tests of make test with the lowest versions that pyproject.toml allows"
	@echo "make lint       ruff and mypy"
	@echo "make docs       build the documentation into site/index.html"
	@echo "make gallery    run the examples of the gallery, and write their pages, notebooks and figures (2 minutes)"
	@echo "make dist       build what a release consists of into dist/, install the wheel in a fresh environment"
	@echo "make bench      compare speed with fast-mine, side by side"
	@echo "make bench-scale  count 10^8 rows, beside DuckDB and Spark (4 GB of disk, minutes)"
	@echo "make bench-synthetic  compare errors with private synthetic data, MST of dpmm (15 minutes)"
	@echo "make audit      attack seven private computations a million times, write docs/results/audit.txt (half an hour)"
	@echo "make clean      remove .venv, .venv-lowest, .venv-synthetic and caches"

demo: .venv/demo.done
	@$(BIN)/dpmic demo
	@echo "(dpmic is in .venv: first run  . .venv/bin/activate)"

check: .venv/test.done
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@echo "dpmic: running the quick tests on all cores, a minute or so"
	@$(BIN)/python -m pytest -q -n auto -m "not slow and not full"

test: .venv/test.done
	@echo "dpmic: running the quick and the slow tests on all cores, some minutes"
	@$(BIN)/python -m pytest -q -n auto -rs
	@$(MAKE) --no-print-directory lint

test-full: .venv/full.done test-lowest
	@echo "dpmic: running all evidence, half an hour or so"
	@$(BIN)/python -m pytest -q -m full -n auto -rs

# Only this Python has wheels of all lowest versions. The warning is matplotlib's use of pyparsing.
ifneq ($(shell $(OLDEST) -c "print(1)" 2>/dev/null),)
test-lowest: .venv-lowest/test.done
	@echo "dpmic: running the tests with the lowest versions, some minutes"
	@$(IN_LOWEST) -q -n auto -rs -W ignore::pyparsing.warnings.PyparsingDeprecationWarning
	@$(IN_LOWEST) -q tests/data/engines --engine duckdb --engine dask
else
test-lowest:
	@echo "dpmic: $(OLDEST) was not found, so the lowest versions are not tested"
endif

lint: .venv/test.done
	@echo "dpmic: ruff and mypy"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

docs: .venv/docs.done
	@said=$$($(BIN)/python -m zensical build --clean --strict 2>&1) || { echo "$$said"; exit 1; }
	@echo "dpmic: open site/index.html"

gallery: .venv/test.done
	@$(BIN)/python docs/gallery/build.py

# The archive of sources, the wheel of this platform, and the one without the extension that serves all others.
TRY := import dpmic; x = range(-50, 51); print("dpmic", dpmic.__version__, dpmic.mice(x, [v * v for v in x]).mic)
dist: .venv/dist.done
	@rm -rf dist .venv-dist
	@echo "dpmic: building dist/"
	@DPMIC_NATIVE=off $(BIN)/python -m build --wheel --outdir dist . >dist.log 2>&1 || { cat dist.log; exit 1; }
	@DPMIC_NATIVE=$(NATIVE) $(BIN)/python -m build --outdir dist . >dist.log 2>&1 || { cat dist.log; exit 1; }
	@rm dist.log
	@echo "dpmic: installing the wheel into a fresh environment"
	@$(PYTHON) -m venv .venv-dist
	@.venv-dist/bin/python -m pip install --quiet --find-links dist "dpmic==$$($(BIN)/python -c 'import dpmic; print(dpmic.__version__)')"
	@cd .venv-dist && bin/python -c '$(TRY)' && printf 'x,y\n1,1\n2,4\n3,9\n4,16\n' | bin/dpmic score - x y --csv
	@rm -rf .venv-dist
	@ls -l dist

bench: .venv/full.done
	@$(BIN)/python benchmarks/peers.py

bench-scale: .venv/full.done
	@$(BIN)/python benchmarks/scale.py

# dpmm allows Python 3.10 and 3.11, and pins an OpenDP that is too old for us.
ifneq ($(shell $(OLDEST) -c "print(1)" 2>/dev/null),)
bench-synthetic: .venv/demo.done .venv-synthetic/dpmm.done
	@echo "dpmic: a minute for each synthetic table, a quarter of an hour or so"
	@$(BIN)/python benchmarks/synthetic.py --python .venv-synthetic/bin/python
else
bench-synthetic:
	@echo "dpmic: $(OLDEST) was not found, and dpmm needs it"
endif

audit: .venv/full.done
	@$(BIN)/python benchmarks/audits.py

clean:
	rm -rf .venv .venv-dist .venv-lowest .venv-synthetic dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
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
.venv/%.done: $(BUILT_OF) | .venv/pip.done
	@echo "dpmic: installing into .venv (extra: $*)"
	@DPMIC_NATIVE=$(NATIVE) $(BIN)/python -m pip install --quiet --editable '.[$*]'
	@$(BIN)/python -c 'import dpmic._kernels._native' 2>/dev/null || \
	  echo "dpmic: there is no C++ compiler, or it failed: numpy does the work, more slowly (make clean demo NATIVE=required says why)"
	@touch $@

# The lowest version of each requirement is a constraint, also of those that build. Spark is left out: 400 MB to build.
.venv-lowest/test.done: $(BUILT_OF)
	@echo "dpmic: installing the lowest versions into .venv-lowest"
	@$(OLDEST) -m venv --clear .venv-lowest
	@.venv-lowest/bin/python -m pip install --quiet --upgrade pip
	@grep -oE '"[a-z0-9-]+(\[[a-z]+\])?>=[0-9.]+"' pyproject.toml | sed -E 's/"|\[.*\]//g; s/>=/==/' >.venv-lowest/lowest.txt
	@DPMIC_NATIVE=$(NATIVE) .venv-lowest/bin/python -m pip install --quiet -c .venv-lowest/lowest.txt \
	  --build-constraint .venv-lowest/lowest.txt --editable '.[test,duckdb,dask]'
	@touch $@

.venv-synthetic/dpmm.done:
	@echo "dpmic: installing dpmm into .venv-synthetic"
	@$(OLDEST) -m venv --clear .venv-synthetic
	@.venv-synthetic/bin/python -m pip install --quiet --upgrade pip
	@.venv-synthetic/bin/python -m pip install --quiet dpmm==0.1.9
	@touch $@
