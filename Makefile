# patra: build, test and measure. `make` alone lists the targets.
GO      ?= go
BIN     := bin/patra
export CGO_ENABLED ?= 0

.PHONY: help build test test-deps race check bench soak clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/patra
	$(GO) build -trimpath -o $(BIN) ./cmd/patra

test: ## run the tests; suites whose server is missing say so
	@bash scripts/test.sh

test-deps: ## install what the full suite needs (root, Debian)
	@bash scripts/test-deps.sh

race: ## the tests of what runs at once under the race detector (needs a C compiler); SQLite, small data
	CGO_ENABLED=1 $(GO) test -race -short -count=1 -timeout 15m ./internal/domain/... ./internal/app/... ./internal/infra/gate ./internal/infra/upstream ./internal/infra/decode ./internal/infra/vault ./internal/node

check: ## what CI checks besides the tests: format, vet, linters, modules, import directions
	@bash scripts/check.sh

bench: ## measure, as ratios within one run
	$(GO) run ./internal/bench

soak: ## the long forms of the crash tests
	@PATRA_SOAK=1 bash scripts/test.sh

clean: ## remove what was built
	rm -rf bin .cache
