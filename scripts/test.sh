#!/usr/bin/env bash
# Runs the tests: SQLite always, MariaDB where it is installed or its address is given in
# PATRA_TEST_MARIADB. What MySQL may answer otherwise is asked of it by test-mysql.sh; only
# where there is no MariaDB, in the long form, and where PATRA_TEST_MYSQL gives its address
# is MySQL asked here.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/servers.sh
. scripts/memory.sh
trap 'stop_servers; leave_memory' EXIT
use_memory
if [ -z "${PATRA_TEST_MARIADB:-}" ]; then start_server start_mariadb "MariaDB"; fi
if [ -z "${PATRA_TEST_MYSQL:-}" ]; then
  if [ -n "${PATRA_SOAK:-}" ] || [ -z "${PATRA_TEST_MARIADB:-}" ]; then
    start_server start_mysql "MySQL 9"
  else
    PATRA_TEST_LATER=$(bash scripts/test-mysql.sh --list)
    export PATRA_TEST_LATER
    echo "MySQL 9 is asked by make test-mysql"
  fi
fi
[ -d ../shared/fixtures ] || echo "skipped: recorded replies are not beside the project (../shared/fixtures)"
[ -x "${PATRA_SCHEMATHESIS:-/opt/patra-schemathesis}/bin/st" ] || echo "skipped: Schemathesis is not installed (make test-deps)"
[ -f "${PATRA_READERS:-/opt/patra-readers}/ready" ] && command -v ris2xml >/dev/null || echo "skipped: readers of references are not installed (make test-deps)"
command -v promtool >/dev/null || echo "skipped: Prometheus is not installed (make test-deps)"
command -v systemd-analyze >/dev/null || echo "skipped: systemd is not installed (make test-deps)"
if [ -n "${PATRA_SOAK:-}" ]; then
  # All tests, each in its long form if it has one: a list of those that have would miss the next.
  go test -count=1 -vet=off -timeout 600m ./... || exit
  bash scripts/five-minutes.sh || exit
  bash scripts/fuzz.sh 5000000 120
  exit
fi
# The limit is for a machine that does other work beside; a free one needs a fifth
# of it. Tests marked as parallel wait for latency, leases and minutes more than
# they work, so more of them run at once than there are processors; so do whole
# packages, of which those that ask a database server wait for it. Each has one
# processor (-cpu 1): with two it spends a fifth of its time in waking threads that find
# nothing to do, while another package could work. The processes that tests begin have all,
# and so has make race. Those that take longest begin first, or the last of them would run
# alone at the end. `make check` vets what is compiled here. What only a debugger reads is
# left out of the binaries (-s -w): to write it takes three quarters of the time in which
# each is linked.
LONGEST=(./internal/proctest ./internal/infra/sqlstore ./cmd/patra ./internal/node ./internal/infra/console ./internal/app/executor ./internal/infra/httpapi ./internal/styletest ./internal/infra/gate ./internal/app/registry ./internal/app/control)
go test -count=1 -cpu 1 -vet=off "-ldflags=-s -w" -p 4 -parallel 4 -timeout 60m "$@" "${LONGEST[@]}" ./...
