package query

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The dialects of four sources, as they will stand in source packs. They are
// written from the facts pages; what is beyond those is marked (?).

var (
	termOps = []Op{OpTerm}
	listOps = []Op{OpTerm, OpIn}
)

func pubmed() Dialect {
	d := Dialect{
		Source: "pubmed",
		Params: []ParamMap{
			{StdKey: KeyQuery, Name: "term"},
		},
		Rules: []Rule{
			{Op: OpAnd, Joiner: " AND ", WrapGroup: true},
			{Op: OpOr, Joiner: " OR ", WrapGroup: true},
			{Op: OpNot, Joiner: " NOT "},
			{Op: OpAll, Template: "all[sb]"},
			{Field: "ab", Op: OpExists, Template: "hasabstract"},
			{Field: FieldToken, Op: OpToken, Template: "${token(value)}"},
			{Field: "year", Op: OpRange, Template: "${default(from, '1000')}:${default(to, '3000')}[pdat]"},
		},
		Capabilities: []Capability{
			{Field: "ab", Ops: []Op{OpExists}},
			{Field: "year", Ops: []Op{OpRange}},
			{Field: FieldToken, Ops: []Op{OpToken}, TokenPattern: `^[^#]*$`},
		},
	}
	// Words of four letters and more can be cut off.
	for field, tag := range map[string]string{"ti": "ti", "tiab": "tiab", "au": "au", "af": "ad", "jo": "jour", "kw": "ot", "full": "all"} {
		d.Capabilities = append(d.Capabilities, Capability{
			Field: field, Ops: termOps, TermMatches: []Match{MatchWords, MatchPhrase, MatchPrefix}, PrefixMinLen: 4, TermMaxLen: 1000,
		})
		d.Rules = append(d.Rules,
			Rule{Field: field, Op: OpTerm, Match: MatchWords, Template: "${entrez_word(value)}[" + tag + "]"},
			Rule{Field: field, Op: OpTerm, Match: MatchPhrase, Template: "${entrez_phrase(value)}[" + tag + "]"},
			Rule{Field: field, Op: OpTerm, Match: MatchPrefix, Template: "${entrez_prefix(value)}[" + tag + "]"})
	}
	for field, tag := range map[string]string{"pmid": "uid", "doi": "aid", "issn": "is", "orcid": "auid", "type": "pt", "lang": "la", "mesh": "mh", "funder": "gr"} {
		able := Capability{Field: field, Ops: listOps, TermMatches: []Match{MatchExact}, InMaxSize: 200}
		template := "${entrez_phrase(value)}[" + tag + "]"
		if field == "pmid" {
			able.Ops = []Op{OpTerm, OpIn, OpRange}
			able.TermPattern = `^[0-9]{1,8}$`
			d.Rules = append(d.Rules, Rule{Field: field, Op: OpRange, Template: "${default(entrez_word(from), '1')}:${default(entrez_word(to), '99999999')}[uid]"})
			template = "${entrez_word(value)}[uid]"
		}
		d.Capabilities = append(d.Capabilities, able)
		d.Rules = append(d.Rules,
			Rule{Field: field, Op: OpTerm, Template: template},
			Rule{Field: field, Op: OpIn, ItemTemplate: template, Joiner: " OR ", WrapGroup: true})
	}
	for field, tag := range map[string]string{"pubdate": "pdat", "created": "crdt", "updated": "mdat"} {
		d.Capabilities = append(d.Capabilities, Capability{Field: field, Ops: []Op{OpRange}, RangePrecision: PrecisionDay, RangeMin: "1800-01-01"})
		d.Rules = append(d.Rules, Rule{
			Field: field, Op: OpRange, ValueType: TypeDate,
			Template: "${default(date(from, '2006/01/02'), '1800/01/01')}:${default(date(exclusive_day(to), '2006/01/02'), '3000/12/31')}[" + tag + "]",
		})
	}
	return d
}

