package oaipmh

import (
	"strconv"
	"strings"
)

// Pack writes the pack of a repository, or of one of its sets.
func (r Repository) Pack(a Address, code, set string) string {
	var b strings.Builder
	line := func(parts ...string) { b.WriteString(strings.Join(parts, "") + "\n") }
	line("# ", plainText(r.Name), " through OAI-PMH: written by patra source new --from oai-pmh.")
	line("#")
	line("# What the repository says of itself: datestamps are ", map[bool]string{true: "days", false: "seconds"}[r.Days],
		", the earliest ", orUnknown(r.Earliest), "; deletions: ", orUnknown(r.Deleted), ".")
	line("# Formats: ", orUnknown(strings.Join(r.Formats, ", ")), ". The mapping below is for ", DublinCore, ".")
	r.sets(line, set)
	line("#")
	line("# The walk. A following request holds verb and token and nothing else. The last of several lists has an empty")
	line("# token; the only one has none, and is asked for once more before it is believed. Nothing is counted")
	line("# beforehand: a plan is one slice, and is cut if its walk shows the need.")
	line("")
	line("source: ", code)
	line("name: ", strconv.Quote(r.Name))
	line("baseUrl: ", a.Base)
	line("zone: UTC")
	line("recordType: work")
	line("identity: TEXT")
	line("")
	line("http:")
	if a.plain() {
		line("  allowHttp: true")
	}
	if a.local() {
		line("  allowPrivate: true")
	}
	line("  readTimeout: 90s")
	line("  totalTimeout: 120s")
	line("  maxBody: 64MiB")
	line("")
	line("# Nothing is known of its limits: one request at a time, and slowly.")
	line("rateLimit: {qps: 1, burst: 1, concurrency: 1}")
	line("retry: {maxAttempts: 6, base: 5s, max: 120s}")
	line("")
	r.window(line)
	line("")
	b.WriteString(pagination)
	r.endpoints(line, a, set)
	b.WriteString(faultsAndMapping)
	return b.String()
}

// mostSets is how many sets are listed in a pack.
const mostSets = 20

func (r Repository) sets(line func(...string), chosen string) {
	switch {
	case chosen != "":
		line("# Only the set ", plainText(chosen), " is read.")
	case len(r.Sets) == 0:
		line("# There are no sets.")
	default:
		line("# Sets, of which one may be read by itself (--set, or set: under query):")
	}
	for i, s := range r.Sets {
		if i == mostSets || chosen != "" {
			break
		}
		line("#   ", plainText(s.Spec), "  ", plainText(s.Name))
	}
	if (len(r.Sets) > mostSets || r.MoreSets) && chosen == "" {
		line("#   ... and more: verb=ListSets lists them")
	}
}

func (r Repository) window(line func(...string)) {
	line("window:")
	line("  key: datestamp")
	line("  filters: {from: datestamp, until: datestamp}")
	if r.Days {
		line("  precision: DAY")
	} else {
		line("  precision: SECOND")
	}
	line("  bound: CLOSED")
	line("  updatedAt: PATH")
	if r.Days {
		line("  safetyLag: 1d")
		line("  overlap: 1d")
	} else {
		line("  safetyLag: 1h")
		line("  overlap: 1h")
	}
	line("  baseline: 30d # a first harvest; patra backfill reads what is older")
	if r.Earliest != "" {
		line("  beginning: ", r.Earliest)
	}
	line("")
}

func (r Repository) endpoints(line func(...string), a Address, set string) {
	moment := "iso(window.%)"
	if r.Days {
		moment = "date(window.%, '2006-01-02')"
	}
	at := func(end string) string { return strconv.Quote("${" + strings.ReplaceAll(moment, "%", end) + "}") }
	line("endpoints:")
	line("  listrecords:")
	line("    usage: SEARCH")
	line("    path: ", strconv.Quote(a.Path))
	line("    format: XML")
	line("    query:")
	line("      verb: ListRecords")
	line("      metadataPrefix: ", DublinCore)
	if set != "" {
		line("      set: ", strconv.Quote(set))
	}
	line("      from: ", at("from"))
	line("      until: ", at("last"))
	line("    next:")
	line("      query: {verb: ListRecords, resumptionToken: \"${page.token}\"}")
	line("    response:")
	line("      # A window without records is answered with an error: the second path makes an empty page of it.")
	line("      items: [OAI-PMH/ListRecords/record, \"OAI-PMH/error[@code='noRecordsMatch']/record\"]")
	line("      id: header/identifier")
	line("      updatedAt: {path: header/datestamp, key: datestamp}")
	line("      deleted: {path: header/@status, in: [deleted]}")
	line("      total: OAI-PMH/ListRecords/resumptionToken/@completeListSize")
	line("      nextToken: OAI-PMH/ListRecords/resumptionToken")
	line("      signals: {error: \"OAI-PMH/error[@code!='noRecordsMatch']\"}")
	line("")
	line("# Records that are known are read again one by one.")
	line("tasks:")
	line("  update:")
	line("    batching: {idBatchSize: 1}")
	line("    endpoints:")
	line("      getrecord:")
	line("        usage: DETAIL")
	line("        path: ", strconv.Quote(a.Path))
	line("        format: XML")
	line("        query: {verb: GetRecord, metadataPrefix: ", DublinCore, ", identifier: \"${ids[0]}\"}")
	line("        response:")
	line("          items: OAI-PMH/GetRecord/record")
	line("          id: header/identifier")
	line("          updatedAt: {path: header/datestamp, key: datestamp}")
	line("          deleted: {path: header/@status, in: [deleted]}")
	line("          signals: {error: OAI-PMH/error}")
	line("    faults:")
	line("      - {code: unknown_id, body: '<error[^>]*\\scode\\s*=\\s*[\"'']idDoesNotExist', reaction: EMPTY}")
	line("      - {code: oai_error, signal: error, level: L1}")
	line("")
}

// plainText is text that stays within its line, and within a comment.
func plainText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return plainText(s)
}

const pagination = `pagination:
  type: TOKEN
  pageSize: 100 # the server decides
  tokenRepeat: CONTINUE
  total: UNKNOWN # what some servers tell is a hint
  end: [NEXT_EMPTY, NO_TOKEN]

`

const faultsAndMapping = `faults:
  - {code: token_expired, body: '<error[^>]*\scode\s*=\s*["'']badResumptionToken', level: L1, reaction: RESTART}
  - {code: request_refused, body: '<error[^>]*\scode\s*=\s*["''](?:badArgument|badVerb|cannotDisseminateFormat|noSetHierarchy|noMetadataFormats)', level: L2}
  - {code: oai_error, signal: error, level: L1}

# Dublin Core has few words: look at what this repository means by them.
mapping:
  fields:
    title: {path: metadata/dc/title, clean: text}
    abstract: {path: metadata/dc/description, clean: text, join: "\n"}
    authors: {each: metadata/dc/creator, fields: {name: {path: ., clean: text}}}
    publisher: {path: metadata/dc/publisher, clean: text}
    published: {path: metadata/dc/date}
    type: {path: metadata/dc/type, clean: text}
    language: metadata/dc/language
    keywords: {list: metadata/dc/subject, clean: [text, "split:;"]}
    licence: {path: metadata/dc/rights, clean: text}
    doi: {path: metadata/dc/identifier, clean: ['regex:(?i)^(?:https?://(?:dx\.)?doi\.org/|info:doi/|doi:\s*)?(10\.\S+)$', doi]}
    url: {path: metadata/dc/identifier, clean: "regex:^https?://.+"}
`
