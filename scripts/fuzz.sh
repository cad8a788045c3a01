#!/usr/bin/env bash
# Fuzzes every target there is: `scripts/fuzz.sh [INPUTS [SECONDS]]`. Each gets
# 100,000 inputs or 10 seconds, whichever comes first, unless told otherwise (`make
# soak` gives them minutes); as many run at once as there are cores, and the next
# package is built meanwhile. An input that fails is left in testdata/fuzz of its
# package, where the tests take it up.
set -euo pipefail
cd "$(dirname "$0")/.."
export INPUTS=${1:-100000} SECONDS_EACH=${2:-10}
DIR=$(mktemp -d)
export DIR
trap 'rm -rf "$DIR"' EXIT

# fuzz_target PACKAGE TARGET: at the end of its time a target is interrupted,
# which is a pass unless it has found something; one that does not heed that
# within half a minute hangs on an input, which is a failure. Making interesting
# inputs small is kept short: by default it may take all the time there is.
fuzz_target() {
  local pkg=$1 target=$2 name=${1//\//.}.$2
  if (cd "$pkg" && timeout --preserve-status --signal=INT --kill-after=30 "$SECONDS_EACH" "$DIR/${pkg//\//.}.test" -test.run='^$' -test.fuzz="^$target\$" \
    -test.fuzztime="${INPUTS}x" -test.parallel=1 -test.fuzzminimizetime=100x -test.fuzzcachedir="$DIR/cache/$name" >"$DIR/$name.log" 2>&1); then
    echo "fuzz $pkg $target: $(grep -o 'execs: [0-9]*' "$DIR/$name.log" | tail -1)"
    return
  fi
  echo "FAILED fuzz $pkg $target"
  cat "$DIR/$name.log"
  return 1
}
export -f fuzz_target

# build_targets: builds one package after the other and names its targets.
build_targets() {
  local packages pkg target
  packages=$(grep -rl --include='*_test.go' '^func Fuzz' cmd internal sources | xargs -n1 dirname | sort -u)
  for pkg in $packages; do
    go test -c -fuzz=Fuzz -o "$DIR/${pkg//\//.}.test" "./$pkg" </dev/null >&2 || return
    for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$pkg"/*_test.go); do
      echo "$pkg $target"
    done
  done
}
build_targets | xargs -P "$(nproc)" -L 1 bash -c 'fuzz_target "$0" "$1"'
