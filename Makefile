# Two commands do all the set-up: `make run` and `make test`.

.PHONY: run cluster build dist test test-local lint bench contract help

help: ## Shows this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

run: build ## Starts a server with the to-do sample and the assistant, installed for a sample user with simulated glasses
	@scripts/run.sh

cluster: build ## Starts three nodes with PostgreSQL, NATS and nginx on this machine, with the to-do sample
	@scripts/cluster.sh

build: ## Builds the console and the binaries quickly: target/quick
	@scripts/build-console.sh --if-possible
	cargo build --profile quick --locked -p toolyard-cli -p toolyard-todo -p toolyard-assistant

dist: ## Builds the console and the binaries as they are shipped, with link-time optimisation: target/dist
	@scripts/build-console.sh
	cargo build --profile dist --locked -p toolyard-cli -p toolyard-todo -p toolyard-assistant

test: ## Runs every test, installing what it needs
	@scripts/setup-tests.sh
	@scripts/build-console.sh
	cargo build --locked --workspace --all-targets
	@scripts/test.sh

test-local: ## Tests models in this process, which builds llama.cpp, and measures the demonstration model; takes half an hour
	@scripts/test-local.sh

lint: ## Format, clippy, docs, dependencies, arrows, names; Biome, tsc and knip for TypeScript
	cargo fmt --all --check
	@scripts/lint-web.sh
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --document-private-items
	@scripts/deny.sh
	@scripts/check-queries.sh --check
	@scripts/check-monitoring.sh
	cargo test --locked -q -p toolyard-testkit --test arrows --test names

bench: ## Measures the way through the server against a direct call
	@scripts/bench.sh

contract: ## Updates the OpenAPI document, the schemas of configuration and plugins, the dashboard and the alert rules
	UPDATE_CONTRACT=1 cargo test --locked -q -p toolyard-server -p toolyard-trust --test it -- contract monitoring shared_vectors
