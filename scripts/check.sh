#!/usr/bin/env bash
# Format, vet, linters, import directions, the register of rules and modules. Each linter is here for a reason:
#   gofumpt      one format, no discussion
#   staticcheck  real bugs, and API misuse that vet does not know
#   deadcode     what a change made dead is deleted, also if only a test still calls it
#   unparam      a parameter that nothing reads, a result that is always the same
set -uo pipefail
cd "$(dirname "$0")/.."
bad=0
step() { echo "== $1"; shift; "$@" || bad=1; }
formatted() { local f; f=$(go tool gofumpt -l .; gofmt -l .); [ -z "$f" ] || { echo "$f"; return 1; }; }
fixed() { local d; d=$(go fix -diff ./... 2>&1); [ -z "$d" ] || { echo "$d"; return 1; }; }
dead() { local d; d=$(go tool deadcode ./cmd/patra ./internal/bench ./internal/mirror 2>&1; go tool deadcode -test ./... 2>&1); [ -z "$d" ] || { echo "$d"; return 1; }; }
step "format" formatted
step "vet" go vet ./...
step "fix" fixed
step "staticcheck" go tool staticcheck ./...
step "deadcode" dead
step "unparam" go tool unparam ./...
step "imports, rules, documents" go test -count=1 .
step "the reviewer's guide" bash scripts/review.sh --check
step "modules" bash -c 'go mod tidy -diff && go mod verify >/dev/null'
exit $bad
