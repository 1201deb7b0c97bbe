# Everything that people and CI run. Each target makes .venv first, and again only when what it
# is made from has changed.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# The samples for trying things on, when they lie beside the checkout; tests skip without them.
CLICKGYM_DATA ?= $(wildcard $(abspath ../shared/data))
export CLICKGYM_DATA
# One BLAS or OpenMP thread a process: several on a small machine slow each other down.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-slow check bench docs setup clean

setup: $(READY)

$(READY): setup.cfg pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once; a minute or two)"
	@$(PYTHON) -c 'import sys; sys.exit("clickgym needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all]'
	@touch $@

demo: $(READY)
	$(BIN)/clickgym demo

test: $(READY)
	$(BIN)/python -m pytest -c tests/pytest.ini tests -n 2 --dist worksteal -m 'not slow'

test-slow: $(READY)
	$(BIN)/python -m pytest -c tests/pytest.ini tests -m slow || test $$? -eq 5  # 5: none is

check: $(READY)
	$(BIN)/ruff check .
	@mkdir -p .typing && ln -sfn .. .typing/clickgym
	$(BIN)/mypy --config-file setup.cfg
	$(BIN)/lint-imports --config setup.cfg --no-logo --no-cache
	$(BIN)/python tests/architecture.py

bench: $(READY)
	$(BIN)/python benchmarks environments
	$(BIN)/python benchmarks rewards
	$(BIN)/python benchmarks scores
	$(BIN)/python benchmarks reading
	$(BIN)/python benchmarks ppo
	$(BIN)/python benchmarks ratings
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks recommenders
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks off_policy
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks given_set
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks counterfactual
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks warning_signs
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks caution
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks clickmodels --out runs/bench
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks growth --no-ncm --json runs/bench/growth.json
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks growth --members --json runs/bench/members.json

docs: $(READY)
	$(BIN)/python -m pytest -c tests/pytest.ini tests/test_docs.py -n 2 --dist worksteal

clean:
	rm -rf $(VENV) build dist *.egg-info .typing .mypy_cache .ruff_cache .pytest_cache
