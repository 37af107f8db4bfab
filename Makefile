# Everything a developer or CI runs. `make` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test lint fmt exhaustive oracle goldens sinks ends bench java clean

help: ## This list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet "pip>=25.1"
	@# pyspark-client, which Airflow's Spark provider needs, owns the same files as pyspark: pyspark has to come last.
	$(BIN)/pip install --quiet -c constraints.txt apache-airflow-providers-apache-spark
	$(BIN)/pip install --quiet -c constraints.txt --group test --group lint -e ".[spark,s3]"
	@touch $@

java: ## A Java runtime, installed with the system's package manager when there is none
	@sh demo/java.sh

demo: $(READY) java ## A real query: waited for, gated, backed up, broken, rolled back, proven right (2 minutes)
	$(BIN)/python demo/run.py

test: $(READY) java .kafka/.ready ## Every test that CI runs, on two processes
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

lint: $(READY) ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(READY) ## Format and mend what ruff can
	$(BIN)/ruff check --fix . || true
	$(BIN)/ruff format .

exhaustive: $(READY) java ## The tests that are sampled in `make test`, in full
	CKPT_EXHAUSTIVE=1 $(BIN)/python -m pytest -q tests/lifecycle tests/spark tests/differential tests/airflow --timeout 1800

oracle: $(READY) java ## The whole oracle corpus, put to real Spark anew, and 300 random cases (60 minutes; SEED=N repeats)
	$(BIN)/python -m tests.oracle.run verify
	$(BIN)/python -m tests.oracle.sweeping verify
	$(BIN)/python -m tests.oracle.sweeping random $(if $(SEED),--seed $(SEED))

goldens: $(READY) java ## Write the checkpoints of the installed Spark anew and compare with those recorded
	$(BIN)/python tests/golden/generate.py --root $$(mktemp -d) verify

sinks: $(READY) java .venv-lakes/.ready .venv-hudi/.ready ## Rollbacks into real Delta, Iceberg, Hudi tables (8 minutes), and where these end
	CKPT_SINKS=1 $(BIN)/python -m pytest -q tests/spark/test_sinks.py tests/source_ends/test_tables.py --timeout 1800

.venv-%/.ready: tests/sinks/%.txt
	$(PYTHON) -m venv --clear .venv-$*
	.venv-$*/bin/pip install --quiet "pip>=25.1"
	.venv-$*/bin/pip install --quiet "$$(grep == $<)"
	@touch $@

.kafka/.ready: tests/kafka.xml
	@sh tests/maven.sh
	rm -rf .kafka
	mvn -q -B -f $< dependency:copy-dependencies
	@touch $@

ends: java .kafka/.ready ## The tests without Spark on both ends of the supported ranges of Python and Airflow
	sh tests/ends.sh

bench: $(READY) java ## Costs, as ratios measured in one run
	$(BIN)/python bench/run.py

clean: ## Remove what make has made
	rm -rf $(VENV) .venv-* .kafka .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
