# Everything a developer or CI runs. `make` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# What one process has compiled, the hundreds that the tests start do not compile again, whatever the machine's default is.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help postgres docs compose compose-needs compose-says browser-says demo unit unit-1 unit-2 one near test lint fmt exhaustive interleavings tears fences walk browser dags deploys oracle goldens pipelines engines sinks source-changes thirty symptoms matrix failures sparks ends bench java wheels zipapp light provider clean docs-run

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
	@sh tests/install.sh java

postgres: ## PostgreSQL's server, installed with the system's package manager when there is none
	@sh tests/install.sh postgresql

demo: $(READY) java ## A real query: waited for, gated, backed up, broken, rolled back, proven right (2 minutes)
	$(BIN)/python demo/run.py

unit: .venv-unit/.ready ## The fast tests, in a minute without Java, Airflow, Spark or network; the branches of the pure modules
	@$(MAKE) --no-print-directory --keep-going --jobs 2 unit-1 unit-2
	.venv-unit/bin/slipcover --branch --skip-covered --fail-under 97 --merge .coverage.1 .coverage.2 --out .coverage

unit-1 unit-2: unit-%: # Each half in a process of its own, which imports its own test files alone
	CKPT_HALF=$* .venv-unit/bin/python -m pytest -q -m unit -p tests.measuring

# What the command needs, and pytest; the package itself is that of the tree.
.venv-unit/.ready: pyproject.toml constraints.txt packaging/divide.py
	$(PYTHON) -m venv --clear .venv-unit
	.venv-unit/bin/pip install --quiet "pip>=25.1"
	.venv-unit/bin/pip install --quiet -c constraints.txt --group unit ./packaging/spark-ckpt
	.venv-unit/bin/pip uninstall --quiet --yes spark-ckpt
	@touch $@

one: $(READY) ## One test file, or one test of it: make one T=tests/codec/test_layout.py
	$(BIN)/python -m pytest $(T)