func crossref() Dialect {
	d := Dialect{
		Source: "crossref",
		Params: []ParamMap{
			{StdKey: KeyFilter, Name: "filter", Joiner: ",", NameMark: ":"},
			{StdKey: "bibliographic", Name: "query.bibliographic", Joiner: " "},
			{StdKey: "author", Name: "query.author", Joiner: " "},
		},
		// Crossref ranks by these words, it does not filter by them.
		Capabilities: []Capability{
			{Field: "full", Ops: termOps, TermMatches: []Match{MatchWords}, SupportsNot: new(false)},
			{Field: "au", Ops: termOps, TermMatches: []Match{MatchWords}, SupportsNot: new(false)},
			{Field: "year", Ops: []Op{OpRange}, SupportsNot: new(false)},
			{Field: "ab", Ops: []Op{OpExists}},
		},
		Rules: []Rule{
			{Field: "full", Op: OpTerm, Emit: EmitParams, Params: map[string][]string{"bibliographic": {"${plain(value)}"}}},
			{Field: "au", Op: OpTerm, Emit: EmitParams, Params: map[string][]string{"author": {"${plain(value)}"}}},
			{Field: "year", Op: OpRange, Emit: EmitParams, Params: map[string][]string{KeyFilter: {"from-pub-date:${from}", "until-pub-date:${to}"}}},
			{Field: "ab", Op: OpExists, Emit: EmitParams, Params: map[string][]string{KeyFilter: {"has-abstract:true"}}},
			{Field: "ab", Op: OpExists, Negated: true, Emit: EmitParams, Params: map[string][]string{KeyFilter: {"has-abstract:false"}}},
		},
	}
	for field, name := range map[string]string{"type": "type", "issn": "issn", "doi": "doi", "orcid": "orcid", "funder": "funder", "licence": "license.url"} {
		d.Capabilities = append(d.Capabilities, Capability{Field: field, Ops: listOps, SupportsNot: new(false), InMaxSize: 50})
		value := "${filter(value)}"
		if field == "doi" {
			value = "${filter(lower(cut(value, 'https://doi.org/')))}"
		}
		r := Rule{Field: field, Op: OpTerm, Emit: EmitParams, Params: map[string][]string{KeyFilter: {name + ":" + value}}}
		in := Rule{Field: field, Op: OpIn, Emit: EmitParams, ItemTemplate: name + ":" + value, Joiner: ",", Params: map[string][]string{KeyFilter: {"${items}"}}}
		if field == "type" {
			r.Values = map[string]string{"article": "journal-article", "preprint": "posted-content"}
			in.Values = r.Values
		}
		d.Rules = append(d.Rules, r, in)
	}
	for field, name := range map[string]string{"pubdate": "pub", "created": "created", "updated": "update"} {
		able := Capability{Field: field, Ops: []Op{OpRange}, RangePrecision: PrecisionSecond, SupportsNot: new(false)}
		from, to := "${date(from, '2006-01-02T15:04:05')}", "${date(exclusive_second(to), '2006-01-02T15:04:05')}"
		if field == "pubdate" {
			able.RangePrecision = PrecisionDay
			from, to = "${date(from, '2006-01-02')}", "${date(exclusive_day(to), '2006-01-02')}"
		}
		d.Capabilities = append(d.Capabilities, able)
		d.Rules = append(d.Rules, Rule{Field: field, Op: OpRange, Emit: EmitParams, Params: map[string][]string{
			KeyFilter: {"from-" + name + "-date:" + from, "until-" + name + "-date:" + to},
		}})
	}
	return d
}

func europepmc() Dialect {
	d := Dialect{
		Source: "europepmc",
		Params: []ParamMap{
			{StdKey: KeyQuery, Name: "query"},
		},
		Capabilities: []Capability{
			{Field: "full", Ops: termOps, TermMatches: []Match{MatchWords, MatchPhrase, MatchPrefix}},
			{Field: "year", Ops: []Op{OpRange}},
			{Field: "ab", Ops: []Op{OpTerm, OpExists}, TermMatches: []Match{MatchWords, MatchPhrase, MatchPrefix}},
			{Field: "oa", Ops: termOps},
			{Field: "pmid", Ops: listOps, TermPattern: `^[0-9]+$`},
			{Field: FieldToken, Ops: []Op{OpToken}},
		},
		Rules: []Rule{
			{Op: OpAnd, Joiner: " AND ", WrapGroup: true},
			{Op: OpOr, Joiner: " OR ", WrapGroup: true},
			{Op: OpNot, Joiner: " NOT "},
			{Op: OpAll, Template: "*:*"}, // (?)
			{Field: "full", Op: OpTerm, Match: MatchWords, Template: "${lucene_word(value)}"},
			{Field: "full", Op: OpTerm, Match: MatchPhrase, Template: "${quote(value)}"},
			{Field: "full", Op: OpTerm, Match: MatchPrefix, Template: "${lucene_prefix(value)}"},
			{Field: "year", Op: OpRange, Template: "PUB_YEAR:[${default(from, '*')} TO ${default(to, '*')}]"},
			{Field: "ab", Op: OpExists, Template: "HAS_ABSTRACT:y"},
			{Field: "oa", Op: OpTerm, Template: "OPEN_ACCESS:${value}", Values: map[string]string{"true": "y", "false": "n"}},
			{Field: "pmid", Op: OpTerm, Template: "(EXT_ID:${quote(value)} AND SRC:MED)"},
			{Field: "pmid", Op: OpIn, Template: "(${items} AND SRC:MED)", ItemTemplate: "EXT_ID:${quote(value)}", Joiner: " OR ", WrapGroup: true},
			{Field: FieldToken, Op: OpToken, Template: "${token(value)}"},
		},
	}
	for field, name := range map[string]string{"ti": "TITLE", "ab": "ABSTRACT", "tiab": "TITLE_ABS", "au": "AUTH", "af": "AFF", "jo": "JOURNAL", "kw": "KW"} {
		if field != "ab" {
			d.Capabilities = append(d.Capabilities, Capability{Field: field, Ops: termOps, TermMatches: []Match{MatchWords, MatchPhrase, MatchPrefix}})
		}
		d.Rules = append(d.Rules,
			Rule{Field: field, Op: OpTerm, Match: MatchWords, Template: name + ":${lucene_word(value)}"},
			Rule{Field: field, Op: OpTerm, Match: MatchPhrase, Template: name + ":${quote(value)}"},
			Rule{Field: field, Op: OpTerm, Match: MatchPrefix, Template: name + ":${lucene_prefix(value)}"})
	}
	for field, name := range map[string]string{"doi": "DOI", "pmcid": "PMCID", "issn": "ISSN", "orcid": "AUTHORID", "type": "PUB_TYPE", "lang": "LANG", "licence": "LICENSE"} {
		d.Capabilities = append(d.Capabilities, Capability{Field: field, Ops: listOps, InMaxSize: 100})
		d.Rules = append(d.Rules,
			Rule{Field: field, Op: OpTerm, Template: name + ":${quote(value)}"},
			Rule{Field: field, Op: OpIn, ItemTemplate: name + ":${quote(value)}", Joiner: " OR ", WrapGroup: true})
	}
	for field, name := range map[string]string{"pubdate": "FIRST_PDATE", "created": "CREATION_DATE", "updated": "UPDATE_DATE"} {
		d.Capabilities = append(d.Capabilities, Capability{Field: field, Ops: []Op{OpRange}})
		d.Rules = append(d.Rules, Rule{
			Field: field, Op: OpRange,
			Template: name + ":[${default(date(from, '2006-01-02'), '*')} TO ${default(date(exclusive_day(to), '2006-01-02'), '*')}]",
		})
	}
	return d
}

