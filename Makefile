# Everything a developer or a user runs, by name. Works with GNU make 3.81 (macOS). `make help` lists the targets.

PREFIX ?= $(HOME)/.local
CARGO_TARGET_DIR ?= target
PROGRAMS = $(CARGO_TARGET_DIR)/programs
DIST = dist/model-orchestration

.PHONY: help build dist install uninstall demo test soak compat lint fmt bench bench-ledger bench-proxy bench-check
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

build: ## build every program as it ships, into target/programs
	scripts/build $(PROGRAMS)

dist: build ## assemble the installable plugin folder dist/model-orchestration
	scripts/dist $(PROGRAMS) $(DIST)

install: dist ## put the programs in PREFIX/bin (~/.local) and the plugin into Claude Code
	PREFIX="$(PREFIX)" scripts/install $(DIST)

uninstall: ## take all of it away again, but the workers
	PREFIX="$(PREFIX)" scripts/uninstall

demo: dist ## one worker from its creation to checked work, offline, in a temporary home
	scripts/demo $(DIST)

test: ## every test that fits ten minutes, the real Claude Code included
	cargo test --workspace --locked

soak: ## the long tests: a thousand kills, ten-minute streams, a task that is silent for two hours (MO_SILENT_SECONDS)
	MO_SOAK=1 cargo test --workspace --locked soak

compat: ## the real-client tests on several versions of Claude Code, as a table
	scripts/compat

lint: ## formatting, clippy without warnings, the house rules
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --locked --test tidy

fmt: ## format the code
	cargo fmt --all

bench: ## measure starts and overheads (needs hyperfine and valgrind)
	scripts/build $(PROGRAMS) nothing
	scripts/bench $(PROGRAMS)

bench-ledger: ## measure the ledger against grep on a gigabyte of transcripts (needs python3)
	scripts/bench-ledger

bench-proxy: ## measure the gateway against the direct way, and nginx where it is installed
	scripts/bench-proxy

bench-check: build ## fail when an instruction count grew by more than 10 % (needs valgrind)
	scripts/bench --check $(PROGRAMS)
