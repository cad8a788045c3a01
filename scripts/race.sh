#!/usr/bin/env bash
# The tests in which things run at once, under the race detector: SQLite, small
# data. Packages without goroutines, and tests of one thing after another, are left
# to `make test`: the detector would only slow them down.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/memory.sh
DIR=$(mktemp -d)
export DIR
trap 'rm -rf "$DIR"; leave_memory' EXIT
use_memory
export CGO_ENABLED=1
unset PATRA_TEST_MYSQL PATRA_TEST_MARIADB

# A package and the tests of it, longest first, so that none is left to run alone at
# the end. Left out of the gate's are days of permits that are only counted, and what
# six processes show already; of the API's, what is asked one after the other.
AT_ONCE='Kill|Executor|Scheduler|Serve|ThreeRounds|C16|Poison|R5_|R16|R18|R22|R38|R83|M14|R46_EverySnapshotIsWhollyOldOrWhollyNew'
TESTS="internal/node -test.run=$AT_ONCE
internal/app/executor -test.run=$AT_ONCE
internal/infra/gate -test.skip=R36_RestartsNeverBurst|R38_SeveralWindows|R38_ClockSetBack|R86_AStoppedDatabase|R86_SlowReplies|R87_|R91_EvenSpacing
internal/infra/upstream -test.run=.
internal/infra/sqlstore -test.run=TestStore/sqlite/(R1_FinishersRacing|R5_FiftyIdenticalTriggers|R86_SeatsAreSharedAndRunOut|Retry_)|Warm|Statements
internal/app/registry -test.run=$AT_ONCE
internal/app/scheduler -test.run=$AT_ONCE
internal/infra/httpapi -test.run=TheSameKey|OneCall|Logins|WorkInFlight|Readyz|Feed
internal/infra/decode -test.run=Goroutines|Concurrent|Fixtures|EndsWithItsContext"

# SQLite's own code, which is C turned into Go, is left as it is: it keeps its data
# outside of what the detector watches, and takes several times as long under it.
go test -race -c -vet=off -ldflags=-w '-gcflags=modernc.org/sqlite/lib=-race=false' -o "$DIR/" $(sed 's,^,./,; s, .*,,' <<<"$TESTS") || exit 1

# race PACKAGE FLAG: runs the tests of a package where its files are.
race() {
  local began=$SECONDS log=$DIR/${1//\//.}.log
  if (cd "$1" && "$DIR/${1##*/}.test" -test.short -test.count=1 -test.timeout=45m -test.parallel=4 "$2" >"$log" 2>&1); then
    echo "ok $1 $((SECONDS - began))s"
    return
  fi
  cat "$log"
  echo "FAILED $1 $((SECONDS - began))s"
  return 1
}
export -f race
xargs -P 3 -L 1 bash -c 'race "$0" "$1"' <<<"$TESTS"