func openalex() Dialect {
	filter := func(list ...string) map[string][]string { return map[string][]string{KeyFilter: list} }
	d := Dialect{
		Source: "openalex",
		Params: []ParamMap{
			{StdKey: KeyFilter, Name: "filter", Joiner: ","},
		},
		Capabilities: []Capability{
			{Field: "year", Ops: []Op{OpRange}, SupportsNot: new(false)},
			{Field: "pubdate", Ops: []Op{OpRange}, SupportsNot: new(false)},
			{Field: "updated", Ops: []Op{OpRange}, RangePrecision: PrecisionMicro, SupportsNot: new(false)},
			{Field: "oa", Ops: termOps},
			{Field: "ab", Ops: []Op{OpExists}},
		},
		Rules: []Rule{
			{Field: "year", Op: OpRange, Emit: EmitParams, Params: filter("from_publication_date:${from}-01-01", "to_publication_date:${to}-12-31")},
			{Field: "pubdate", Op: OpRange, Emit: EmitParams, Params: filter("from_publication_date:${date(from, '2006-01-02')}", "to_publication_date:${date(exclusive_day(to), '2006-01-02')}")},
			{Field: "updated", Op: OpRange, Emit: EmitParams, Params: filter("from_updated_date:${date(from, '2006-01-02T15:04:05.000000')}", "to_updated_date:${date(exclusive_second(to), '2006-01-02T15:04:05')}")},
			{Field: "oa", Op: OpTerm, Emit: EmitParams, Params: filter("is_oa:${value}")},
			{Field: "oa", Op: OpTerm, Negated: true, Emit: EmitParams, Params: filter("is_oa:!${value}")},
			{Field: "ab", Op: OpExists, Emit: EmitParams, Params: filter("has_abstract:true")},
			{Field: "ab", Op: OpExists, Negated: true, Emit: EmitParams, Params: filter("has_abstract:false")},
		},
	}
	for field, name := range map[string]string{"ti": "title.search", "tiab": "title_and_abstract.search", "full": "default.search"} {
		d.Capabilities = append(d.Capabilities, Capability{Field: field, Ops: termOps, TermMatches: []Match{MatchWords, MatchPhrase}, SupportsNot: new(false)})
		d.Rules = append(d.Rules,
			Rule{Field: field, Op: OpTerm, Match: MatchWords, Emit: EmitParams, Params: filter(name + ":${openalex_word(value)}")},
			Rule{Field: field, Op: OpTerm, Match: MatchPhrase, Emit: EmitParams, Params: filter(name + ":${openalex_phrase(value)}")},
			Rule{Field: field, Op: OpIn, Match: MatchWords, Emit: EmitParams, ItemTemplate: "${openalex_word(value)}", Joiner: " OR ", WrapGroup: true, Params: filter(name + ":${items}")},
			Rule{Field: field, Op: OpIn, Match: MatchPhrase, Emit: EmitParams, ItemTemplate: "${openalex_phrase(value)}", Joiner: " OR ", WrapGroup: true, Params: filter(name + ":${items}")})
	}
	for field, name := range map[string]string{
		"type": "type", "lang": "language", "doi": "doi", "orcid": "authorships.author.orcid", "issn": "primary_location.source.issn", "licence": "primary_location.license",
	} {
		d.Capabilities = append(d.Capabilities, Capability{Field: field, Ops: listOps, InMaxSize: 100})
		d.Rules = append(d.Rules,
			Rule{Field: field, Op: OpTerm, Emit: EmitParams, Params: filter(name + ":${openalex(value)}")},
			Rule{Field: field, Op: OpTerm, Negated: true, Emit: EmitParams, Params: filter(name + ":!${openalex(value)}")},
			Rule{Field: field, Op: OpIn, Emit: EmitParams, ItemTemplate: "${openalex(value)}", Joiner: "|", Params: filter(name + ":${items}")})
	}
	return d
}

func dialects() map[string]Dialect {
	return map[string]Dialect{"pubmed": pubmed(), "crossref": crossref(), "europepmc": europepmc(), "openalex": openalex()}
}

func mustRenderer(t testing.TB, d Dialect) *Renderer {
	t.Helper()
	r, err := NewRenderer(d, Default())
	if err != nil {
		t.Fatalf("dialect of %s:\n%v", d.Source, err)
	}
	return r
}

