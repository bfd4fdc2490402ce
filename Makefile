# Every target works alone on a fresh clone: it builds .venv first, and only when what that depends on has changed.

PYTHON ?= python3
VENV := .venv
PACKAGES := $(VENV)/.packages-installed
JAVA := $(VENV)/java-home
KAFKA := $(VENV)/.kafka-asked-for
CHROMIUM := $(VENV)/.chromium-asked-for

# The oldest version of Spark that we take: `make test-all` ends with a few tests on it.
OLDEST := spark-3.5

# Seen by every pip, also the one that pip starts to build the package. A relative path, as pip splits this at spaces.
export PIP_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Python keeps what it has compiled of our modules: each of the many processes that Spark and the tests start would
# otherwise compile all of them again, for a second of CPU.
export PYTHONDONTWRITEBYTECODE :=

# Spark starts the Java found by tools/ensure_java.py, and workers that are the same Python as the driver.
WITH_SPARK = JAVA_HOME="$$(cat $(JAVA))" PYSPARK_PYTHON="$(CURDIR)/$(VENV)/bin/python"

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-versions kafka chromium page-pictures lint size docs release-check bench bench-compare compare-flink clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

demo: $(JAVA) ## Run the guided tour on built-in sample data, through Spark
	$(WITH_SPARK) $(VENV)/bin/trendweave demo

test: $(JAVA) ## Run the tests that every change must pass (PYTEST_ARGS='-m "not spark"' leaves out those that need a JVM)
	$(WITH_SPARK) $(VENV)/bin/python -m pytest -n 2 $(PYTEST_ARGS)

test-all: $(JAVA) $(KAFKA) $(CHROMIUM) ## Run all tests, with new random cases: Kafka, a browser, a cluster, kills, the oldest Spark
	$(WITH_SPARK) HYPOTHESIS_PROFILE=random $(VENV)/bin/python -m pytest -n 2 --long $(PYTEST_ARGS)
	JAVA_HOME="$$(cat $(JAVA))" $(VENV)/bin/python -m tools.versions --brief $(OLDEST)

test-versions: $(JAVA) ## Run one query of each kind with each version, and print a table (VERSIONS='spark-4.0 pandas-3')
	JAVA_HOME="$$(cat $(JAVA))" $(VENV)/bin/python -m tools.versions $(VERSIONS)

kafka: $(PACKAGES) ## Fetch Kafka for the tests, or try again where that failed
	$(VENV)/bin/python tools/ensure_kafka.py
	@touch $(KAFKA)

chromium: $(PACKAGES) ## Find or unpack a browser for the tests, or try again where that failed
	$(VENV)/bin/python tools/ensure_chromium.py
	@touch $(CHROMIUM)

page-pictures: $(CHROMIUM) ## Take the pictures of the page of `trendweave serve` anew, for README and docs
	$(VENV)/bin/python -m tools.page_pictures

lint: $(PACKAGES) ## Check formatting, lint rules and types
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

size: ## Print the code lines of each package
	@$(PYTHON) -m tools.size

docs: $(PACKAGES) ## Make the documentation site in build/site; any warning is an error
	$(VENV)/bin/python -m tools.site

release-check: $(JAVA) ## Build sources and wheel, install them in clean environments, and run the README there
	JAVA_HOME="$$(cat $(JAVA))" $(VENV)/bin/python -m tools.release

bench: $(JAVA) ## Run the benchmarks and record them (BENCH='name ...' chooses some)
	$(WITH_SPARK) $(VENV)/bin/python -m benchmarks --write $(BENCH)

bench-compare: $(JAVA) ## Compare the speed with that of another source tree (BEFORE=path BENCH='case ...')
	$(WITH_SPARK) $(VENV)/bin/python -m benchmarks --compare "$(BEFORE)" --write $(BENCH)

compare-flink: $(JAVA) ## Compare the strategies with those of Flink's CEP library, on small cases
	$(WITH_SPARK) $(VENV)/bin/python -m tools.compare_flink

clean: ## Remove the environment and everything generated
	rm -rf $(VENV) .venv-* .kafka .chromium .flink .cache build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache spark-warehouse metastore_db derby.log trendweave-demo.html
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PACKAGES): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Trendweave needs Python 3.11 or newer; name one, for example: make PYTHON=python3.12 test" >&2; exit 1; }
	@echo "Installing packages into $(VENV) (a few minutes the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --editable '.[spark,dev,docs]'
	@touch $@

$(JAVA): $(PACKAGES) tools/ensure_java.py
	@$(VENV)/bin/python tools/ensure_java.py

# Once: it leaves jars or a reason, never fails, and without Kafka its tests skip.
$(KAFKA): $(PACKAGES) tools/ensure_kafka.py
	@$(VENV)/bin/python tools/ensure_kafka.py
	@touch $@

# Once, too: it leaves the path of a browser or a reason, never fails, and without a browser its tests skip.
$(CHROMIUM): $(PACKAGES) tools/ensure_chromium.py
	@$(VENV)/bin/python tools/ensure_chromium.py
	@touch $@
