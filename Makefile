# Commands for users, developers and the continuous integration. `make help` lists them.

target     := $(or $(CARGO_TARGET_DIR),target)
floor_toml := bench/floor/Cargo.toml

PREFIX  ?= /usr/local
DESTDIR ?=
# A binary to install that is built already; without it, `make install` builds one.
BINARY  ?=

# `scripts/checks` runs the parts of `make test` beside one another, and says what was slow. Each part is a target, too.
checks := PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=scripts python3 -m checks --target $(target)

.DEFAULT_GOAL := help
.PHONY: help check demo demo-machines demo-machines-down release dist dist-check dist-try examples docs install uninstall test lint bench-peers bench-truth bench-peers-db bench-peers-mail bench-peers-io bench-users bench-user-models bench-olio bench-aa bench-company bench-precision bench-turns bench-sustained bench-selftest bench-tune bench-archive bench-harness bench-cost bench-workloads bench-faults bench-explain bench-concurrency bench-machines bench-shift demo-shift demo-harness fuzz packages-% check-format clippy check-dependencies build-tests test-rust test-docs test-python test-web

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: packages-demo ## Compare two real servers and print the path of the report
	cargo build --profile demo --locked -p showdown
	scripts/demo $(target)/demo/showdown

demo-shift: packages-shift ## Shift the traffic of a real HAProxy to a good candidate, and to a bad one that is rolled back
	cargo build --profile demo --locked -p showdown
	scripts/demo-shift $(target)/demo/showdown

demo-harness: packages-demo ## Start a server of the harness with three hosts, and queue short runs (as root); Ctrl-C ends all of it
	cargo build --profile demo --locked -p showdown -p harness
	scripts/demo-harness $(target)/demo/showdown

demo-machines: packages-machines ## Start three machines on this one (network namespaces, sshd) and show them (as root)
	cargo build --release --locked -p showdown
	scripts/demo-machines $(abspath $(target))/release/showdown

demo-machines-down: ## Remove the machines of `make demo-machines`
	scripts/machines-lab down

release: packages-release ## Build the static program, which needs no C library of the host: stripped, with its SHA-256
	scripts/build-release $(abspath $(target))

dist: packages-dist ## Make the packages that people get, in target/dist: tar, .deb, Python wheel (DIST_OPTIONS='--architecture aarch64')
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=scripts python3 -m dist --target $(abspath $(target)) $(DIST_OPTIONS)

dist-check: packages-dist ## Check that two builds of the packages in two directories are equal (DIST_OPTIONS='--profile quick' compiles without optimisation)
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=scripts python3 -m dist.twice --scratch $(abspath $(target))/twice $(DIST_OPTIONS)

dist-try: packages-dist-try ## Install each package of `make dist` in bare roots of Debian 11, 12 and 13, compare there, remove it (as root; PACKAGES=DIRECTORY, DIST_OPTIONS='--only bookworm-deb')
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=scripts python3 -m dist.roots --packages $(or $(PACKAGES),$(abspath $(target))/dist) --scratch $(abspath $(target))/roots $(DIST_OPTIONS)

examples: packages-demo ## Measure the examples of README and START anew, with their pictures (EXAMPLES_OPTIONS=--text measures nothing)
	cargo build --profile demo --locked -p showdown
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=scripts python3 -m pages.examples $(target)/demo/showdown $(EXAMPLES_OPTIONS)

docs: packages-docs ## Make a site with search of all documents, in target/docs, and check their links
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=scripts python3 -m pages $(abspath $(target))/docs

install: ## Install the three programs, completions and manual pages (PREFIX=/usr/local DESTDIR=)
	$(if $(BINARY),,cargo build --release --locked -p showdown -p harness -p olio)
	scripts/install-showdown $(or $(BINARY),$(target)/release/showdown) $(PREFIX) $(DESTDIR)

uninstall: ## Remove what `make install` has installed, with the same PREFIX and DESTDIR
	scripts/install-showdown --remove $(PREFIX) $(DESTDIR)

check: ## Check formatting, lints, unit tests and built pages: what a change needs before it is committed, without a server
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --workspace --lib --locked --no-run --message-format=json-render-diagnostics > $(target)/test-programs.json
	$(checks) test-rust
	cd web && { [ -d node_modules ] || npm ci --no-audit --no-fund; } && npm run --silent check-built

test: ## Run every check of the continuous integration
	$(checks)

lint: check-format clippy check-dependencies ## Check formatting, lints (warnings are errors), licences and advisories

check-format:
	cargo fmt --all --check
	cargo fmt --manifest-path $(floor_toml) --check

clippy:
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --manifest-path $(floor_toml) --target-dir $(target) --all-targets --locked -- -D warnings

