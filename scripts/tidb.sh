#!/usr/bin/env bash
# Runs the tests of the store, the campaigns of crashes and the chaos on TiDB: one server of it, with the store for tests
# that it has in itself. With arguments it is go test with these. PATRA_TIDB names the server's program. Without it the program is built from TiDB's Go
# modules, which takes about ten minutes on two processors, and kept for the next time.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/servers.sh
VERSION=20260424041109-25fa27a6a136

# module_folder fetches a module and says where it lies, or why it cannot be had.
module_folder() { # module@version
  local said
  said=$(go mod download -json "$1" 2>&1) || {
    echo "TiDB cannot be built: $(sed -n 's/.*"Error": "\(.*\)",\{0,1\}/\1/p' <<<"$said")" >&2
    echo "next: build tidb-server elsewhere, and say by PATRA_TIDB where it is" >&2
    return 1
  }
  sed -n 's/.*"Dir": "\(.*\)",\{0,1\}/\1/p' <<<"$said"
}

# build_tidb puts the server's program where its argument says. TiDB's parser is a module of its own, which its build looks
# for within the first.
build_tidb() { # program
  local folder server parser
  server=$(module_folder "github.com/pingcap/tidb@v1.1.0-beta.0.$VERSION")
  parser=$(module_folder "github.com/pingcap/tidb/pkg/parser@v0.0.0-$VERSION")
  folder=$(mktemp -d)
  cp -r "$server/." "$folder"
  chmod -R u+w "$folder"
  mkdir -p "$folder/pkg/parser"
  cp -r "$parser/." "$folder/pkg/parser"
  chmod -R u+w "$folder"
  (cd "$folder" && CGO_ENABLED=0 go build -buildvcs=false "-ldflags=-s -w" -o "$1" ./cmd/tidb-server)
  rm -rf "$folder"
}

start_tidb() { # program
  local data port
  data=$(mktemp -d "${TMPDIR:-/tmp}/patra-tidb.XXXXXX")
  SERVER_DIRS+=("$data")
  port=$(free_port)
  "$1" -host 127.0.0.1 -P "$port" -status "$(free_port)" -status-host 127.0.0.1 -socket "$data/s" -store unistore -path "$data/store" -log-file "$data/log" -log-slow-query "$data/slow" >"$data.log" 2>&1 &
  SERVER_PIDS+=($!)
  wait_port "$port" || { cat "$data.log"; return 1; }
  export PATRA_TEST_TIDB="mysql://root@127.0.0.1:$port"
}

trap stop_servers EXIT
program=${PATRA_TIDB:-${XDG_CACHE_HOME:-$HOME/.cache}/patra/tidb-server-$VERSION}
if [ ! -x "$program" ]; then
  mkdir -p "$(dirname "$program")"
  build_tidb "$program"
fi
export PATRA_TIDB=$program PATRA_TEST_ALONE=tidb
[ -n "${PATRA_TEST_TIDB:-}" ] || start_tidb "$program"
if [ $# = 0 ]; then
  go test -count=1 -vet=off -timeout 60m -run 'TestStore|TestSweep|R88_Cut|TestBody|R71|R74|Dictionary|TestViews' ./internal/infra/sqlstore
  set -- -run 'KillsAndZombies|Chaos' ./internal/proctest
fi
go test -count=1 -vet=off -p 1 -timeout 90m "$@"
