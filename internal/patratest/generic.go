package patratest

import "strings"

// Generic is a pack for the generic source of the oracle, told by what differs from
// the plainest one: blocks of YAML in place of those of the same key. A key without a
// value is taken away.
type Generic struct {
	Pack     string // the whole, but for its endpoints
	Search   string // endpoint items
	Query    string // its parameters
	Response string // what its replies say
	Count    string // endpoint count; [NoCount]: nothing is counted
	Detail   string // a third endpoint, by ids
}

// NoCount leaves the endpoint out that counts.
const NoCount = "none"

// Text is the pack.
func (g Generic) Text() string {
	var b strings.Builder
	b.WriteString(merge(plainPack, g.Pack))
	b.WriteString("endpoints:\n  items:\n")
	search := plainSearch + "query:\n" + indent("  ", merge(plainQuery, g.Query)) + "response:\n" + indent("  ", merge(plainResponse, g.Response))
	b.WriteString(indent("    ", merge(search, g.Search)))
	if g.Count != NoCount {
		b.WriteString("  count:\n" + indent("    ", merge(plainCount, g.Count)))
	}
	if g.Detail != "" {
		b.WriteString("  details:\n" + indent("    ", g.Detail))
	}
	return b.String()
}

// The plainest pack, block by block.
const (
	plainPack = `source: generic
name: Generic
baseUrl: https://generic.example
zone: UTC
recordType: item
identity: TEXT
retry: {maxAttempts: 4, base: 100ms, max: 2s}
rateLimit: {limit: 10, window: 1s, qps: 5, burst: 1}
window:
  key: updated
  filters: {from: updated, to: updated, updated: updated}
  precision: SECOND
  bound: OPEN
  updatedAt: PATH
  safetyLag: 10m
  baseline: 30d
  step: 30d
  minStep: 1h
pagination: {type: OFFSET, pageSize: 20, order: "updated,id", total: EXACT, end: TOTAL}
faults:
  - {code: token_expired, status: 410, level: L1, reaction: RESTART}
mapping:
  fields: {title: title, abstract: {path: text, clean: text}}
  volatile: [updated, v, reads]
`
	plainSearch = `usage: SEARCH
path: /items
format: JSON
`
	plainQuery = `from: ${iso(window.from)}
to: ${iso(window.to)}
size: ${page.size}
`
	plainResponse = `items: items
id: id
updatedAt: {path: updated, key: updated}
version: v
total: total
signals: {error: error}
`
	// The oracle counts in one manner, whatever the pages look like.
	plainCount = `usage: COUNT
path: /items
format: JSON
query: {from: "${iso(window.from)}", to: "${iso(window.to)}", size: 1, style: offset, end: "null", total: exact, envelope: object, empty: list, body: none, bounds: half-open, only: count}
response: {root: total, total: total, signals: {error: error}}
`
)

// blocks parts YAML into its keys at the margin, in their order.
func blocks(text string) (keys []string, at map[string]string) {
	at = map[string]string{}
	key := ""
	for line := range strings.Lines(text) {
		if name, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") {
			key = name
			keys = append(keys, key)
		}
		at[key] += line
	}
	return keys, at
}

// merge puts the blocks of over in place of those of the same key.
func merge(base, over string) string {
	if over != "" && !strings.HasSuffix(over, "\n") {
		over += "\n"
	}
	keys, at := blocks(base)
	more, instead := blocks(over)
	for _, k := range more {
		if _, known := at[k]; !known {
			keys = append(keys, k)
		}
		at[k] = instead[k]
	}
	var b strings.Builder
	for _, k := range keys {
		if strings.TrimSpace(at[k]) != k+":" {
			b.WriteString(at[k])
		}
	}
	return b.String()
}

func indent(by, text string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by) + "\n"
}
