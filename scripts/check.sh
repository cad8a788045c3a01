#!/usr/bin/env bash
# Format, vet, linters, import directions, the register of rules and modules. Each linter is here for a reason:
#   gofumpt      one format, no discussion
#   staticcheck  real bugs, and API misuse that vet does not know
#   deadcode     what a change made dead is deleted, also if only a test still calls it
#   unparam      a parameter that nothing reads, a result that is always the same
set -uo pipefail
cd "$(dirname "$0")/.."
DIR=$(mktemp -d)
trap 'rm -rf "$DIR"' EXIT
# step NAME COMMAND: begins a check. Two run side by side, since most of them keep one
# processor busy; what they say is told in their order at the end.
NAMES=()
PIDS=()
step() {
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
	"${@:2}" >"$DIR/${#NAMES[@]}" 2>&1 &
	NAMES+=("$1")
	PIDS+=($!)
}
# silent COMMAND: fails if the command says anything.
silent() { local d; d=$("$@" 2>&1); [ -z "$d" ] || { echo "$d"; return 1; }; }
bad=0
# What is needed is fetched first: a check that must say nothing would else say that it fetches it.
go mod download || bad=1
# Vet goes first and alone: it compiles everything, which the others would each do again.
echo "== vet"
go vet ./... || bad=1
step "format" silent bash -c 'go tool gofumpt -l .; gofmt -l .'
step "fix" silent go fix -diff ./...
step "staticcheck" go tool staticcheck ./...
step "deadcode" silent go tool deadcode ./cmd/patra ./internal/bench ./internal/mirror
step "deadcode, with the tests" silent go tool deadcode -test ./...
step "unparam" go tool unparam ./...
step "imports, rules, documents" go test -count=1 .
step "the reviewer's guide" bash scripts/review.sh --check
step "modules" bash -c 'go mod tidy -diff && go mod verify >/dev/null'
for i in "${!NAMES[@]}"; do
	wait "${PIDS[$i]}" || bad=1
	echo "== ${NAMES[$i]}"
	cat "$DIR/$i"
done
exit $bad
