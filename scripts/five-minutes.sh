#!/usr/bin/env bash
# The first five minutes of somebody new, walked and timed: a demo with its console, a fault
# and what is seen of it, a folder of one's own, a check, a preview and a harvest, a file for
# Zotero, one's own console. Nothing leaves this machine: simulated sources answer. It ends
# with a failure at the first step that does not show what it should.
# PATRA_BINARY is a patra that is built already; without it one is built first, off the clock.
set -Eeuo pipefail
trap 'echo "five-minutes.sh: line $LINENO failed: $BASH_COMMAND" >&2' ERR
cd "$(dirname "$0")/.."
home=$(mktemp -d)
pids=()
finish() {
	for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
	wait 2>/dev/null || true
	rm -rf "$home"
}
trap finish EXIT
if [ -n "${PATRA_BINARY:-}" ]; then
	cp "$PATRA_BINARY" "$home/patra"
else
	CGO_ENABLED=0 go build -o "$home/patra" ./cmd/patra
fi
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
# says WORDS COMMAND...: whether a command says something. It is heard to its end, so that
# it does not fail for want of a listener.
says() {
	local words=$1 said
	shift
	said=$("$@" 2>&1) || return 1
	grep -q -- "$words" <<<"$said"
}
# must_say WORDS COMMAND...: fails, with what was said, unless a command says something.
must_say() {
	says "$@" && return
	echo "'$1' is not said by: ${*:2}" >&2
	"${@:2}" 2>&1 | tail -50 >&2
	exit 1
}
# until_says SECONDS WORDS COMMAND...: waits until a command says something.
until_says() {
	local end=$((SECONDS + $1))
	until says "${@:2}"; do
		[ $SECONDS -lt $end ] || must_say "${@:2}"
		sleep 0.3
	done
}
# address LOG: the address that a program says it listens at.
address() {
	until_says 30 '127\.0\.0\.1:' cat "$1"
	echo "http://$(grep -om1 '127\.0\.0\.1:[0-9]*' "$1")"
}
# first PATTERN PAGE: what on a page matches first.
first() {
	local html
	html=$(page "$2")
	grep -om1 -- "$1" <<<"$html" | head -n 1
}
page() { curl -sf -m 10 "$console$1"; }
api() { curl -sf -m 10 "$console/api/v1$1"; }

printf '   step      since  what\n'
# Minute 0: the demo, and where its tour leads.
./patra demo --no-browser --listen 127.0.0.1:0 >demo.log 2>&1 &
pids+=($!)
console=$(address demo.log)
must_say 'Everything here is invented' page /
step "patra demo: the console is there and says that its data is invented"
until_says 60 'blackbox/' page /demo
run=$(first '/runs/[0-9]*' /demo | grep -o '[0-9]*')
page "/runs/$run" >/dev/null
page "/blackbox/$run/1" >/dev/null
must_say '"SAME"' curl -sf -m 10 -H 'Content-Type: application/json' -d "{\"batch\":\"$run/1\"}" "$console/api/v1/replays"
step "the tour of three steps: a run, its black box, a replay"

# Minutes 1 and 2: a source that says it is asked too much.
jar=$home/jar
curl -s -m 10 -c "$jar" -o demo.html "$console/demo"
mark=$(grep -om1 'name="form_token" value="[^"]*"' demo.html | head -n 1 | sed 's/.*value="//; s/"//')
press() { curl -sf -m 10 -b "$jar" -o /dev/null -d "form_token=$mark&fault=http_429&to=$1" "$console/demo"; }
# rate_is: the allowed rate of the source against the configured one.
rate_is() {
	api /rates | sed -n 's/.*"key":"repository","sources":\[[^]]*\],"limit":\([0-9.e+-]*\),"burst":[0-9]*,"allowed":\([0-9.e+-]*\).*/\1 \2/p' |
		awk '{print ($2 < $1 ? "lower, " : "whole, ") $2 " of " $1 " a second"}'
}
press on
until_says 60 'http_429' page /
step "429 switched on: the overview names it"
until_says 60 lower rate_is
step "the allowed rate steps down: $(rate_is)"
until_says 60 'asked for fewer requests' page /queue
step "the queue says why it waits"
press off
until_says 120 'Nothing needs you' page /
step "429 switched off: nothing needs anybody"
kill "${pids[0]}"

# Minute 3: a folder of one's own.
must_say 'next: cd lit' ./patra init lit --contact you@example.org
step "patra init lit"
./patra sim --sources pubmed --records 300 --listen 127.0.0.1:0 >sim.log 2>&1 &
pids+=($!)
pubmed="--base-url=$(address sim.log)/pubmed"
cd lit

# Minute 4: check, preview, harvest.
must_say '0 failed' ../patra source check pubmed "$pubmed"
step "patra source check: a test read, and nothing failed"
../patra harvest pubmed "$pubmed" --dry-run >preview 2>&1
grep -q 'would plan' preview
token=$(grep -o '^eyJ[^ ]*' preview)
step "patra harvest --dry-run: $(sed -n 's/^ *slices *//p' preview)"
../patra plan create --apply "$token" --reason "what the preview showed" >planned 2>&1
../patra harvest pubmed "$pubmed" --progress plain >harvested 2>&1
records=$(../patra record list --limit 1000 -o name 2>/dev/null | wc -l)
[ "$records" -gt 0 ]
step "patra plan create --apply, patra harvest: $records records"

# Minute 5: a file that imports, and one's own console.
../patra export --for zotero --out lit.ris >exported 2>&1
references=$(cat *.ris | grep -c '^TY  - ')
[ "$references" -eq "$records" ]
step "patra export --for zotero: $references references"
../patra up --no-browser --listen 127.0.0.1:0 >up.log 2>&1 &
pids+=($!)
console=$(address up.log)
until_says 30 pubmed page /
must_say "/records/pubmed/" page /records
step "patra up: one's own console with the records in it"
