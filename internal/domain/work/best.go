package work

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Member is a record of a work with all its fields.
type Member struct {
	Key       Key
	Revision  int64
	Retracted bool
	Fields    []byte // JSON as the mapping wrote it
}

// Chosen is the value of a field of a work, and the records that it came from.
type Chosen struct {
	Value json.RawMessage
	From  []Key
}

// Orders in which sources are asked for a field; those that are not named come after,
// the last of all those behind "...".
var (
	orderPlain    = []string{"crossref", "pubmed", "datacite", "europepmc", "...", "openalex", "semanticscholar"}
	orderAbstract = []string{"pubmed", "europepmc", "crossref", "datacite", "arxiv", "...", "semanticscholar", "openalex"}
	orderLicence  = []string{"crossref", "europepmc", "doaj", "...", "openalex"}
	orderPubMed   = []string{"pubmed", "europepmc", "...", "openalex", "semanticscholar"}
)

// placeFields tell where a text stands, and are taken from one record together.
var placeFields = []string{"journal", "journal_abbrev", "issn", "volume", "issue", "pages"}

// best chooses the fields of a work.
type best struct {
	members []bestMember
	out     map[string]Chosen
	now     time.Time
}

type bestMember struct {
	Member
	fields map[string]json.RawMessage
	facts  Record
}

// Best chooses for each field of a work the whole value of one record, or for lists of
// words and identifiers what all have. It depends on the records and not on their
// order. A field that no record has is not in it. now is only held against dates that
// lie in the future.
func Best(members []Member, now time.Time) (map[string]Chosen, error) {
	b := best{out: map[string]Chosen{}, now: now}
	for _, m := range members {
		facts, err := Read(m.Key, m.Fields)
		if err != nil {
			return nil, err
		}
		bm := bestMember{Member: m, facts: facts}
		if len(m.Fields) > 0 {
			if err := json.Unmarshal(m.Fields, &bm.fields); err != nil {
				return nil, err
			}
		}
		b.members = append(b.members, bm)
	}
	// Ties go to the newest revision, then to the smallest key.
	slices.SortFunc(b.members, func(x, y bestMember) int {
		return cmp.Or(cmp.Compare(y.Revision, x.Revision), x.Key.Compare(y.Key))
	})
	b.titles()
	b.authors()
	b.place()
	b.first("abstract", orderAbstract, func(m bestMember) int { return -len(m.fields["abstract"]) })
	b.published()
	b.kind()
	for _, name := range []string{"language", "publisher", "references_count", "retracts", "retracted_by", "corrects"} {
		b.first(name, orderPlain, nil)
	}
	for _, name := range []string{"licence", "url"} {
		b.first(name, orderLicence, nil)
	}
	for _, s := range []Scheme{DOI, PMID, PMCID} {
		b.identifier(s)
	}
	b.otherIDs()
	b.union("keywords")
	b.union("mesh")
	b.retracted()
	return b.out, nil
}

// rankOf is the place of a source in an order.
func rankOf(order []string, source string) int {
	if i := slices.Index(order, source); i >= 0 {
		return i
	}
	return slices.Index(order, "...")
}

// has reports whether a record says something in a field.
func (m bestMember) has(name string) bool {
	v := bytes.TrimSpace(m.fields[name])
	switch string(v) {
	case "", "null", `""`, "[]", "{}", "0":
		return false
	}
	return true
}

func (m bestMember) text(name string) string {
	var s string
	if json.Unmarshal(m.fields[name], &s) != nil {
		return ""
	}
	return s
}

