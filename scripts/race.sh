#!/usr/bin/env bash
# The tests in which things run at once, under the race detector: SQLite, small
# data. Packages without goroutines, and tests of one thing after another, are left
# to `make test`: the detector would only slow them down.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/memory.sh
trap leave_memory EXIT
use_memory
export CGO_ENABLED=1
unset PATRA_TEST_MYSQL PATRA_TEST_MARIADB
bad=0
race() { go test -race -short -vet=off -count=1 -p 4 -timeout 45m "$@" || bad=1; }
# Longest first, so that none is left to run alone at the end.
race -run 'Kill|Executor|Scheduler|Serve|ThreeRounds|C16|Poison|R5_|R16|R18|R22|R38|R83|M14|R46_EverySnapshotIsWhollyOldOrWhollyNew' ./internal/node ./internal/app/executor ./internal/app/registry ./internal/app/scheduler
race -run 'TestStore/sqlite/(R1_FinishersRacing|R5_FiftyIdenticalTriggers|R86_SeatsAreSharedAndRunOut|Retry_)|Warm|Statements' ./internal/infra/sqlstore
race ./internal/infra/upstream ./internal/infra/httpapi
race -run 'Goroutines|Concurrent|Fixtures|EndsWithItsContext' ./internal/infra/decode
# Days of permits that are only counted, and what six processes show already.
race -skip 'R36_RestartsNeverBurst|R38_SeveralWindows|R38_ClockSetBack|R86_AStoppedDatabase|R86_SlowReplies|R87_|R91_EvenSpacing' ./internal/infra/gate
exit $bad
