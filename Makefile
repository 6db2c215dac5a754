# `make` lists the targets. They run in .venv, which each target creates and keeps up to date.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run demo docs test test-all check bench faults lint format-check format types requirements proto errors fields languages contracts clients client-packages screenshots release audit licences sbom clean

BIN := .venv/bin
# Python would print a traceback at Ctrl-C while it starts: until it can stop quietly, signals wait (of GNU; elsewhere not).
HELD := $(shell env --block-signal=INT true 2>/dev/null && echo env --block-signal=INT,TERM,HUP)
# Python keeps what it compiled, whatever the shell says: each start, test process and server would compile it all again.
KEEPS := env PYTHONDONTWRITEBYTECODE=
VENV := @$(KEEPS) $(HELD) scripts/python scripts/venv.py

help: ## list the targets
	@awk -F ':.*## ' '/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Every day

run: ## serve on HOST:PORT (default 127.0.0.1:8000), with a sandbox in an embedded database (VERBOSE=1: with the server's own log)
	@$(HELD) scripts/python -m serving.address
	$(VENV) requirements.txt then -m scripts.start

docs: ## build the documentation that is served at /docs, where it has changed
	$(VENV) requirements.txt docs
	@$(BIN)/python -m scripts.docs_site.build

demo: ## run two local chains, contracts, the gateway on HOST:PORT and its watcher, with transfers in every status and an account of yours (docs/tutorial.md; needs npm once; ARGS=--once, or --claim to claim the refunds yourself)
	$(VENV) requirements-dev.txt then -m demo $(ARGS)

# Without debug ranges a traceback that a thread logs parses no source. Python 3.11 counts the depth of parsing for all
# threads together, so now and then a test failed that compiled routes meanwhile (AST constructor recursion depth mismatch).
PYTEST := $(KEEPS) PYTHONNODEBUGRANGES=1 $(BIN)/python -m pytest -n auto --dist worksteal
# The marks are explained in pyproject.toml.
TESTS := not slow$(if $(CI),, and (smoke or not (system or postgresql)))
test: ## run all tests that are not slow, on SQLite, and a few on a PostgreSQL that comes as a wheel (CI=1: on both, with browser, nginx and the like; ARGS="-k name -n 0" for pytest)
	$(VENV) requirements-dev.txt
	@$(PYTEST) -m "$(TESTS)" $(ARGS)

test-all: ## run every test, slow ones included, with other random inputs each time: hours (needs what .ci/run installs)
	$(VENV) requirements-dev.txt
	@CI=1 $(PYTEST) --hypothesis-profile nightly $(ARGS)

check: lint format-check types test ## run lint, format-check, types and test

##@ Parts of make check, and measurements

lint: ## find mistakes (ruff), imports that break the layers (import-linter), migrations that lock (squawk), unsafe workflows (zizmor)
	$(VENV) requirements-dev.txt
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m scripts.lint_migrations
	@$(BIN)/zizmor --offline --no-progress --quiet --strict-collection .github

format-check: ## check whether `make format` would change anything
	$(VENV) requirements-dev.txt
	@$(BIN)/ruff format --check .

format: ## format the code and fix what can be fixed safely
	$(VENV) requirements-dev.txt
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

types: ## check the types (mypy)
	$(VENV) requirements-dev.txt
	@$(BIN)/mypy

BENCHES := http server feed scale watch world
bench: ## run the benchmarks, as ratios against floors of the same run (ONLY=http, server, feed, scale, watch or world; docs/performance.md)
	$(VENV) requirements-dev.txt
	@missed=0; for part in $(or $(ONLY),$(BENCHES)); do \
		$(BIN)/python -m bench.$$part $(ARGS) || missed=1; \
	done; exit $$missed

faults: ## make one fault after the other under load, and print what each costs (needs nginx, PgBouncer, Redis, and for those of three nodes and of a whole machine Patroni, etcd, Prometheus and root; ARGS="--quick" TIMES=10; docs/faults.md)
	$(VENV) requirements-dev.txt
	@$(BIN)/python -m tests.faults_rig $(ARGS)
	@$(BIN)/python -m tests.patroni --times $(or $(TIMES),1)
	@$(BIN)/python -m tests.faults_rig.kills --times $(or $(TIMES),1)

##@ Releases, and what we depend on

release: ## check whether this commit can be released, and say how (VERSION=1.4.0; docs/releases.md)
	$(VENV) requirements-dev.txt
	@$(BIN)/python -m scripts.release "$(VERSION)"

audit: ## look for known vulnerabilities of what the lock files pin (needs the network)
	$(VENV) requirements-dev.txt
	@$(BIN)/python -m scripts.supply.audit

licences: ## write the licences of what we depend on into docs/licences.md
	$(VENV) requirements-dev.txt
	@$(BIN)/python -m scripts.supply.licences

sbom: ## write the bill of materials of what the gateway runs with into build/sbom.json
	$(VENV) requirements-dev.txt
	@$(BIN)/python -m scripts.supply.sbom

##@ Generated files

# There is no uv.lock: it holds the address of the registry, and who installs from a mirror could not use it.
LOCK := $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command 'make requirements'
requirements: ## resolve what pyproject.toml names into requirements.txt and requirements-dev.txt, with hashes (ARGS="--upgrade-package NAME")
	$(VENV) requirements-dev.txt
	@$(LOCK) $(ARGS) --group dev --output-file requirements-dev.txt
	@$(LOCK) --constraints requirements-dev.txt --output-file requirements.txt

proto: ## generate the protobuf messages from proto/
	$(VENV) requirements-dev.txt
	@$(BIN)/python -m scripts.proto

errors: ## write the catalogue of errors into docs/errors.md
	$(VENV) requirements-dev.txt
	@$(BIN)/python -m scripts.errors_page

fields: ## write the fields of the operations, with their types, for their pages in docs/api
	$(VENV) requirements-dev.txt
	@$(BIN)/python -m scripts.fields

languages: ## bring the translations of the public pages up to date with their texts, and compile them (docs/transfer-page.md#languages)
	$(VENV) requirements-dev.txt
	@$(BIN)/python -m scripts.languages

contracts: ## compile the Solidity that the tests run in an EVM (needs node and npm)
	cd tests/contract/evm && npm ci --no-audit --no-fund && node compile.cjs > bridges.tmp && mv bridges.tmp bridges.json

clients: ## generate the types of the client libraries from the OpenAPI document (needs node and npm)
	$(VENV) requirements-dev.txt
	@$(BIN)/python -m scripts.clients

client-packages: ## build the client libraries as packages, into build/clients (ARGS="--repository URL --docs URL"; needs node and npm)
	$(VENV) requirements-dev.txt
	@$(BIN)/python -m scripts.client_packages $(ARGS)

screenshots: ## take pictures of the console and of the tutorial for docs/images/ (needs Chromium, and npm once)
	$(VENV) requirements-dev.txt
	@$(BIN)/python -m scripts.screenshots
	@$(BIN)/python -m scripts.tutorial_pictures

##@ Cleaning up

clean: ## remove .venv and caches; keep instance/ with the database and the keys
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .tmp
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