# cargo-deny checks licences and advisories. Debian does not package it, so it is built from source once for each target
# directory. Without optimisation that takes about 60 s on two cores (92 s of CPU time; 219 s with optimisation).
check-dependencies:
	scripts/check-dependencies $(abspath $(target))/tools

# Cargo's messages say where the test programs are.
build-tests:
	mkdir -p $(target)
	cargo test --workspace --locked --no-run --message-format=json-render-diagnostics > $(target)/test-programs.json
	cargo test --manifest-path $(floor_toml) --target-dir $(target) --locked --no-run \
	    --message-format=json-render-diagnostics >> $(target)/test-programs.json

test-rust:
	$(checks) build-tests test-rust test-docs

test-docs:
	cargo test --workspace --doc --locked

test-python:
	cd bench && PYTHONDONTWRITEBYTECODE=1 python3 -m unittest
	cd scripts && PYTHONDONTWRITEBYTECODE=1 python3 -m unittest

test-web:
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || \
	    { echo "test-web: Node 20 or newer is needed, here is $$(node --version): see https://nodejs.org" >&2; exit 1; }
	cd web && npm ci --no-audit --no-fund && PROGRAMS=$(abspath $(target))/debug npm test

FUZZ_SECONDS ?= 600
fuzz: ## Fuzz each codec, dialogue, file format and the import (FUZZ_SECONDS=600 for each; FUZZ_TARGETS=plan)
	scripts/fuzz $(abspath $(target))/tools $(FUZZ_SECONDS) $(FUZZ_TARGETS)

bench-peers: packages-bench ## Compare the engine with wrk, ab, h2load, hey and memcaslap (as root): docs/results/peers.md
	cargo build --release --locked -p showdown
	cargo build --release --locked --manifest-path $(floor_toml) --target-dir $(target)
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m peers \
	    --engine $(target)/release/showdown --floor $(target)/release/floor $(PEERS_OPTIONS)

bench-peers-db: packages-bench ## Compare the engine with sysbench and pgbench: docs/results/peers-db.md
	cargo build --release --locked -p showdown
	cargo build --release --locked --manifest-path $(floor_toml) --target-dir $(target)
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m peers_db \
	    --engine $(target)/release/showdown --floor $(target)/release/floor $(PEERS_OPTIONS)

bench-peers-mail: packages-bench ## Compare the engine with smtp-source (as root): docs/results/peers-mail.md
	cargo build --release --locked -p showdown
	cargo build --release --locked --manifest-path $(floor_toml) --target-dir $(target)
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m peers_mail \
	    --engine $(target)/release/showdown --floor $(target)/release/floor $(PEERS_OPTIONS)

bench-peers-io: packages-bench ## Compare block I/O with fio (PEERS_OPTIONS='--directory /mnt/disk'): docs/results/peers-io.md
	cargo build --release --locked -p showdown
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m peers_io --engine $(target)/release/showdown $(PEERS_OPTIONS)

bench-users: packages-bench ## Compare users with sessions with those of Locust and k6: writes docs/results/users.md
	cargo build --release --locked -p showdown
	scripts/install-user-peers $(abspath $(target))/tools
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m users \
	    --engine $(target)/release/showdown --peers $(abspath $(target))/tools/user-peers/bin $(USERS_OPTIONS)

bench-user-models: packages-bench ## Check open, partly open and closed users against servers of known behaviour: docs/results/user-models.md
	cargo build --release --locked -p showdown
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m user_models --engine $(target)/release/showdown $(USER_MODELS_OPTIONS)

bench-olio: packages-test ## Olio: its data, its implementations compared, their knees and proofs (OLIO_OPTIONS='--only data quick default knees prove --minutes 300'): docs/results/olio.md
	cargo build --release --locked -p showdown -p olio
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m olio \
	    --showdown $(target)/release/showdown --olio $(target)/release/olio $(OLIO_OPTIONS)

bench-truth: packages-bench ## Check the engine and its peers against servers of known behaviour: docs/results/truth.md
	cargo build --release --locked -p showdown
	cargo build --release --locked -p truth --example gaps
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m truth \
	    --engine $(target)/release/showdown --gaps $(target)/release/examples/gaps $(TRUTH_OPTIONS)

# The last commit before trials beside other programs counted (decision 0034).
before_company := c430db9f

bench-company: packages-bench ## Compare servers beside other programs (as root): continues docs/results/company.md (COMPANY_OPTIONS='--minutes 60')
	cargo build --release --locked -p showdown
	scripts/build-earlier $(before_company) $(abspath $(target))/before-company
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m company \
	    --showdown $(target)/release/showdown --before $(target)/before-company/release/showdown $(COMPANY_OPTIONS)

bench-aa: packages-bench ## Compare a server with itself and with a slower copy (AA_OPTIONS='--minutes 60'): docs/results/aa.md
	cargo build --release --locked -p showdown
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m aa --showdown $(target)/release/showdown $(AA_OPTIONS)

