#!/usr/bin/env bash
# The tests of what runs at once, under the race detector: SQLite, small data.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/memory.sh
trap leave_memory EXIT
use_memory
export CGO_ENABLED=1
race() { go test -race -short -count=1 -timeout 45m "$@" || bad=1; }
bad=0
race ./internal/domain/... ./internal/app/keyring ./internal/app/sourcecheck ./internal/app/steward \
  ./internal/infra/gate ./internal/infra/upstream ./internal/infra/decode ./internal/infra/vault
race -run 'Kill|Executor|Scheduler|Serve|ThreeRounds|C16|Poison|R5_|R16|R18|R22|R38|R83|M14|R46_EverySnapshotIsWhollyOldOrWhollyNew' ./internal/app/executor ./internal/app/registry ./internal/app/scheduler ./internal/node
exit $bad
