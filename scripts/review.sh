#!/usr/bin/env bash
# The reviewer's guide, docs/review.md: five commands of a librarian, run against simulated
# sources, with what they answer. Without an argument the page is printed; with --check it is
# held against docs/review.md, where times and addresses stand as TIME and HOST.
set -euo pipefail
cd "$(dirname "$0")/.."
home=$(mktemp -d)
sim=""
finish() {
	if [ -n "$sim" ]; then kill "$sim" 2>/dev/null || true; fi
	rm -rf "$home"
}
trap finish EXIT
# Built without the commit, which the page would tell as patra's version: it changes with every one.
CGO_ENABLED=0 go build -buildvcs=false -o "$home/patra" ./cmd/patra
"$home/patra" sim --sources pubmed,crossref,europepmc --records 400 --seed 17 --now 2026-09-01T12:00:00Z --limit-rps -1 \
	--listen 127.0.0.1:0 >"$home/sim.log" 2>&1 &
sim=$!
host=""
for _ in $(seq 100); do
	host=$(grep -om1 '127\.0\.0\.1:[1-9][0-9]*' "$home/sim.log" || true)
	if [ -n "$host" ]; then break; fi
	sleep 0.1
done
export PATRA_DB="sqlite:$home/review.db" PATRA_CONTACT=you@example.org
hosts=()
for source in pubmed crossref europepmc; do hosts+=(--base-url "$source=http://$host/$source"); done

# say runs a command as a person would write it, and shows it with its answer. What only leads
# it to the simulator is left out of the page.
say() {
	echo '```'
	echo "\$ patra $1"
	shift
	(cd "$home" && ./patra "$@" --progress none 2>&1)
	echo '```'
	echo
}

page() {
	cat <<'HEAD'
# The reviewer's guide

A librarian wants everything on insulin since 2020 from PubMed, Crossref and Europe PMC, without doubles, in Zotero, with the numbers for PRISMA. These are the
commands for it. This page is made by `scripts/review.sh`, which runs them against simulated sources (`patra sim`): names and numbers are
invented, the answers are real. Against the real sources the commands are the same.

## 1. Save the question

One query is asked of all sources. What a source cannot be asked for exactly is filtered here; `patra query explain` shows which. Nothing is
read yet.

HEAD
	say "search new insulin --query 'tiab:insulin AND year:2020..2030' --sources pubmed,crossref,europepmc" \
		search new insulin --query 'tiab:insulin AND year:2020..2030' --sources pubmed,crossref,europepmc
	cat <<'TEXT'
## 2. How much is it?

One request to each source. Crossref counts more than it will keep: the words may stand in titles or in abstracts, and it cannot be asked for words of abstracts. So it is sent the years alone, and the words are looked for here.

TEXT
	say "search count insulin" search count insulin "${hosts[@]}"
	cat <<'TEXT'
## 3. Read it

All three are read side by side, each within its limits. Run again it goes on where it stopped; if one source fails, the others are whole and
the search is PARTIAL (exit 6). `patra search update insulin` later reads what is new since, `patra search schedule` lets `patra serve` do so.

TEXT
	say "search run insulin" search run insulin "${hosts[@]}"
	cat <<'TEXT'
## 4. Into Zotero

What the search has found by its last run, each work once with the best of its records (`patra work show` tells why records are one), in a file that Zotero imports; a manifest with counts and hashes stands beside it. `--new` takes only
what the last run was the first to see.

TEXT
	say "search export insulin --for zotero --dedupe exact --out insulin.ris" search export insulin --for zotero --dedupe exact --out insulin.ris
	cat <<'TEXT'
## 5. The numbers for PRISMA

For each source what was asked as it was sent, of whom, when and how many; `--format html` has the flow diagram, `svg` the diagram alone, `json` all
of it. Identified is what the sources sent, over all runs. What does not fit the query and was filtered here is marked as ineligible by automation; what a source
sent again in a later run, and records of one work, are duplicates. Every record that was identified is removed or left to screen, or there is no report; and
left to screen is what the export above writes.

TEXT
	say "report search insulin" report search insulin
}

tidy() {
	sed -E -e '/^time=/d' -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/TIME/g' -e 's/127\.0\.0\.1:[0-9]+/HOST/g' -e 's/[0-9a-f]{64}/HASH/g' -e "s#$home/##g" -e 's/[ \t]+$//' \
		-e 's/[0-9]{4}%2F[0-9]{2}%2F[0-9]{2}/DAY/g' -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}(T|%3A)?[0-9A-F%:]*/DAY/g'
}

if [ "${1:-}" = --check ]; then
	page | tidy | diff -u docs/review.md -
else
	page | tidy
fi
