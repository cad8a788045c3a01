package sqlstore_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/work"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// held is a record that the tests about works put into the store.
type held struct {
	source, id string
	status     string // "": ACTIVE
	into       string // what it was merged into
	fields     map[string]any
	// keyed: it is left to linking as a page leaves it, with its keys if it is new; else
	// as something that has to be read.
	keyed bool
}

// hold stores a record as it is now: a new one, or a revision of one that is there.
func (l *Lab) hold(h held) int64 {
	l.Helper()
	doc, err := json.Marshal(h.fields)
	if err != nil {
		l.Fatal(err)
	}
	status := h.status
	if status == "" {
		status = "ACTIVE"
	}
	var into any
	if h.into != "" {
		into = h.into
	}
	const at = "2026-03-01 00:00:00.000000"
	if l.Int(`SELECT COUNT(*) FROM ing_record WHERE provenance_code=? AND ext_id=?`, h.source, h.id) == 0 {
		l.Exec(`INSERT INTO ing_record (provenance_code, record_type, ext_id, status_code, revision, observed_at, content_hash, raw_sha256,
			mapping_version, created_at, changed_at) VALUES (?, 'work', ?, ?, 0, ?, ?, ?, 'm', ?, ?)`,
			h.source, h.id, status, at, make([]byte, 32), make([]byte, 32), at, at)
	}
	l.Exec(`UPDATE ing_record SET revision=revision+1, status_code=?, merged_into=? WHERE provenance_code=? AND ext_id=?`, status, into, h.source, h.id)
	number := l.Int(`SELECT id FROM ing_record WHERE provenance_code=? AND ext_id=?`, h.source, h.id)
	revision := l.Int(`SELECT revision FROM ing_record WHERE id=?`, number)
	l.Exec(`INSERT INTO ing_record_version (record_id, revision, effect_code, status_code, observed_at, content_hash, raw_sha256, mapping_version,
		batch_id, raw, fields, created_at) VALUES (?, ?, 'inserted', ?, ?, ?, ?, 'm', 0, ?, ?, ?)`,
		number, revision, status, at, make([]byte, 32), make([]byte, 32), []byte{}, string(doc), at)
	l.Exec(`INSERT INTO ing_outbox (record_id, revision, created_at) VALUES (?, ?, ?)`, number, revision, at)
	h.queue(l, number, revision, doc)
	return number
}

// queue leaves word of a record for linking as whoever stores it does, or of some as it was done
// when all that is known of them was in the queue.
func (h held) queue(l *Lab, number, revision int64, doc []byte) {
	l.Helper()
	isNew := h.keyed && revision == 1 && h.into == ""
	if !isNew && number%5 > 0 {
		if err := l.Store.QueueLook(l.ctx(), h.source, number); err != nil {
			l.Fatal(err)
		}
		return
	}
	if number%5 == 0 {
		l.Exec(`INSERT INTO ing_work_queue (provenance_code, body) VALUES (?, ?)`, h.source, h.oldQueued(l, number, revision, doc))
		return
	}
	r, err := work.Read(work.Key{Source: h.source, Type: "work", ID: h.id}, doc)
	if err != nil {
		l.Fatal(err)
	}
	if err := l.Store.QueueNew(l.ctx(), number, &r, number%3 > 0); err != nil {
		l.Fatal(err)
	}
}

// oldQueued is the word of a record in a row of the queue as it was before.
func (h held) oldQueued(l *Lab, number, revision int64, doc []byte) []byte {
	l.Helper()
	body := binary.AppendUvarint(nil, uint64(number))
	if !h.keyed || revision > 1 || h.into != "" {
		return binary.AppendUvarint(body, 0)
	}
	key := work.Key{Source: h.source, Type: "work", ID: h.id}
	r, err := work.Read(key, doc)
	if err != nil {
		l.Fatal(err)
	}
	keys := r.Keys()
	body = binary.AppendUvarint(body, uint64(len(keys)+1))
	for _, k := range append([]work.LookupKey{key.MergedKey()}, keys...) {
		body = binary.BigEndian.AppendUint64(body, uint64(k))
	}
	body = binary.BigEndian.AppendUint32(body, uint32(r.Mark()))
	var facts []byte
	if number%3 > 0 { // of a third nothing is known, as if that were too much
		facts = r.Pack(nil)
	}
	body = binary.AppendUvarint(body, uint64(len(facts)))
	return append(body, facts...)
}