// choose is the first of the records that have a field, in an order of sources, and
// within one rank by worse, the least first.
func (b *best) choose(name string, order []string, worse func(bestMember) int) (bestMember, bool) {
	var found []bestMember
	for _, m := range b.members {
		if m.has(name) {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return bestMember{}, false
	}
	slices.SortStableFunc(found, func(x, y bestMember) int {
		c := cmp.Compare(rankOf(order, x.Key.Source), rankOf(order, y.Key.Source))
		if c == 0 && worse != nil {
			c = cmp.Compare(worse(x), worse(y))
		}
		return c
	})
	return found[0], true
}

func (b *best) take(name string, m bestMember) {
	b.out[name] = Chosen{Value: m.fields[name], From: []Key{m.Key}}
}

func (b *best) first(name string, order []string, worse func(bestMember) int) {
	if m, ok := b.choose(name, order, worse); ok {
		b.take(name, m)
	}
}

// titles takes the title, with the subtitle of the same record. One in capitals, cut
// short or standing for one that will come is taken where there is no other.
func (b *best) titles() {
	poor := func(m bestMember) int {
		t := strings.TrimSpace(m.text("title"))
		switch {
		case commonTitles[fold(t)], strings.HasSuffix(t, "..."), strings.HasSuffix(t, "…"):
			return 2
		case isShouted(t), strings.HasPrefix(t, "["):
			return 1
		}
		return 0
	}
	first, found := b.firstWith("title", func(x, y bestMember) int { return cmp.Compare(poor(x), poor(y)) })
	if !found {
		return
	}
	b.take("title", first)
	if first.has("subtitle") {
		b.take("subtitle", first)
	}
}

// firstWith is the record with a field that comes first: by an order of its own, among
// equals by its source.
func (b *best) firstWith(field string, order func(x, y bestMember) int) (first bestMember, found bool) {
	var with []bestMember
	for _, m := range b.members {
		if m.has(field) {
			with = append(with, m)
		}
	}
	if len(with) == 0 {
		return first, false
	}
	slices.SortStableFunc(with, func(x, y bestMember) int {
		return cmp.Or(order(x, y), cmp.Compare(rankOf(orderPlain, x.Key.Source), rankOf(orderPlain, y.Key.Source)))
	})
	return with[0], true
}

func isShouted(s string) bool {
	letters := 0
	for _, r := range s {
		if unicode.IsLower(r) {
			return false
		}
		if unicode.IsUpper(r) {
			letters++
		}
	}
	return letters > 8
}

// authors takes one list whole: the one with most authors that have given names.
func (b *best) authors() {
	given := func(m bestMember) int {
		var list []author
		if json.Unmarshal(m.fields["authors"], &list) != nil {
			return 0
		}
		n := 0
		for _, a := range list {
			if a.Given != "" || strings.Contains(strings.TrimSpace(a.Name), " ") {
				n++
			}
		}
		return n
	}
	first, found := b.firstWith("authors", func(x, y bestMember) int { return cmp.Compare(given(y), given(x)) })
	if !found {
		return
	}
	b.take("authors", first)
}

// place takes journal, volume, issue and pages from one record: parts of two would
// name a place where nothing stands.
func (b *best) place() {
	m, ok := b.choose("journal", orderPlain, func(m bestMember) int {
		n := 0
		for _, name := range placeFields {
			if !m.has(name) {
				n++
			}
		}
		return n
	})
	if !ok {
		return
	}
	for _, name := range placeFields {
		if m.has(name) {
			b.take(name, m)
		}
	}
}

// published takes the earliest year, and of dates within it the most exact. One that
// lies more than a year ahead is none.
func (b *best) published() {
	var found []bestMember
	for _, m := range b.members {
		if y := yearOf(m.text("published")); y > 0 && y <= b.now.Year()+1 {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return
	}
	slices.SortStableFunc(found, func(x, y bestMember) int {
		dx, dy := x.text("published"), y.text("published")
		return cmp.Or(
			cmp.Compare(yearOf(dx), yearOf(dy)),
			cmp.Compare(len(dy), len(dx)),
			cmp.Compare(rankOf(orderPlain, x.Key.Source), rankOf(orderPlain, y.Key.Source)),
		)
	})
	b.take("published", found[0])
}

// kind takes the type, where PubMed knows more than that it is an article.
func (b *best) kind() {
	if m, ok := b.choose("type", orderPubMed, nil); ok && m.Key.Source == "pubmed" && !strings.EqualFold(m.text("type"), "journal article") {
		b.take("type", m)
		return
	}
	b.first("type", orderPlain, nil)
}

// identifier takes the one whose record owns it, else one that a source lists. What is
// known at second hand only is left out.
func (b *best) identifier(s Scheme) {
	strength := func(m bestMember) Strength {
		for _, c := range m.facts.Claims {
			if c.Scheme == s {
				return c.Strength
			}
		}
		return SecondHand
	}
	var found []bestMember
	for _, m := range b.members {
		if strength(m) != SecondHand {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return
	}
	slices.SortStableFunc(found, func(x, y bestMember) int {
		return cmp.Or(cmp.Compare(strength(x), strength(y)), cmp.Compare(rankOf(orderPlain, x.Key.Source), rankOf(orderPlain, y.Key.Source)))
	})
	value, err := json.Marshal(found[0].facts.said(s).Value)
	if err != nil { // a text
		return
	}
	b.out[string(s)] = Chosen{Value: value, From: []Key{found[0].Key}}
}

// otherIDs puts together what the records have under different names.
func (b *best) otherIDs() {
	all := map[string]json.RawMessage{}
	var from []Key
	for _, m := range b.byRank() {
		var ids map[string]json.RawMessage
		if json.Unmarshal(m.fields["other_ids"], &ids) != nil {
			continue
		}
		used := false
		for name, v := range ids {
			if _, there := all[name]; !there {
				all[name] = v
				used = true
			}
		}
		if used {
			from = append(from, m.Key)
		}
	}
	b.put("other_ids", all, len(all), from)
}

// union puts together the entries of lists, each once.
func (b *best) union(name string) {
	var all []json.RawMessage
	seen := map[string]bool{}
	var from []Key
	for _, m := range b.byRank() {
		var list []json.RawMessage
		if json.Unmarshal(m.fields[name], &list) != nil {
			continue
		}
		used := false
		for _, v := range list {
			k := strings.ToLower(string(v))
			if !seen[k] {
				seen[k] = true
				all = append(all, v)
				used = true
			}
		}
		if used {
			from = append(from, m.Key)
		}
	}
	b.put(name, all, len(all), from)
}

func (b *best) byRank() []bestMember {
	out := slices.Clone(b.members)
	slices.SortStableFunc(out, func(x, y bestMember) int {
		return cmp.Compare(rankOf(orderPlain, x.Key.Source), rankOf(orderPlain, y.Key.Source))
	})
	return out
}

func (b *best) put(name string, v any, n int, from []Key) {
	if n == 0 {
		return
	}
	value, err := json.Marshal(v)
	if err != nil { // it was JSON
		return
	}
	b.out[name] = Chosen{Value: value, From: from}
}

// retracted: what one source says was taken back was taken back, whatever others say.
func (b *best) retracted() {
	var from []Key
	for _, m := range b.byRank() {
		if m.Retracted {
			from = append(from, m.Key)
		}
	}
	if len(from) > 0 {
		b.out["retracted"] = Chosen{Value: json.RawMessage("true"), From: from}
	}
}