# The last commit before servers were loaded in turns (decision 0009).
before := a9a2fd1

bench-precision: packages-bench ## Half-widths of quick comparisons beside an earlier release's (PRECISION_OPTIONS='--minutes 60'): docs/results/precision.md
	cargo build --release --locked -p showdown
	scripts/build-earlier $(before) $(abspath $(target))/earlier
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m precision \
	    --showdown $(target)/release/showdown --before $(target)/earlier/release/showdown $(PRECISION_OPTIONS)

bench-turns: packages-bench ## Compare different servers in turns and alone (TURNS_OPTIONS='--minutes 60'): docs/results/turns.md
	cargo build --release --locked -p showdown
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m turns --showdown $(target)/release/showdown $(TURNS_OPTIONS)

bench-sustained: packages-bench ## Hold the capacities of known servers that pause (SUSTAINED_OPTIONS='--minutes 60'): docs/results/sustained.md
	cargo build --release --locked -p showdown
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m sustained --showdown $(target)/release/showdown $(SUSTAINED_OPTIONS)

bench-selftest: ## Selftests of an idle machine, one after the other (SELFTEST_OPTIONS='--minutes 9'): docs/results/selftest.md
	cargo build --release --locked -p showdown
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m selftest --showdown $(target)/release/showdown $(SELFTEST_OPTIONS)

bench-tune: packages-bench ## Search for tunings: planted ones, real servers, killed searches (as root; TUNE_OPTIONS='--minutes 60 --only planted'): docs/results/tune.md
	cargo build --release --locked -p showdown
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m tune --showdown $(target)/release/showdown $(TUNE_OPTIONS)

bench-archive: ## Time every reader on an archive of 10,000 runs: docs/results/archive.md
	cargo build --release --locked -p showdown
	cargo build --release --locked -p archive --features example --example made-up
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m archive \
	    --showdown $(target)/release/showdown --made-up $(target)/release/examples/made-up $(ARCHIVE_OPTIONS)

bench-harness: packages-test ## Time the harness with 100 controllers, 200 watchers and 100,000 runs, and kill its parts, on SQLite and PostgreSQL (HARNESS_OPTIONS='--kills 200 --seconds 20' for minutes): docs/results/harness.md
	cargo build --release --locked -p showdown -p harness
	cargo build --release --locked -p harness --example stand-in
	cargo build --release --locked -p archive --features example --example many
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m harness --showdown $(target)/release/showdown \
	    --stand-in $(target)/release/examples/stand-in --many $(target)/release/examples/many $(HARNESS_OPTIONS)

bench-cost: packages-test ## Compute published evaluations, and price a comparison with a stand-in meter (COST_OPTIONS='--compare "--blocks 20"'): docs/results/cost.md
	cargo build --release --locked -p showdown
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m cost --showdown $(target)/release/showdown $(COST_OPTIONS)

bench-workloads: packages-test ## Run every workload of the README (WORKLOADS_OPTIONS='--only mail'): docs/results/workloads.md
	cargo build --release --locked -p showdown
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m workloads \
	    --showdown $(target)/release/showdown $(WORKLOADS_OPTIONS)

bench-faults: packages-faults ## Disturb runs and check what is left of them (as root; FAULTS_OPTIONS='--moments 2'): docs/results/faults.md
	cargo build --release --locked -p showdown
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m faults --showdown $(target)/release/showdown $(FAULTS_OPTIONS)

bench-shift: packages-shift ## Rollouts behind a real HAProxy, disturbed ones and series (as root; SHIFT_OPTIONS='--repeats 2 --rollouts 3'): docs/results/live-traffic.md
	cargo build --release --locked -p showdown
	cargo build --release --locked -p traffic --example rollouts
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m shift --showdown $(target)/release/showdown $(SHIFT_OPTIONS)

bench-explain: packages-bench ## Plant causes in servers and check that explain names them (as root; EXPLAIN_OPTIONS='--rounds 1'): docs/results/explain.md
	cargo build --release --locked -p showdown
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m explain --showdown $(target)/release/showdown $(EXPLAIN_OPTIONS)

bench-concurrency: packages-bench ## A million downloads in progress at once (as root; CONCURRENCY_OPTIONS='--most 200000'): docs/results/concurrency.md
	cargo build --release --locked -p showdown
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m concurrency \
	    --showdown $(target)/release/showdown $(CONCURRENCY_OPTIONS)

bench-machines: packages-bench packages-machines ## Measure hosts behind ssh, and kill parts of them (as root; MACHINES_OPTIONS='--only counts'): docs/results/machines.md
	cargo build --release --locked -p showdown
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bench python3 -m machines --showdown $(target)/release/showdown $(MACHINES_OPTIONS)

packages-%:
	scripts/install-packages $*