// linkAll links what was stored, so many records at a time.
func (l *Lab) linkAll(most int) {
	l.Helper()
	for {
		n, err := l.Store.LinkWorks(l.ctx(), most)
		if err != nil {
			l.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// partition prints the works of several records, and what is suggested and related, by
// the names of the records.
func (l *Lab) partition() string {
	l.Helper()
	name := func(id int64) string {
		return l.Text(`SELECT provenance_code FROM ing_record WHERE id=?`, id) + "/" + l.Text(`SELECT ext_id FROM ing_record WHERE id=?`, id)
	}
	works, err := l.Store.Works(l.ctx(), 0, 10_000)
	if err != nil {
		l.Fatal(err)
	}
	var lines []string
	var all []int64
	for _, w := range works {
		var names []string
		for _, id := range w.Records {
			names = append(names, name(id))
		}
		slices.Sort(names)
		lines = append(lines, "work "+strings.Join(names, " "))
	}
	rows, err := l.DB.Query(`SELECT id FROM ing_record ORDER BY id`)
	if err != nil {
		l.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			l.Fatal(err)
		}
		all = append(all, id)
	}
	if err := rows.Err(); err != nil {
		l.Fatal(err)
	}
	links, err := l.Store.WorkLinks(l.ctx(), all)
	if err != nil {
		l.Fatal(err)
	}
	for _, e := range links {
		lines = append(lines, fmt.Sprintf("%s %d %s %s/%s %s/%s %s %.3f", e.Polarity, e.Rule, e.Relation, e.From.Source, e.From.ID, e.To.Source, e.To.ID, e.Evidence, e.Score))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func paper(doi, title string, authors ...string) map[string]any {
	f := map[string]any{"title": title, "type": "journal-article", "published": "2021"}
	if doi != "" {
		f["doi"] = doi
	}
	var list []map[string]string
	for _, a := range authors {
		list = append(list, map[string]string{"family": a, "given": "A"})
	}
	if list != nil {
		f["authors"] = list
	}
	return f
}

func with(f map[string]any, more ...any) map[string]any {
	for i := 0; i < len(more); i += 2 {
		f[more[i].(string)] = more[i+1]
	}
	return f
}

// worksMixed are records of every kind that rules tell apart.
func worksMixed() []held {
	const insulin = "Insulin resistance in a mountain population of northern villages"
	return []held{
		{source: "crossref", id: "10.1000/a", fields: paper("10.1000/a", insulin, "Berg", "Tal")},
		{source: "pubmed", id: "11", fields: with(paper("10.1000/A", insulin+".", "Berg", "Tal"), "pmid", "11", "type", "Journal Article")},
		{source: "europepmc", id: "11", fields: with(paper("10.1000/a", insulin, "Berg"), "pmid", "11", "other_ids", map[string]string{"corpus": "MED"}, "type", "Journal Article")},
		{source: "openalex", id: "W1", fields: with(paper("https://doi.org/10.1000/a", insulin, "Berg"), "type", "article")},
		{source: "semanticscholar", id: "s1", fields: with(paper("", insulin, "Berg"), "pmid", "11", "type", "JournalArticle")},
		{source: "doaj", id: "d1", fields: with(paper("", insulin, "Berg"), "volume", "3", "pages", "10-20", "type", "")},
		{source: "crossref", id: "10.1000/b", fields: with(paper("10.1000/b", "Erratum: "+insulin, "Berg"), "corrects", "10.1000/a")},
		{source: "arxiv", id: "oai:arXiv.org:2101.00001", fields: with(paper("10.1000/a", insulin, "Berg", "Tal"), "other_ids", map[string]string{"arxiv": "2101.00001"}, "type", "preprint")},
		{source: "datacite", id: "10.48550/arxiv.2101.00001", fields: with(paper("10.48550/arXiv.2101.00001", insulin, "Berg"), "type", "Preprint")},
		// A letter and its reply under one DOI.
		{source: "crossref", id: "10.1000/l", fields: paper("10.1000/l", "On the nature of letters to editors", "Wald")},
		{source: "pubmed", id: "21", fields: with(paper("10.1000/l", "On the nature of letters to editors", "Wald"), "pmid", "21", "type", "Letter")},
		{source: "pubmed", id: "22", fields: with(paper("10.1000/l", "Authors' answer to the above", "Feld"), "pmid", "22", "type", "Letter")},
		// Versions under DOIs of their own.
		{source: "crossref", id: "10.21203/rs.3.rs-1/v1", fields: with(paper("10.21203/rs.3.rs-1/v1", "Sleep of shift workers in harbours", "See"), "type", "posted-content")},
		{source: "crossref", id: "10.21203/rs.3.rs-1/v2", fields: with(paper("10.21203/rs.3.rs-1/v2", "Sleep of shift workers in harbours", "See"), "type", "posted-content")},
		// Merged at its source.
		{source: "openalex", id: "W8", fields: paper("", "Glass houses and what grows in them", "Moor")},
		{source: "openalex", id: "W9", status: "MERGED", into: "W8", fields: paper("", "Glass houses and what grows", "Moor")},
		// A notice and what it is about, which nobody else holds.
		{source: "crossref", id: "10.1000/y", fields: paper("10.1000/y", "Ferns on the northern slopes of old quarries", "Rain")},
		{source: "crossref", id: "10.1000/z", fields: with(paper("10.1000/z", "Erratum: Ferns on the northern slopes of old quarries", "Rain"), "corrects", "10.1000/y")},
		// Two papers that a slip gave one DOI.
		{source: "crossref", id: "10.1000/x", fields: paper("10.1000/x", "Tides of the inner sea", "Bach")},
		{source: "hal", id: "hal-1", fields: with(paper("10.1000/x", "Wool and its many uses in winter", "Stein"), "type", "ART")},
	}
}

// worksDoubles: of records that are selected, those that are one work are told, and how
// many were not compared yet. A work of which only one is selected has no doubles.
func worksDoubles(l *Lab) {
	first := l.hold(held{source: "pubmed", id: "1", fields: paper("10.1000/abc", "Insulin in the liver of mice", "Meyer")})
	second := l.hold(held{source: "crossref", id: "10.1000/abc", fields: paper("10.1000/abc", "Insulin in the liver of mice", "Meyer")})
	l.hold(held{source: "crossref", id: "10.1000/def", fields: paper("10.1000/def", "Another paper about something else", "Roth")})
	doubles := func(sources ...string) control.Doubles {
		d, err := l.Store.Doubles(l.ctx(), control.ExportQuery{Sources: sources})
		if err != nil {
			l.Fatal(err)
		}
		return d
	}
	if d := doubles(); d.Unlinked != 3 || len(d.Members) != 0 {
		l.Errorf("before records are compared: %+v", d)
	}
	l.linkAll(10)
	if d := doubles(); d.Unlinked != 0 || !slices.Equal(d.Members, []control.WorkMember{{Work: first, Record: first}, {Work: first, Record: second}}) {
		l.Errorf("among all: %+v", d)
	}
	if d := doubles("crossref"); d.Unlinked != 0 || len(d.Members) != 0 {
		l.Errorf("among those of one source: %+v", d)
	}
	l.hold(held{source: "crossref", id: "10.1000/def", fields: paper("10.1000/def", "Another paper, with another title", "Roth")})
	if d := doubles("crossref"); d.Unlinked != 1 {
		l.Errorf("after a change: %+v", d)
	}
}

// worksAlike: works that only their titles and authors suggest to be the same are told, and
// the records of them that are selected; not a family, nor what an identifier alone suggests.
func worksAlike(l *Lab) {
	const title = "Insulin resistance in a mountain population of northern villages"
	first := l.hold(held{source: "crossref", id: "10.1000/a", fields: with(paper("10.1000/a", title, "Berg", "Tal"), "volume", "3", "pages", "10-20")})
	second := l.hold(held{source: "doaj", id: "d1", fields: with(paper("", title, "Berg", "Tal"), "volume", "3", "pages", "10-20")})
	l.hold(held{source: "crossref", id: "10.1000/b", fields: with(paper("10.1000/b", "Erratum: "+title, "Berg"), "corrects", "10.1000/a")})
	l.linkAll(10)
	alike, err := l.Store.AlikeWorks(l.ctx())
	if err != nil || len(alike) != 1 || min(alike[0].One, alike[0].Other) != first || max(alike[0].One, alike[0].Other) != second {
		l.Fatalf("alike are %+v, %v; want %d and %d", alike, err, first, second)
	}
	for _, c := range []struct {
		sources []string
		want    []control.WorkMember
	}{
		{nil, []control.WorkMember{{Work: first, Record: first}, {Work: second, Record: second}}},
		{[]string{"doaj"}, []control.WorkMember{{Work: second, Record: second}}},
	} {
		got, err := l.Store.SelectedOf(l.ctx(), control.ExportQuery{Sources: c.sources}, []int64{first, second})
		slices.SortFunc(got, func(a, b control.WorkMember) int { return int(a.Record - b.Record) })
		if err != nil || !slices.Equal(got, c.want) {
			l.Errorf("of %v: %+v, %v; want %+v", c.sources, got, err, c.want)
		}
	}
}

// worksInAnyOrder: whatever the order in which records come and however many are
// linked at a time, works, links, families and suggestions are the same; and the same
// as when all are gone through once more.
func worksInAnyOrder(l *Lab) {
	records := worksMixed()
	rng := rand.New(rand.NewPCG(1, 2))
	var first string
	rounds := 6
	if l.small() {
		rounds = 2
	}
	for round := range rounds {
		if round == 2 {
			// All come in one step.
			Clear(l.T, l.DB, l.tables)
			for _, h := range records {
				h.keyed = true
				l.hold(h)
			}
			l.linkAll(1000)
			if got := l.partition(); got != first {
				l.Fatalf("all at once:\n%s", diff(first, got))
			}
		}
		if round > 0 {
			Clear(l.T, l.DB, l.tables)
			rng.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		}
		for i, h := range records {
			h.keyed = round%2 == 0
			if round%2 == 1 && i%3 == 0 { // it comes first as something else
				l.hold(held{source: h.source, id: h.id, fields: paper("10.1000/wrong", "Another title that means nothing", "Nobody")})
				l.linkAll(2)
			}
			l.hold(h)
			if round%3 == 0 && i%4 == 0 {
				l.linkAll(1 + round)
			}
		}
		l.linkAll(1 + 7*round)
		got := l.partition()
		if round == 0 {
			first = got
			for _, want := range []string{
				"work crossref/10.1000/a europepmc/11 openalex/W1 pubmed/11",
				"work arxiv/oai:arXiv.org:2101.00001 datacite/10.48550/arxiv.2101.00001",
				"work openalex/W8 openalex/W9",
				"FAMILY 14 correction-of crossref/10.1000/b",
				"FAMILY 14 correction-of crossref/10.1000/z",
				"FAMILY 13 preprint-of arxiv/oai:arXiv.org:2101.00001",
				"FAMILY 13 version-of crossref/10.21203/rs.3.rs-1/v1",
				"SUGGEST 9",
			} {
				if !strings.Contains(got, want) {
					l.Errorf("no %q in\n%s", want, got)
				}
			}
			if strings.Count(got, "work ") != 3 {
				l.Errorf("works that are none:\n%s", got)
			}
		}
		if got != first {
			l.Fatalf("round %d: another order, other works:\n%s", round, diff(first, got))
		}
		if findings, err := l.Store.Verify(l.ctx()); err != nil || slices.ContainsFunc(findings, func(f control.Finding) bool { return f.Invariant == "WORKS" }) {
			l.Fatalf("%v %v", findings, err)
		}
	}
	if err := l.Store.RelinkWorks(l.ctx()); err != nil {
		l.Fatal(err)
	}
	l.linkAll(5)
	if got := l.partition(); got != first {
		l.Fatalf("going through all again gives other works:\n%s", diff(first, got))
	}
}

// worksPoisoned: one bad DOI on many records makes no work of them, is named, and when it
// is taken back everything is as it was.
func worksPoisoned(l *Lab) {
	const many = 35
	good := func(i int) map[string]any {
		return paper(fmt.Sprintf("10.1000/%d", i), fmt.Sprintf("Rivers of the plain, as seen from bridge %d", i), fmt.Sprintf("Name%c", 'a'+i%26))
	}
	for i := range many {
		l.hold(held{source: "crossref", id: fmt.Sprintf("10.1000/%d", i), fields: good(i)})
		l.hold(held{source: "hal", id: fmt.Sprintf("hal-%d", i), fields: with(good(i), "type", "ART"), keyed: i%2 == 0})
	}
	l.linkAll(20)
	before := l.partition()
	if n := l.Int(`SELECT COUNT(DISTINCT work_id) FROM ing_work_member`); n != many {
		l.Fatalf("%d works of %d papers", n, many)
	}
	for i := range many {
		l.hold(held{source: "hal", id: fmt.Sprintf("hal-%d", i), fields: with(good(i), "type", "ART", "doi", "10.9999/slip")})
		if i == many/2 {
			l.linkAll(9)
		}
	}
	l.linkAll(20)
	if n := l.Int(`SELECT COUNT(*) FROM ing_work_member`); n != 0 {
		l.Errorf("%d records are of works by a DOI that %d have", n, many)
	}
	bad, err := l.Store.BadIdentifiers(l.ctx(), -1<<63, 10)
	if err != nil || len(bad) != 1 || bad[0].Value != "doi:10.9999/slip" || bad[0].Holders != many {
		l.Errorf("%+v %v", bad, err)
	}
	for i := range many {
		l.hold(held{source: "hal", id: fmt.Sprintf("hal-%d", i), fields: with(good(i), "type", "ART")})
	}
	l.linkAll(20)
	if got := l.partition(); got != before {
		l.Errorf("not as it was before the slip:\n%s", diff(before, got))
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_work_value`); n != 0 {
		l.Errorf("%d rows of the slip are left", n)
	}
}

// worksDecided: what people join stays one, what they cut stays cut, also when records
// are read again; revoked, the old works and their numbers are back.
func worksDecided(l *Lab) {
	const title = "A title that is long enough to say something"
	a := l.hold(held{source: "crossref", id: "10.1000/a", fields: paper("10.1000/a", title, "Berg")})
	b := l.hold(held{source: "pubmed", id: "11", fields: with(paper("10.1000/a", title, "Berg"), "pmid", "11", "type", "Letter")})
	e := l.hold(held{source: "crossref", id: "10.1000/c", fields: paper("10.1000/c", "Quite another matter, told at length", "Tal")})
	l.linkAll(10)
	audit := source.Audit{Actor: "somebody", Action: "WORK_SPLIT", Object: "work/1", Reason: "because"}
	before := l.partition()
	decide := func(d control.WorkDecision) []control.WorkMembers {
		l.Helper()
		tried, err := l.Store.TryDecideWork(l.ctx(), d, audit)
		if err != nil {
			l.Fatal(err)
		}
		got, err := l.Store.DecideWork(l.ctx(), d, audit)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(tried) {
			l.Fatalf("%v, and tried %v: %v", got, tried, err)
		}
		return got
	}
	again := func() {
		l.hold(held{source: "pubmed", id: "11", fields: with(paper("10.1000/a", title, "Berg"), "pmid", "11", "type", "Letter")})
		l.linkAll(10)
	}
	if got := decide(control.WorkDecision{Kind: "SPLIT", Parts: [][]int64{{a}, {b}}}); len(got) != 2 {
		l.Fatalf("%v", got)
	}
	again()
	if w, err := l.Store.WorkOf(l.ctx(), b); err != nil || w.ID != b {
		l.Errorf("what was cut is joined again: %v %v", w, err)
	}
	if got := decide(control.WorkDecision{Kind: "JOIN", Parts: [][]int64{{b, e}}}); len(got) != 1 || !slices.Equal(got[0].Records, []int64{b, e}) {
		l.Fatalf("%v", got)
	}
	again()
	if w, err := l.Store.WorkOf(l.ctx(), e); err != nil || w.ID != b {
		l.Errorf("what was joined fell apart: %v %v", w, err)
	}
	moves, err := l.Store.WorkMoves(l.ctx(), []int64{b, e}, 10)
	if err != nil || len(moves) != 2 {
		l.Errorf("moves %v %v", moves, err)
	}
	for id := int64(1); id <= 2; id++ {
		decide(control.WorkDecision{Kind: "REVOKE", Revokes: l.Int(`SELECT MIN(d.id) FROM ing_work_decision d WHERE d.kind_code<>'REVOKE'
			AND NOT EXISTS (SELECT 1 FROM ing_work_decision o WHERE o.revokes_id=d.id)`)})
	}
	if got := l.partition(); got != before {
		l.Errorf("not as before:\n%s", diff(before, got))
	}
	if w, err := l.Store.WorkOf(l.ctx(), b); err != nil || w.ID != a {
		l.Errorf("the old number is not back: %v %v", w, err)
	}
	_, err = l.Store.DecideWork(l.ctx(), control.WorkDecision{Kind: "REVOKE", Revokes: 1}, audit)
	if err == nil || !strings.Contains(err.Error(), "no such decision") {
		l.Errorf("revoked twice: %v", err)
	}
}

// worksKilled: whoever links may die between any two statements. What it had done before
// is whole, and the next one comes to the same works as one that was never interrupted.
func worksKilled(l *Lab) {
	const atOnce = 4
	records := worksMixed()
	hold := func() {
		// Nothing is left to be gone through, so that records are found in the queue alone.
		l.linkAll(atOnce)
		for i, h := range records {
			h.keyed = i%2 == 0
			l.hold(h)
		}
	}
	errDead := errors.New("killed")
	// link runs a linker that dies at a point, 0 for never, and counts the points.
	link := func(at int) (points int) {
		st := patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(string) error {
			points++
			if at > 0 && points >= at {
				return errDead
			}
			return nil
		}})
		for {
			n, err := st.LinkWorks(l.ctx(), atOnce)
			if errors.Is(err, errDead) {
				return points
			}
			if err != nil {
				l.Fatal(err)
			}
			if n == 0 {
				return points
			}
		}
	}
	hold()
	all := link(0)
	want := l.partition()
	tries := 25
	if l.small() {
		tries = 3
	}
	for i := range tries {
		at := 1 + i*(all-1)/tries
		Clear(l.T, l.DB, l.tables)
		hold()
		link(at)
		l.linkAll(atOnce)
		if got := l.partition(); got != want {
			l.Fatalf("killed at point %d of %d:\n%s", at, all, diff(want, got))
		}
		if findings, err := l.Store.Verify(l.ctx()); err != nil || slices.ContainsFunc(findings, func(f control.Finding) bool { return f.Invariant == "WORKS" }) {
			l.Fatalf("killed at point %d of %d: %v %v", at, all, findings, err)
		}
		if n := l.Int(`SELECT COUNT(*) FROM ing_work_queue`); n != 0 {
			l.Fatalf("killed at point %d of %d: %d rows are left in the queue", at, all, n)
		}
	}
}

// worksInManySteps: with very many steps the index of keys has few runs, and who is found
// under a key that came first and under one that came last is the same.
func worksInManySteps(l *Lab) {
	const papers = 40
	for i := range papers {
		fields := paper(fmt.Sprintf("10.1000/%d", i), fmt.Sprintf("Rivers of the plain, as seen from bridge %d", i), fmt.Sprintf("Name%c", 'a'+i%26))
		l.hold(held{source: "crossref", id: fmt.Sprintf("10.1000/%d", i), fields: fields, keyed: true})
		l.linkAll(1)
	}
	for i := range papers {
		fields := with(paper(fmt.Sprintf("10.1000/%d", i), fmt.Sprintf("Rivers of the plain, as seen from bridge %d", i), fmt.Sprintf("Name%c", 'a'+i%26)), "type", "ART")
		l.hold(held{source: "hal", id: fmt.Sprintf("hal-%d", i), fields: fields, keyed: true})
		l.linkAll(1)
	}
	if n := l.Int(`SELECT COUNT(DISTINCT work_id) FROM ing_work_member`); n != papers {
		l.Errorf("%d works of %d papers", n, papers)
	}
	if n := l.Int(`SELECT COUNT(DISTINCT run_no) FROM ing_work_block`); n > 8 {
		l.Errorf("%d runs of %d records", n, 2*papers)
	}
}
