#!/usr/bin/env bash
# The first five minutes of somebody new, walked and timed: a demo with its console, a fault
# and what is seen of it, a folder of one's own, a check, a preview and a harvest, a file for
# Zotero, one's own console. Nothing leaves this machine: simulated sources answer. It ends
# with a failure at the first step that does not show what it should.
set -euo pipefail
cd "$(dirname "$0")/.."
home=$(mktemp -d)
pids=()
finish() {
	for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
	wait 2>/dev/null || true
	rm -rf "$home"
}
trap finish EXIT
CGO_ENABLED=0 go build -o "$home/patra" ./cmd/patra
cd "$home"
unset PATRA_DB PATRA_CONTACT PATRA_SOURCES PATRA_CONFIG

began=$(date +%s%N)
last=$began
# step NAME: tells how long the step took that ends here.
step() {
	local now
	now=$(date +%s%N)
	printf '%6.1f s  %6.1f s  %s\n' "$(((now - last) / 1000000))e-3" "$(((now - began) / 1000000))e-3" "$1"
	last=$now
}
# until_says SECONDS WORDS COMMAND...: waits until a command says something.
until_says() {
	local for=$1 words=$2 end
	shift 2
	end=$((SECONDS + for))
	until "$@" 2>/dev/null | grep -q -- "$words"; do
		[ $SECONDS -lt $end ] || { echo "waited $for s in vain for '$words' from: $*"; "$@" | head -50; exit 1; }
		sleep 0.3
	done
}
# address LOG: the address that a program says it listens at.
address() {
	until_says 30 'http://127' cat "$1"
	grep -om1 'http://127\.0\.0\.1:[0-9]*' "$1"
}
page() { curl -sf -m 10 "$console$1"; }
api() { curl -sf -m 10 "$console/api/v1$1"; }

printf '   step      since  what\n'
# Minute 0: the demo, and where its tour leads.
./patra demo --no-browser --listen 127.0.0.1:0 >demo.log 2>&1 &
pids+=($!)
console=$(address demo.log)
page / | grep -q 'Everything here is invented'
step "patra demo: the console is there and says that its data is invented"
until_says 60 'blackbox/' page /demo
run=$(page /demo | grep -om1 '/runs/[0-9]*' | grep -o '[0-9]*')
page "/runs/$run" >/dev/null
page "/blackbox/$run/1" >/dev/null
curl -sf -m 10 -H 'Content-Type: application/json' -d "{\"batch\":\"$run/1\"}" "$console/api/v1/replays" | grep -q '"SAME"'
step "the tour of three steps: a run, its black box, a replay"

# Minutes 1 and 2: a source that says it is asked too much.
jar=$home/jar
mark=$(curl -s -m 10 -c "$jar" "$console/demo" | grep -om1 'name="form_token" value="[^"]*"' | sed 's/.*value="//; s/"//')
press() { curl -sf -m 10 -b "$jar" -o /dev/null -d "form_token=$mark&fault=http_429&to=$1" "$console/demo"; }
press on
until_says 60 'http_429' page /
until_says 60 'rate_cooldown' api /status
step "429 switched on: the overview names it, and says why the source is left alone"
until_says 60 'repository' page /rate
press off
until_says 120 'Nothing needs you' page /
step "429 switched off: nothing needs anybody"
kill "${pids[0]}"

# Minute 3: a folder of one's own.
./patra init lit --contact you@example.org 2>&1 | grep -q 'next: cd lit'
step "patra init"
./patra sim --sources pubmed --records 300 --listen 127.0.0.1:0 >sim.log 2>&1 &
pids+=($!)
pubmed="--base-url $(address sim.log)/pubmed"
cd lit

# Minute 4: check, preview, harvest.
../patra source check pubmed $pubmed | grep -q 'test read'
step "patra source check"
../patra harvest pubmed $pubmed --dry-run >preview 2>&1
token=$(grep -om1 -- '--apply [^ ]*' preview | sed 's/--apply //')
step "patra harvest --dry-run"
../patra plan create --apply "$token" --reason "what the preview showed" >/dev/null
../patra harvest pubmed $pubmed >harvested 2>&1
step "patra plan create --apply, patra harvest: $(../patra record list -o name | wc -l) records listed"

# Minute 5: a file that imports, and one's own console.
../patra export --for zotero --out lit.ris >exported 2>&1
grep -c '^TY  - ' lit.ris >/dev/null
step "patra export --for zotero: $(grep -c '^TY  - ' lit.ris) references"
../patra up --no-browser --listen 127.0.0.1:0 >up.log 2>&1 &
pids+=($!)
console=$(address up.log)
page / | grep -q pubmed
step "patra up: one's own console"