// asked is a query as the source's own parameters.
func asked(t testing.TB, r *Renderer, text string) string {
	t.Helper()
	out, err := r.Render(mustParse(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var parts []string
	for _, p := range out.Sent {
		parts = append(parts, p.Name+"="+strings.Join(p.Values, " & "))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

func TestRenderer_WritesEachSourcesSyntax(t *testing.T) {
	for source, golden := range map[string]map[string]string{
		"pubmed": {
			`tiab:"breast cancer" AND year:2020..2024 AND NOT type:review`: `term=2020:2024[pdat] AND "breast cancer"[tiab] NOT "review"[pt]`,
			`cancer`:          `term=cancer[all]`,
			`*`:               `term=all[sb]`,
			`NOT type:review`: `term=all[sb] NOT "review"[pt]`,
			`tiab:(asthma OR "airway disease") au:"Smith J"`: `term=("airway disease"[tiab] OR asthma[tiab]) AND "Smith J"[au]`,
			`pmid:(9, 10, 123)`:                       `term=(10[uid] OR 123[uid] OR 9[uid])`,
			`pmid:1..20000000`:                        `term=1:20000000[uid]`,
			`created:2024-05-01`:                      `term=2024/05/01:2024/05/01[crdt]`,
			`pubdate>=2020-05`:                        `term=2020/05/01:3000/12/31[pdat]`,
			`updated:..2020`:                          `term=1800/01/01:2020/12/31[mdat]`,
			`tiab:vaccin* has:abstract`:               `term=hasabstract AND vaccin*[tiab]`,
			`tiab:"breast feed"*`:                     `term="breast feed*"[tiab]`,
			`mesh:"Breast Neoplasms" lang:(eng, ger)`: `term=("eng"[la] OR "ger"[la]) AND "Breast Neoplasms"[mh]`,
			`a OR NOT b`:                              `term=(all[sb] NOT b[all]) OR a[all]`,
			`NOT (ti:a b)`:                            `term=all[sb] NOT (b[all] AND a[ti])`,
			`@pubmed:"free full text[sb]" ti:asthma`:  `term=asthma[ti] AND (free full text[sb])`,
			`ti:"a\" OR 1[uid] [tiab] b"`:             `term="a OR 1 uid tiab b"[ti]`,
			`\AND \OR`:                                `term="AND"[all] AND "OR"[all]`,
			`orcid:0000-0002-1825-0097`:               `term="0000-0002-1825-0097"[auid]`,
		},
		"crossref": {
			`type:journal-article year:2020..2024`:                  `filter=from-pub-date:2020,until-pub-date:2024,type:journal-article`,
			`type:(article OR preprint)`:                            `filter=type:journal-article,type:posted-content`,
			`doi:(10.1/A, "https://doi.org/10.1/b")`:                `filter=doi:10.1/a,doi:10.1/b`,
			`has:abstract issn:1234-5678`:                           `filter=has-abstract:true,issn:1234-5678`,
			`NOT has:abstract`:                                      `filter=has-abstract:false`,
			`NOT NOT has:abstract`:                                  `filter=has-abstract:true`,
			`pubdate:2020-05`:                                       `filter=from-pub-date:2020-05-01,until-pub-date:2020-05-31`,
			`updated:[2024-10-02T15:00 TO 2024-10-02T16:00}`:        `filter=from-update-date:2024-10-02T15:00:00,until-update-date:2024-10-02T15:59:59`,
			`created>=2024`:                                         `filter=from-created-date:2024-01-01T00:00:00`,
			`breast cancer type:article`:                            `filter=type:journal-article; query.bibliographic=breast cancer`,
			`au:Curie`:                                              `query.author=Curie`,
			`funder:10.13039/100000001 orcid:0000-0002-1825-0097`:   `filter=funder:10.13039/100000001,orcid:0000-0002-1825-0097`,
			`licence:"http://creativecommons.org/licenses/by/4.0/"`: `filter=license.url:http://creativecommons.org/licenses/by/4.0/`,
			`*`: ``,
		},
		"europepmc": {
			`tiab:"breast cancer" AND year:2020..2024 AND NOT type:review`: `query=PUB_YEAR:[2020 TO 2024] AND TITLE_ABS:"breast cancer" NOT PUB_TYPE:"review"`,
			`updated:2026-08-01..2026-08-08`:                               `query=UPDATE_DATE:[2026-08-01 TO 2026-08-08]`,
			`updated>=2026-08-01`:                                          `query=UPDATE_DATE:[2026-08-01 TO *]`,
			`malaria`:                                                      `query=malaria`,
			`ti:malar* OR ab:malaria`:                                      `query=ABSTRACT:malaria OR TITLE:malar*`,
			`oa:true has:abstract`:                                         `query=HAS_ABSTRACT:y AND OPEN_ACCESS:y`,
			`pmid:123`:                                                     `query=(EXT_ID:"123" AND SRC:MED)`,
			`pmid:(123,45)`:                                                `query=((EXT_ID:"123" OR EXT_ID:"45") AND SRC:MED)`,
			`licence:("cc by" OR cc-by)`:                                   `query=(LICENSE:"cc by" OR LICENSE:"cc-by")`,
			`au:"Smith AB" jo:"biology letters"`:                           `query=AUTH:"Smith AB" AND JOURNAL:"biology letters"`,
			`doi:"10.1016/S0140-6736(20)30183-5"`:                          `query=DOI:"10.1016/S0140-6736(20)30183-5"`,
			`ti:"a\" OR SRC:MED \\"`:                                       `query=TITLE:"a\" OR SRC:MED \\"`,
			`ti:a\/b*`:                                                     `query=TITLE:a\/b*`,
			`\or \to`:                                                      `query="or" AND "to"`,
			`@europepmc:"SRC:PPR" OR NOT ti:x`:                             `query=(*:* NOT TITLE:x) OR (SRC:PPR)`,
			`orcid:0000-0002-1825-0097`:                                    `query=AUTHORID:"0000-0002-1825-0097"`,
		},
		"openalex": {
			`tiab:"breast cancer" AND year:2020..2024 AND NOT type:review`: `filter=type:!review,from_publication_date:2020-01-01,to_publication_date:2024-12-31,title_and_abstract.search:"breast cancer"`,
			`type:(article OR review)`:                                     `filter=type:article|review`,
			`NOT type:(article OR review)`:                                 `filter=type:!article,type:!review`,
			`NOT (type:article OR lang:en)`:                                `filter=language:!en,type:!article`,
			`oa:true has:abstract`:                                         `filter=has_abstract:true,is_oa:true`,
			`NOT oa:true`:                                                  `filter=is_oa:!true`,
			`tiab:(asthma OR copd)`:                                        `filter=title_and_abstract.search:(asthma OR copd)`,
			`tiab:("a b" OR "c, d")`:                                       `filter=title_and_abstract.search:("a b" OR "c d")`,
			`tiab:(asthma copd)`:                                           `filter=title_and_abstract.search:asthma,title_and_abstract.search:copd`,
			`pubdate:2022-01-01..2022-01-26`:                               `filter=from_publication_date:2022-01-01,to_publication_date:2022-01-26`,
			`updated>=2026-01-01T10:00:00.5`:                               `filter=from_updated_date:2026-01-01T10:00:00.500000`,
			`doi:(10.1/a,10.1/b) lang:en`:                                  `filter=doi:10.1/a|10.1/b,language:en`,
			`orcid:0000-0002-1825-0097`:                                    `filter=authorships.author.orcid:0000-0002-1825-0097`,
			`type:article type:review`:                                     `filter=type:article,type:review`,
			`*`:                                                            ``,
		},
	} {
		r := mustRenderer(t, dialects()[source])
		for text, want := range golden {
			if got := asked(t, r, text); got != want {
				t.Errorf("%s of %s\n got %s\nwant %s", source, text, got, want)
			}
		}
	}
}

func TestRenderer_RefusesWhatTheSourceCannotSay(t *testing.T) {
	for source, cases := range map[string]map[string][]string{
		"pubmed": {
			`oa:true`:                {"line 1, column 1: pubmed cannot search `oa`; fields it can: ab, af, au, created"},
			`tiab:onc*`:              {"line 1, column 1: pubmed needs at least 4 characters before a *"},
			`ti="x"`:                 {"pubmed cannot match `ti` by exact; it can words, phrase, prefix"},
			`ti:"x"cs`:               {"does not tell capital from small letters in `ti`; leave out cs"},
			`ab:x`:                   {"pubmed cannot search words in `ab`"},
			`has:ti`:                 {"pubmed cannot ask whether there is a `ti`; fields it can: ab"},
			`updated>=2020-01-01T10`: {"pubmed knows `updated` by the day only; give whole days"},
			`pubdate:1700`:           {"pubmed knows no `pubdate` before 1800-01-01"},
			`pmid:12x`:               {"\"12x\" is no `pmid` to pubmed; it must match"},
			`@crossref:"x"`:          {"pubmed does not understand the language of crossref"},
			`@pubmed:"#1 AND x"`:     {"it must match"},
			`@pubmed:"x) OR (y"`:     {"closes a bracket it did not open"},
			`@pubmed:"\"x"`:          {"does not close what it opens"},
			// Entrez knows no escapes: it would read these brackets.
			`@pubmed:"foo \\) OR all[sb] AND \\(bar"`: {`holds '\\', which sources read in different ways`},
			// Entrez takes these for straight quotes, and reads the brackets outside them.
			`@pubmed:"“(” a ) OR all[sb] OR ( “)”"`:        {"holds '“', which sources read in different ways"},
			`@pubmed:"a） OR all[sb] OR （b"`:                {"holds '）', which sources read in different ways"},
			`ti:"[]"`:                                      {"has nothing left to search for"},
			`ti:a NOT *`:                                   {"NOT of everything finds nothing"},
			`oa:true OR ti:onc* OR updated>=2020-01-01T10`: {"column 1: pubmed cannot search `oa`", "column 12: pubmed needs at least 4", "column 23: pubmed knows `updated`"},
		},
		"crossref": {
			`type:article OR issn:1`:       {"line 1, column 1: crossref can only OR values of one filter; ask in several queries"},
			`type:article type:book`:       {"line 1, column 14: crossref reads several `type` as alternatives: they cannot all be wanted"},
			`year:2020..2024 pubdate:2022`: {"reads several `from-pub-date` as alternatives", "reads several `until-pub-date` as alternatives"},
			`NOT type:review`:              {"column 5: crossref cannot exclude by `type`; leave out the NOT"},
			`ti:x`:                         {"crossref cannot search `ti`"},
			`"breast cancer"`:              {"crossref cannot match `full` by phrase; it can words"},
			`type:"a,type:b"`:              {`"a,type:b" holds ',', which a filter has no way to write`},
			`NOT (has:abstract type:a)`:    {"crossref cannot exclude by `type`"},
			`pubdate:[2020-01-01T10 TO *]`: {"crossref knows `pubdate` by the day only"},
		},
		"europepmc": {
			`ti:"a b"*`: {"has a blank: only the beginning of a single word"},
			`mesh:x`:    {"europepmc cannot search `mesh`"},
		},
		"openalex": {
			`tiab:asthma OR type:review`: {"openalex can only OR values of one filter"},
			`tiab:asthma OR tiab:"x y"`:  {"openalex can only OR values of one filter"},
			`NOT tiab:x`:                 {"openalex cannot exclude by `tiab`"},
			`type:"a|b"`:                 {`holds '|', which a filter has no way to write`},
			`tiab:onco*`:                 {"openalex cannot match `tiab` by prefix; leave out the *"},
			`NOT (type:a lang:b)`:        {"cannot exclude what has several marks together"},
		},
	} {
		r := mustRenderer(t, dialects()[source])
		for text, want := range cases {
			e := mustParse(t, text)
			problems := r.Check(e)
			var seen []string
			for _, p := range problems {
				seen = append(seen, p.String())
			}
			ok := len(problems) == len(want)
			for _, w := range want {
				ok = ok && slices.ContainsFunc(seen, func(s string) bool { return strings.Contains(s, w) })
			}
			if !ok {
				t.Errorf("%s of %s\n got %s\nwant %s", source, text, strings.Join(seen, "\n     "), strings.Join(want, "\n     "))
			}
			if _, err := r.Render(e); (err == nil) != (len(want) == 0) {
				t.Errorf("%s of %s: Render says %v", source, text, err)
			}
		}
	}
}

func TestRenderer_MixesQueryTextAndParameters(t *testing.T) {
	d := Dialect{
		Source: "mixed",
		Params: []ParamMap{{StdKey: KeyQuery, Name: "q"}, {StdKey: "type", Name: "t"}},
		Capabilities: []Capability{
			{Field: "ti", Ops: termOps}, {Field: "type", Ops: termOps}, {Field: "year", Ops: []Op{OpRange}, RangeOpenEnd: new(false)},
		},
		Rules: []Rule{
			{Op: OpAnd, Joiner: " && "},
			{Op: OpOr, Joiner: " || "},
			{Op: OpNot, Template: "-(${items})"},
			{Field: "ti", Op: OpTerm, Template: "${quote(value)}"},
			{Field: "ti", Op: OpTerm, Negated: true, Match: MatchWords, Template: "!${quote(value)}"},
			{Field: "year", Op: OpRange, Template: "${from}-${to}"},
			{Field: "type", Op: OpTerm, Emit: EmitParams, Params: map[string][]string{"type": {"${plain(value)}"}}},
		},
	}
	r := mustRenderer(t, d)
	for text, want := range map[string]string{
		`ti:a type:b`:          `q="a"; t=b`,
		`NOT ti:a NOT ti:"b"`:  `q=!"a" && -("b")`,
		`ti:a year:2020..2021`: `q=2020-2021 && "a"`,
		`type:x`:               `t=x`,
	} {
		if got := asked(t, r, text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		`ti:a OR type:b`:      "mixed sends `type` as a parameter, and a parameter cannot be one side of an OR",
		`type:(a,b)`:          "mixed takes one value of `type`, not several",
		`type:a type:b`:       "mixed takes one type, and it is already used",
		`ti:a OR (ti:b ti:c)`: "mixed has no groups within groups",
		`year:2020..`:         "mixed needs an upper bound of `year`",
		`year:..2020`:         "mixed needs both bounds of `year`",
		`NOT type:a`:          "mixed cannot exclude by `type`",
	} {
		if p := r.Check(mustParse(t, text)); !strings.Contains(p.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, p, want)
		}
	}
}

func TestRenderer_WindowGoesBesideTheSelection(t *testing.T) {
	s := NewSelection(mustParse(t, `tiab:asthma`))
	out, err := mustRenderer(t, pubmed()).Render(s.Within(days("created", "2024-05-01", "2024-05-03")))
	if err != nil || out.Query != `2024/05/01:2024/05/02[crdt] AND asthma[tiab]` {
		t.Errorf("got %q, %v", out.Query, err)
	}
}

// paramDialect sends types and dates as parameters declared by the caller.
func paramDialect(params ...ParamMap) Dialect {
	return Dialect{
		Source:       "own",
		Params:       append(params, ParamMap{StdKey: "since", Name: "mindate"}),
		Capabilities: []Capability{{Field: "type", Ops: termOps}, {Field: "pubdate", Ops: []Op{OpRange}}},
		Rules: []Rule{
			{Field: "type", Op: OpTerm, Emit: EmitParams, Params: map[string][]string{"kind": {"${plain(value)}"}}},
			{Field: "pubdate", Op: OpRange, Emit: EmitParams, Params: map[string][]string{"since": {"${iso(from)}"}, "until": {"${iso(to)}"}}},
		},
	}
}

func TestRenderer_TransformShapesTheValue(t *testing.T) {
	r := mustRenderer(t, paramDialect(
		ParamMap{StdKey: "kind", Name: "k", Transform: "k-${upper(value)}"},
		ParamMap{StdKey: "until", Name: "maxdate", Transform: "${date(exclusive_day(time(value)), '2006/01/02')}"},
	))
	if got, want := asked(t, r, `type:review pubdate:..2024-05`), "k=k-REVIEW; maxdate=2024/05/31"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	old := mustRenderer(t, paramDialect(
		ParamMap{StdKey: "kind", Name: "k", Transform: "upper"},
		ParamMap{StdKey: "until", Name: "maxdate", Transform: "exclusive_day|date:2006/01/02"},
	))
	if got, want := asked(t, old, `type:review pubdate:..2024-05`), "k=REVIEW; maxdate=2024/05/31"; got != want {
		t.Errorf("in the older form: got %s, want %s", got, want)
	}
	// A value that a transform leaves nothing of is refused.
	bare := mustRenderer(t, paramDialect(
		ParamMap{StdKey: "kind", Name: "k", Transform: "${cut(value, 'review')}"},
		ParamMap{StdKey: "until", Name: "maxdate"},
	))
	if p := bare.Check(mustParse(t, `type:review`)); !strings.Contains(p.Error(), "own: the transform of kind: the value leaves nothing to ask for") {
		t.Errorf("got %v", p)
	}
}

// TestRenderer_ReadsTheOlderForm: rows of a registry were written when templates
// of rules had a form of their own.
func TestRenderer_ReadsTheOlderForm(t *testing.T) {
	old := Dialect{
		Source: "old",
		Params: []ParamMap{{StdKey: KeyQuery, Name: "q"}, {StdKey: KeyFilter, Name: "filter", Joiner: ","}},
		Capabilities: []Capability{
			{Field: "ti", Ops: termOps}, {Field: "doi", Ops: listOps}, {Field: "year", Ops: []Op{OpRange}}, {Field: "pubdate", Ops: []Op{OpRange}},
		},
		Rules: []Rule{
			{Op: OpAnd, Joiner: " AND "},
			{Op: OpNot, Template: "-({{items}})"},
			{Field: "ti", Op: OpTerm, Template: "TITLE:{{value|quote}}"},
			{Field: "year", Op: OpRange, Template: "{{from|default:1000}}:{{to|default:3000}}[pdat]"},
			{Field: "doi", Op: OpTerm, Emit: EmitParams, Params: map[string][]string{KeyFilter: {"doi:{{value|strip:https://doi.org/|lower|filter}}"}}},
			{Field: "doi", Op: OpIn, Emit: EmitParams, ItemTemplate: "doi:{{value|filter}}", Joiner: ",", Params: map[string][]string{KeyFilter: {"{{items}}"}}},
			{Field: "pubdate", Op: OpRange, Emit: EmitParams, Params: map[string][]string{KeyFilter: {"from:{{from|date:2006-01-02}}", "to:{{to|exclusive_day|date:2006-01-02}}"}}},
		},
	}
	r := mustRenderer(t, old)
	for text, want := range map[string]string{
		`ti:"a b" NOT ti:c`:            `q=TITLE:"a b" AND -(TITLE:"c")`,
		`year:2020..`:                  `q=2020:3000[pdat]`,
		`doi:"HTTPS://doi.org/10.1/A"`: `filter=doi:10.1/a`,
		`doi:(10.1/a, 10.1/b)`:         `filter=doi:10.1/a,doi:10.1/b`,
		`pubdate:..2024-05`:            `filter=to:2024-05-31`,
	} {
		if got := asked(t, r, text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestRenderer_TransformShapesTheQueryText(t *testing.T) {
	d := pubmed()
	d.Params[0].Transform = "(${value})"
	if got, want := asked(t, mustRenderer(t, d), `cancer`), "term=(cancer[all])"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRenderer_RepeatKeepsConditionsApart(t *testing.T) {
	r := mustRenderer(t, paramDialect(ParamMap{StdKey: "kind", Name: "k", Repeat: true, Transform: "${upper(value)}"}, ParamMap{StdKey: "until", Name: "maxdate"}))
	if got, want := asked(t, r, `type:review type:letter`), "k=LETTER & REVIEW"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	joined := mustRenderer(t, paramDialect(ParamMap{StdKey: "kind", Name: "k", Joiner: " "}, ParamMap{StdKey: "until", Name: "maxdate"}))
	if got, want := asked(t, joined, `type:review type:letter`), "k=letter review"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDialect_IsPlainData(t *testing.T) {
	for name, d := range dialects() {
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var back Dialect
		if err := json.Unmarshal(b, &back); err != nil || cmp.Diff(d, back) != "" {
			t.Errorf("%s through JSON: %v\n%s", name, err, cmp.Diff(d, back))
		}
	}
	// YAML packs use the same names.
	for _, v := range []any{Dialect{}, Capability{}, Rule{}, ParamMap{}, Field{}} {
		typ := reflect.TypeOf(v)
		for f := range typ.Fields() {
			if f.Tag.Get("json") == "" || f.Tag.Get("json") != f.Tag.Get("yaml") {
				t.Errorf("%s.%s: tags %s", typ.Name(), f.Name, f.Tag)
			}
		}
	}
}

func TestNewRenderer_RefusesBrokenDialectsAllAtOnce(t *testing.T) {
	d := Dialect{
		Params: []ParamMap{
			{StdKey: "query", Name: "q"},
			{StdKey: "query", Name: "q2"},
			{StdKey: "x", Name: "a&b"},
			{StdKey: "to", Name: "to", Transform: "${exclusive_day(time(value))}"},
			{StdKey: "y", Name: "y", Transform: "${shell(value)}"},
			{StdKey: "j", Name: "j", Joiner: ","},
			{StdKey: "z", Name: "z", NameMark: ":"},
		},
		Capabilities: []Capability{
			{Field: "tii", Ops: termOps}, {Field: "ti", Ops: []Op{"FIND"}, TermPattern: "("}, {Field: "ti", Shown: "NEVER"}, {Field: "year", Ops: termOps, RangeMin: "x", RangePrecision: "WEEK"},
		},
		Rules: []Rule{
			{Field: "ti", Op: OpTerm, Template: "${value}"},
			{Field: "ti", Op: OpTerm, Template: "${quote(value)}"},
			{Field: "ti", Op: OpTerm, Template: "${urlsafe(value)}"},
			{Field: "ti", Op: OpTerm, Template: "${quote(env)}"},
			{Field: "ti", Op: OpTerm, Template: "${exec(value)}"},
			{Field: "ti", Op: OpTerm, Template: "${value"},
			{Field: "ti", Op: OpTerm, Template: "x"},
			{Field: "ti", Op: OpTerm, Template: "${quote(value)}\n"},
			{Field: "pubdate", Op: OpRange, Template: "${from}..${to}"},
			{Field: "pubdate", Op: OpRange, Template: "${quote(from)}${date(to, '2006')}"},
			{Field: "type", Op: OpIn, ItemTemplate: "x", Joiner: ","},
			{Field: "type", Op: OpTerm, Emit: EmitParams, Params: map[string][]string{"api_key": {"${plain(value)}"}}},
			{Field: "type", Op: OpTerm, Emit: "BODY", Template: "${quote(value)}"},
			{Op: OpAnd},
			{Op: OpNot},
			{Op: OpAll},
			{Op: "XOR"},
			{Field: "nope", Op: OpTerm},
			{Field: "ti", Op: OpTerm, Template: "${lower(default(quote(value), 'x'))}"},
			{Field: "ab", Op: OpTerm, Template: "${plain(value)}[ab]"},
			{Field: "ab", Op: OpTerm, Template: "${token(value)}"},
			{Field: "ab", Op: OpTerm, Template: "${cut(quote(value), 'x')}"},
			{Field: "ab", Op: OpTerm, Emit: EmitParams, Params: map[string][]string{"j": {"${plain(value)}"}}},
		},
	}
	_, err := NewRenderer(d, Default())
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"source: the source is missing", `params[1].stdKey: "query" is declared twice`, `params[2].name: "a&b" cannot name a parameter`,
		"params[3].transform: say how the time is written", "params[4].transform: ${shell(value)}: function shell is not known", "params[6]: nameMark needs a joiner",
		`capabilities[0]: field "tii" is not known; did you mean ti?`, `capabilities[1]: op "FIND" is not known`, "capabilities[1].termPattern: ",
		`capabilities[2].field: "ti" is declared twice`, `capabilities[2]: shown "NEVER" is not known`, "capabilities[3].rangeMin", `precision "WEEK"`,
		"rules[0].template: the value is not encoded for its place: use one of entrez_phrase", "rules[2]: there is another rule for the same",
		"rules[3].template: ${quote(env)}: variable env is not known: known are value", "rules[4].template: ${exec(value)}: function exec is not known",
		"rules[5].template: ${value: the closing } is missing", "rules[6]: ${value} is in no template: the value would be lost", "rules[7].template: the template holds the control character",
		"rules[8].template: say how the time is written: date(from, '2006-01-02')", "rules[9].template: ${quote(from)}: quote does not take (instant), only quote(value as asked for) or quote(text)",
		"rules[10].itemTemplate: ${value} is missing", `rules[11].params.api_key: no parameter is declared for the standard key "api_key"`,
		`rules[12].emit: emit "BODY" is not known`, "rules[13]: a rule of AND has a joiner", "rules[14]: a rule of NOT has either", "rules[15].template: a rule of ALL has a template",
		`rules[16].op: op "XOR" is not known`, `rules[17].field: field "nope" is not known`, "rules[18].template: ${lower(default(quote(value), 'x'))}: encoded text cannot be given to this function",
		"capabilities[3].ops: no rule writes TERM of `year`; add a rule",
		"rules[19]: ${plain(value)} must be a whole parameter", "rules[20]: only a TOKEN may be written as it is",
		"rules[21].template: ${cut(quote(value), 'x')}: cut does not take (encoded text, text)", "rules[22]: ${plain(value)} must be a whole parameter",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not reported: %s", want)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 38 {
		t.Errorf("%d problems, want 38:\n%v", n, err)
	}
}
