#!/usr/bin/env bash
# Runs on MySQL 9 the tests in which it may differ from MariaDB, on which `make test` runs
# everything. PATRA_TEST_MYSQL gives the address of a server; without it one is started here, if
# it is installed. With --list the tests are only named. A test that asks MySQL and is not among
# them fails in `make test`.
set -uo pipefail
cd "$(dirname "$0")/.."

# A package and its tests on a line each, the longest package first.
TESTS="
internal/infra/sqlstore TestStore TestSweep TestR88_CutAtEveryPoint TestR88_OpensWhereverItIsCut TestR89_Bodies \
  TestR17_LeasesAreTimedByTheServer TestLease_AsksAServerLittle TestWrite_SeesWhatOthersCommit \
  TestC21_PickUsesTheIndex TestR88_FewRowsAreRead TestViews_AListReadsItsPage TestTokensAndReplies \
  TestSchemaFilesAreCurrent TestMigrate_RefusedKeysGoOnResting TestMigrate_OpenBreakersStayOpen \
  TestR71_TheGuidesInsertsRun TestR71_TheGuidesQueriesRead TestR74_RolesNeedNoMoreThanTheirGrants \
  TestDictionary_TablesSayWhatTheCompilerKnows
internal/proctest TestProcess_KillsAndZombiesOnMySQL TestR88_DatabaseGoesAway
internal/app/registry TestR44_NullHeadersThroughTheTables TestR44_TruthTableOfThePickInTables TestR45_EndpointsDoNotCollide \
  TestR45_OneMissingDimensionLosesNoOther TestR45_TaskIsRankedBeforeSource TestR46_EverySnapshotIsWhollyOldOrWhollyNew \
  TestR46_OnlyTheSupersededMayOverlap TestRegistry_ExampleRowsArePicked TestRegistry_RowsSayWhatThePackSays \
  TestRegistry_SchedulesThroughTheTables
internal/node TestR71_ASourceOfSQLAloneHarvestsExactly TestR71_TheGuidesContractsHarvestExactly
internal/patratest TestPool_ADatabaseBeginsAnew
"

# each ACT: calls it with a package and its tests, for every line of the list.
each() {
  local package tests
  while read -r package tests; do
    [ -z "$package" ] || "$1" "$package" $tests
  done <<<"$TESTS"
}
name_tests() { printf "${1##*/}.%s\n" "${@:2}"; }
if [ "${1:-}" = --list ]; then
  each name_tests
  exit
fi

. scripts/servers.sh
. scripts/memory.sh
trap 'stop_servers; leave_memory' EXIT
use_memory
[ -n "${PATRA_TEST_MYSQL:-}" ] || start_server start_mysql "MySQL 9"
[ -n "${PATRA_TEST_MYSQL:-}" ] || exit 0
export PATRA_TEST_ALONE=mysql
unset PATRA_TEST_MARIADB

RUNNING=()
start_tests() {
  go test -count=1 -cpu 1 -vet=off "-ldflags=-s -w" -parallel 4 -timeout 60m -run "^($(tr ' ' '|' <<<"${*:2}"))\$" "./$1" </dev/null &
  RUNNING+=($!)
}
each start_tests
failed=0
for pid in "${RUNNING[@]}"; do wait "$pid" || failed=1; done
exit $failed
