# patra: build, test and measure. `make` alone lists the targets.
GO      ?= go
BIN     := bin/patra
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null)
export CGO_ENABLED ?= 0

.PHONY: help build test test-mysql test-deps test-tidb race fuzz check bench bench-peers mirror soak five-minutes screens clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/patra
	$(GO) build -ldflags '-X main.linked=$(COMMIT)' -o $(BIN) ./cmd/patra

test: ## run the tests; suites whose server is missing say so
	@bash scripts/test.sh

test-mysql: ## on MySQL 9, the tests of what it may answer otherwise than MariaDB, on which test runs everything
	@bash scripts/test-mysql.sh

test-deps: ## install what the full suite needs (root, Debian)
	@bash scripts/test-deps.sh

test-tidb: ## the tests of the store, of crashes and chaos on TiDB; builds its server first, which takes ten minutes
	@bash scripts/tidb.sh

race: ## the tests of what runs at once under the race detector (needs a C compiler); SQLite, small data
	@bash scripts/race.sh

fuzz: ## 100,000 inputs or 10 seconds for every fuzz target; make soak gives them longer
	@bash scripts/fuzz.sh

check: ## what CI checks besides the tests: format, vet, linters, modules, import directions
	@bash scripts/check.sh

bench: ## measure, as ratios within one run
	$(GO) run ./internal/bench

bench-peers: ## harvest one simulated source with patra, dlt and Airbyte's CDK, and compare (needs PyPI)
	@bash scripts/bench-peers.sh

mirror: ## count how densely the code is written
	$(GO) run ./internal/mirror

soak: ## the long forms: crashes, races, large days, a year, fuzzing
	@PATRA_SOAK=1 bash scripts/test.sh

five-minutes: ## walk and time what somebody new does in the first five minutes; half a minute
	@bash scripts/five-minutes.sh

SCREENS ?= $(CURDIR)/.cache/screens
screens: ## pictures of every page of the console, both themes, 360, 768 and 1280 px wide, in SCREENS
	@mkdir -p $(SCREENS)
	PATRA_SCREENS=$(SCREENS) $(GO) test -count=1 -timeout 30m ./internal/infra/console -run Screens
	@echo "the pictures are in $(SCREENS)"

clean: ## remove what was built
	rm -rf bin .cache
