package demo

import (
	"regexp"
	"strings"

	"github.com/papertrace/patra/internal/sim"
	"github.com/papertrace/patra/sources"
)

// repositoryPack leads from page to page by tokens that hold their own place.
const repositoryPack = `source: repository
name: A repository (invented)
baseUrl: BASE/repository
recordType: item
identity: TEXT
http: {allowHttp: true, allowPrivate: true}
rateLimit: {limit: 10, window: 1s, qps: 5, burst: 1}
window: {key: updated, filters: {from: updated, to: updated}, precision: SECOND, bound: OPEN, updatedAt: PATH, safetyLag: 1m, baseline: 3d, step: 60d, minStep: 1h, overlap: 10m}
pagination: {type: TOKEN, pageSize: 20, total: ROUGH, end: NO_TOKEN}
endpoints:
  items:
    usage: SEARCH
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", style: token, size: "${page.size}", token: "${page.token}"}
    response: {items: items, total: total, id: id, updatedAt: {path: updated, format: RFC3339, key: updated}, version: v, nextToken: next_token, signals: {error: error}}
  count:
    usage: COUNT
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", style: offset, size: "1", only: count}
    response: {root: total, total: total}
mapping: {fields: {title: title, url: id}, volatile: [updated, v, reads]}
schedule: {harvest: "* * * * *"}
`

// archivePack is of a source that keeps the place of a walk itself and says how many
// there are.
var archivePack = strings.NewReplacer(
	"source: repository", "source: archive",
	"A repository (invented)", "An archive (invented)",
	"BASE/repository", "BASE/archive",
	"style: token,", "style: token-constant,",
	"total: ROUGH, end: NO_TOKEN", "tokenRepeat: CONTINUE, tokenStateful: true, tokenLifetime: PT5M, total: EXACT, end: [EMPTY_PAGE]",
).Replace(repositoryPack)

// timeouts is the last line of what a shipped pack says about connections.
var timeouts = regexp.MustCompile(`(?m)^( +)totalTimeout: 120s$`)

// local lets a pack ask a host of this machine.
func local(pack string) string {
	return timeouts.ReplaceAllString(pack, "${1}totalTimeout: 120s\n${1}allowHttp: true\n${1}allowPrivate: true")
}

// packs are the packs of the sources on the stage, by code.
func packs(base string) map[string]string {
	pubmed := strings.NewReplacer(
		"https://eutils.ncbi.nlm.nih.gov/entrez/eutils", base+"/pubmed",
		"pageSize: 9999", "pageSize: 50", "idBatchSize: 200", "idBatchSize: 50", "baseline: 30d", "baseline: 4d",
	).Replace(local(shipped(sim.PubMed))) + "\nschedule: {harvest: \"@hourly\"}\n"
	crossref := strings.NewReplacer(
		"https://api.crossref.org", base+"/crossref",
		"baseline: 30d", "baseline: 4d", "safetyLag: PT10M", "safetyLag: PT1M",
		"sentinel: true", `harvest: "*/5 * * * *"`,
	).Replace(local(shipped(sim.Crossref)))
	fill := strings.NewReplacer("BASE", base)
	return map[string]string{sim.PubMed: pubmed, sim.Crossref: crossref, Repository: fill.Replace(repositoryPack), Archive: fill.Replace(archivePack)}
}

// shipped is a pack that comes with patra.
func shipped(code string) string {
	b, err := sources.FS.ReadFile(code + ".yaml")
	if err != nil { // it is in the binary
		panic(err)
	}
	return string(b)
}
