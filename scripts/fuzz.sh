#!/usr/bin/env bash
# Fuzzes every target there is by count: `scripts/fuzz.sh [INPUTS]`, 2,000 each
# unless told. An input that fails is left in testdata/fuzz of its package, where
# the tests take it up.
set -euo pipefail
cd "$(dirname "$0")/.."
inputs=${1:-2000}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=
for pkg in $(grep -rl --include='*_test.go' '^func Fuzz' cmd internal sources | xargs -n1 dirname | sort -u); do
  go test -c -fuzz=Fuzz -o "$dir/fuzz.test" "./$pkg"
  for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$pkg"/*_test.go); do
    echo "fuzz $pkg $target"
    (cd "$pkg" && "$dir/fuzz.test" -test.run='^$' -test.fuzz="^$target\$" -test.fuzztime="${inputs}x" -test.fuzzcachedir="$dir/$pkg/$target" >"$dir/log" 2>&1) ||
      { cat "$dir/log"; failed="$failed $target"; }
  done
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
