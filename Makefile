# Each target sets up what it needs. Another interpreter: make PYTHON=python3.12 test
PYTHON ?= python3
BIN := .venv/bin
# Stamps: .venv has what audits need, or Spark too, or all tools as well. They carry the interpreter's name: choosing
# another one builds .venv anew.
AUDITS := .venv/audits-$(notdir $(PYTHON))
SPARK := .venv/spark-$(notdir $(PYTHON))
READY := .venv/ready-$(notdir $(PYTHON))
PIP_INSTALL := $(BIN)/pip install -q --disable-pip-version-check --use-pep517 -c conf/constraints.txt

# Where it is set, each program that a test starts, and each task of Spark, would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

BUNDLED := tests/captures/kafka-4.3.1/segments --topics tests/captures/kafka-4.3.1/topics.json --cluster demo

.PHONY: audit
audit: $(AUDITS) ## Audit a real broker's log (bundled) into Delta tables under out/, and report on it: out/report.html
	@$(BIN)/kip848 audit $(BUNDLED) --out out
	@$(BIN)/kip848 report out --config conf/audit-demo.toml --out out/report.html

.PHONY: audit-spark
audit-spark: $(SPARK) ## The same on Spark, by spark-submit, which takes Java: it writes the same tables
	@PATH="$(CURDIR)/$(BIN):$$PATH" spark-submit --properties-file conf/spark-defaults.conf jobs/nightly_audit.py \
		$(BUNDLED) --out out
	@$(BIN)/kip848 report out --config conf/audit-demo.toml --out out/report.html

# The cases of a file run on one worker, with what its fixtures made. Each worker has its own Spark and its own broker.
# One worker more than cores: many cases wait for a broker, a browser or a process.
PYTEST := $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: test
test: $(READY) ## Lint, and beside it run the tests without most of Spark, on two cores: 5 to 15 minutes, by the machine
	@$(MAKE) --no-print-directory -j 2 lint test-quick || { echo "A test failed, or lint did: make lint shows the latter" >&2; exit 1; }

# Without a cache mypy takes 18 s on one core, while the workers still collect.
.PHONY: test-quick
test-quick: $(READY)
	$(PYTEST) -m "not (slow or nightly)"

.PHONY: test-spark
test-spark: $(READY) ## Run all tests with Spark
	$(PYTEST) -m "spark and not nightly"

.PHONY: test-slow
test-slow: $(READY) ## Run the tests that take long: Spark, nights on a broker, kills, the page in a browser
	$(PYTEST) -m "slow and not nightly"

.PHONY: test-all
test-all: lint ## Lint, then run what CI runs: make test, test-spark and test-slow in one: an hour
	$(PYTEST) -m "not nightly"

.PHONY: test-nightly
test-nightly: $(READY) ## Run more seeds, kills, installs and fuzz: each day others, which they print
	$(PYTEST) -m nightly

.PHONY: lint
lint: $(READY) ## Check style, types and layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: docs
docs: $(READY) ## Build the pages of docs/ as a site, site/index.html; warnings are errors
	@$(BIN)/zensical build --clean --strict
	@echo "Open site/index.html. Its search needs a server: $(BIN)/python -m http.server -b 127.0.0.1 -d site"

.PHONY: docs-reference
docs-reference: $(READY) ## Write docs/reference/ from the code: command line, Python API, tables, expectations, questions
	@$(BIN)/python -m tests.docs.reference

.PHONY: bench
bench: $(READY) ## Measure everything on logs of 1, 10 and 50 million rows: an hour; PARTS="decoder jobs", MILLIONS="1 10"
	@$(BIN)/python -m tests.benchmarks $(PARTS) $(if $(MILLIONS),--millions $(MILLIONS))

.PHONY: bench-smoke
bench-smoke: $(READY) ## Measure a few ratios, and say which fell by more than a third: a minute or two
	@$(BIN)/python -m tests.benchmarks.smoke

MINUTES ?= 5
.PHONY: fuzz
fuzz: $(READY) ## Compare decoder and reader with plain ones on damaged inputs; MINUTES=5
	@$(BIN)/python tests/fuzz.py --minutes $(MINUTES)

.PHONY: clean
clean: ## Remove the environment, outputs and caches
	rm -rf .venv out site spark-warehouse metastore_db derby.log dist
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

$(READY): $(SPARK)
	@echo "Adding the tools of the tests to .venv: about a minute, once" >&2
	@$(PIP_INSTALL) -e '.[dev]'
	@touch $@

$(AUDITS): pyproject.toml conf/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: '$(PYTHON)' is not Python 3.11 or newer; install one and name it: make PYTHON=python3.12" >&2; exit 2; }
	@echo "Setting up .venv from conf/constraints.txt: half a minute, once" >&2
	@$(PYTHON) -m venv --clear .venv
	@$(PIP_INSTALL) -e .
	@touch $@

$(SPARK): $(AUDITS)
	@$(PYTHON) -m kip848_records.spark.java
	@echo "Adding Spark to .venv: about a minute, once" >&2
	@$(PIP_INSTALL) -e '.[spark]'
	@touch $@