near: $(READY) ## The tests that your changes reach by imports (SINCE=main: all since a commit)
	@tests="$$($(BIN)/python -m tests.near --since $(or $(SINCE),HEAD))"; \
	  if [ -z "$$tests" ]; then echo "No test is reached."; exit; fi; \
	  $(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder $$tests

test: $(READY) java postgres .spark.jsa .kafka/.ready .kafka-connector/.ready ## Every test that CI runs, on three processes, and the slowest 200
	$(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder --durations=200

# What the Sparks of the tests load of their classes, read and parsed once; nothing fails without it.
.spark.jsa: $(READY) | java
	@$(BIN)/python -m tests.jvm

lint: $(READY) ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(READY) ## Format and mend what ruff can
	$(BIN)/ruff check --fix . || true
	$(BIN)/ruff format .

exhaustive: $(READY) java postgres .kafka/.ready .kafka-connector/.ready ## The tests that are sampled in `make test`, in full
	CKPT_EXHAUSTIVE=1 $(BIN)/python -m pytest -q --timeout 1800

interleavings: $(READY) ## The protocols in every order of their calls: queries, changes, backups, prunes, crashes (10 minutes)
	$(BIN)/python -m tests.interleavings.run

tears: $(READY) java ## 2,000 random tears of checkpoints, salvaged as brute force would, 100 of them started; a sink log beside killed drivers (SEED=N, TEARS=N, STARTS=N)
	$(BIN)/python -m tests.changes.salvage.run --count $(or $(TEARS),2000) --seed $(or $(SEED),0)
	$(BIN)/python -m tests.changes.salvage.start --count $(or $(STARTS),100) --seed $(or $(SEED),0)
	$(BIN)/python -m tests.changes.repair.killed_drivers --seed $(or $(SEED),0)

fences: $(READY) java .s3a/.ready ## 300 fences against live queries of real Spark, on disk and over an S3 API (SEED=N, FENCES=N)
	$(BIN)/python -m tests.changes.fence.run --fences $(or $(FENCES),300) --seed $(or $(SEED),1)

walk: $(READY) java .kafka/.ready .kafka-connector/.ready ## Random walks of changes over queries of real Spark: rows, forecasts, undos to the byte (an hour; SECONDS=N SEED=N WORKERS=N)
	$(BIN)/python -m tests.walk.run --seconds $(or $(SECONDS),3600) --seed $(or $(SEED),1) --workers $(or $(WORKERS),2)

browser: browser-says $(READY) postgres ## The Airflow pages in a real browser, on a real Airflow with PostgreSQL (10 minutes)
	@sh tests/install.sh chromium
	CKPT_BROWSER=1 $(BIN)/python -m pytest -q tests/browser

dags: $(READY) java postgres .kafka/.ready .kafka-connector/.ready ## Each DAG of dags/ by the names of queries of one ckpt.yaml, in a real Airflow on PostgreSQL, good and bad; a table (20 minutes)
	CKPT_EXHAUSTIVE=1 $(BIN)/python -m pytest -v --timeout 1800 tests/airflow/by_name

deploys: $(READY) java postgres ## Good and bad blue-green deploys in a real Airflow, beside live queries of real Spark (40 minutes)
	$(BIN)/python -W ignore -m tests.deploys.run $(CASES)

oracle: $(READY) java ## The whole oracle corpus, put to real Spark anew, and 300 random cases (60 minutes; SEED=N repeats)
	$(BIN)/python -m tests.oracle.run verify
	$(BIN)/python -m tests.oracle.sweeping verify
	$(BIN)/python -m tests.oracle.sweeping random $(if $(SEED),--seed $(SEED))

goldens: $(READY) java ## Write the checkpoints of the installed Spark anew and compare with those recorded
	$(BIN)/python tests/golden/generate.py --root $$(mktemp -d) verify

sinks: $(READY) java .venv-lakes/.ready .venv-hudi/.ready ## Rollbacks into real Delta, Iceberg, Hudi tables, and what stops queries on them (20 to 40 minutes)
	CKPT_SINKS=1 $(BIN)/python -m pytest -v tests/spark/test_sinks.py tests/spark/test_delta_export.py tests/spark/test_delta_reset.py tests/spark/test_delta_stops.py tests/sources/test_tables.py tests/sources/delta/test_judge.py tests/spark/test_iceberg_reset.py tests/sources/iceberg/test_judge.py --timeout 1800

symptoms: $(READY) java .kafka/.ready .kafka-connector/.ready .venv-lakes/.ready .venv-spark-3.5.9/.ready ## The errors of the runbook: produced in real Spark 4.3 and 3.5, explained, repaired, started (15 to 20 minutes)
	CKPT_SYMPTOMS=1 $(BIN)/python -m pytest -q tests/explain/produced --timeout 1800

pipelines: $(READY) java .s3a/.ready .venv-lakes/.ready ## Declarative pipelines in real Spark 4.3: versions, two writers, a renamed flow, a closing during a run, an S3 API, a run in Airflow over a Connect server; Delta and Iceberg in Spark 4.1 (20 minutes)
	CKPT_PIPELINES=1 $(BIN)/python -m pytest -v tests/pipelines --timeout 1800

engines: $(READY) java .yarn/.ready .kubernetes/.ready ## Real stops and starts on this machine, a YARN, a standalone cluster and an API server of Kubernetes that it starts and ends, beside kills of the command (25 minutes)
	CKPT_ENGINES=1 $(BIN)/python -m pytest -v tests/engines/real tests/engines/test_apache_operator.py tests/engines/test_kubeflow.py --timeout 1800

thirty: $(READY) java .kafka/.ready .kafka-connector/.ready .venv-lakes/.ready .venv-spark-3.5.9/.ready ## A fleet of thirty queries in real Spark 3.5, 4.1 and 4.3 with Kafka, Delta and Iceberg, and what ckpt init says of it (2 to 8 minutes)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.graph.run

matrix: $(READY) ## What explain says of failures of users, of symptoms and of public reports, in each form in which they are pasted
	$(BIN)/python -m tests.explain.matrix

failures: $(READY) java postgres ## Failed tasks of real Spark in a real Airflow: what ExplainNotifier says of each, and whether it is right (10 to 20 minutes)
	$(BIN)/python -W ignore -m tests.notifications.failing.run $(CASES)

source-changes: $(READY) java .kafka/.ready .kafka-connector/.ready .venv-spark-3.5.9/.ready ## Random changes of the sources of queries in real Spark 4.3 and 3.5, each step started (60 minutes; SEED=N repeats)
	$(BIN)/python -m tests.changes.sources.run --pairs 200 $(if $(SEED),--seed $(SEED))
	$(BIN)/python -m tests.changes.sources.run --spark 3.5 --pairs 60 $(if $(SEED),--seed $(SEED))

EARLIER := 3.5.9 4.0.5 4.1.4
sparks: java $(EARLIER:%=.venv-spark-%/.ready) ## A keyed aggregation through every change on Spark 3.5, 4.0, 4.1
	for version in $(EARLIER); do \
	  echo "== Spark $$version"; \
	  CKPT_EXHAUSTIVE=1 .venv-spark-$$version/bin/python -m pytest -q tests/spark/test_stateful_operators.py --timeout 1800 || exit 1; \
	done

.venv-spark-%/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear .venv-spark-$*
	.venv-spark-$*/bin/pip install --quiet "pip>=25.1"
	.venv-spark-$*/bin/pip install --quiet -c constraints.txt -e . hypothesis pytest pytest-timeout
	.venv-spark-$*/bin/pip install --quiet pyspark==$*
	@touch $@

.venv-%/.ready: tests/sinks/%.txt
	$(PYTHON) -m venv --clear .venv-$*
	.venv-$*/bin/pip install --quiet "pip>=25.1"
	.venv-$*/bin/pip install --quiet "$$(grep == $<)"
	@touch $@

.kafka/.ready: tests/kafka.xml
	@sh tests/install.sh maven
	rm -rf .kafka
	mvn -q -B -f $< dependency:copy-dependencies
	@touch $@

# The part of Kubernetes that keeps custom resources, built once (some minutes), and what it keeps them in.
.kubernetes/.ready: tests/install.sh
	@sh tests/install.sh go
	@sh tests/install.sh etcd
	rm -rf .kubernetes
	GOBIN=$(CURDIR)/.kubernetes go install -buildvcs=false k8s.io/apiextensions-apiserver@v0.34.1
	@touch $@

.yarn/.ready: tests/yarn.xml
	@sh tests/install.sh maven
	rm -rf .yarn
	mvn -q -B -f $< dependency:copy-dependencies
	@touch $@

.kafka-connector/.ready: tests/kafka-connector.xml
	@sh tests/install.sh maven
	rm -rf .kafka-connector
	mvn -q -B -f $< dependency:copy-dependencies
	@touch $@

ends: java postgres .kafka/.ready light provider ## The tests without Spark on both ends of the supported ranges of Python and Airflow
	sh tests/ends.sh

docs: $(READY) ## The documentation as a site, in site/, with docs/api.md and docs/json.md, which it makes; a broken link or anchor ends it
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --clean

docs-run: $(READY) java .kafka/.ready .kafka-connector/.ready ## Every code block of the pages, run as a reader would
	$(BIN)/python -m tests.docs.blocks
	CKPT_EXHAUSTIVE=1 $(BIN)/python -m pytest -v tests/docs --timeout 1800

browser-says:
	@echo "First what is missing: the environment, PostgreSQL, Chromium (some minutes, silent). Then 34 tests, of which the first is seen after a minute or two, when Airflow is up."

compose: compose-says compose-needs ## The services of docker-compose.yaml without containers, and a rollback through them (6 to 10 minutes)
	$(BIN)/python -m tests.compose.run

compose-says:
	@echo "First what is missing: the environment, Java, PostgreSQL, Kafka, an S3 server, Spark's connectors from Maven, Chromium (silent: up to 10 minutes on a new machine). Then the services start, and each step is told when it begins."

compose-needs: $(READY) java postgres .kafka/.ready .kafka-connector/.ready .s3/.ready .s3a/.ready
	@sh tests/install.sh chromium

.s3/.ready .s3a/.ready: .%/.ready: docker/%.xml
	@sh tests/install.sh maven
	rm -rf .$*
	mvn -q -B -f $< dependency:copy-dependencies
	@touch $@

bench: $(READY) java ## Costs, as ratios measured in one run
	$(BIN)/python bench/run.py

wheels: .venv-wheels/.ready ## The two wheels that are published, in dist/: the command, and the provider that needs it
	rm -rf dist
	.venv-wheels/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist ./packaging/spark-ckpt ./packaging/airflow-provider-ckpt

.venv-wheels/.ready: packaging/spark-ckpt/pyproject.toml # pip and what builds a wheel, 27 MB, and nothing else
	$(PYTHON) -m venv --clear .venv-wheels
	.venv-wheels/bin/pip install --quiet "pip>=25.1" "hatchling>=1.27"
	@touch $@

zipapp: wheels ## The command and all that it needs in one file, dist/ckpt.pyz, for hosts without a network
	.venv-wheels/bin/python packaging/one_file.py dist/spark_ckpt-*.whl dist/ckpt.pyz --constraint $(CURDIR)/constraints.txt

light: zipapp $(READY) ## The command without Airflow: from its wheel in an empty environment, and as one file
	$(BIN)/python -m tests.light dist/spark_ckpt-*.whl dist/ckpt.pyz --constraint $(CURDIR)/constraints.txt

provider: wheels $(READY) ## The provider's wheel in an environment of Airflow alone: discovery, connection form, one DAG run
	$(BIN)/python -m tests.provider dist/spark_ckpt-*.whl dist/airflow_provider_ckpt-*.whl --constraint $(CURDIR)/constraints.txt

clean: ## Remove what make has made
	rm -rf $(VENV) .venv-* .spark.jsa .kafka .kafka-connector .kubernetes .yarn .s3 .s3a dist site docs/api.md docs/json.md .mypy_cache .ruff_cache .pytest_cache .coverage* .import_linter_cache .hypothesis
