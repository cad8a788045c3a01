package sqlstore_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/work"
)

// worksDrawn are records that share identifiers, titles, places and pointers in all the ways
// that chance finds.
func worksDrawn(rng *rand.Rand, count int) []held {
	sources := []string{"crossref", "pubmed", "europepmc", "hal", "doaj", "biorxiv"}
	towns := []string{"harbours", "mountains", "valleys", "islands"}
	names := []string{"Berg", "Tal", "Wald"}
	out := make([]held, 0, count)
	for i := range count {
		paperNo := rng.IntN(count / 3)
		f := paper("", fmt.Sprintf("Sleep of people who work at night in %s of the north, as told by %s", towns[paperNo%4], towns[paperNo/4%4]), names[paperNo%3], "Moor")
		f["published"] = fmt.Sprint(2018 + paperNo%3)
		if rng.IntN(3) > 0 {
			f["doi"] = fmt.Sprintf("10.1000/%d", paperNo)
		}
		if rng.IntN(3) == 0 {
			f["pmid"] = fmt.Sprint(1000 + paperNo)
		}
		if rng.IntN(2) == 0 {
			f["volume"] = fmt.Sprint(1 + paperNo%5)
			f["pages"] = fmt.Sprintf("%d-%d", 10+paperNo, 20+paperNo)
		}
		if rng.IntN(8) == 0 {
			f["corrects"] = fmt.Sprintf("10.1000/%d", rng.IntN(count/3))
		}
		if rng.IntN(8) == 0 {
			f["type"] = "posted-content"
		}
		if rng.IntN(20) == 0 {
			f["doi"] = "10.1000/slip"
		}
		out = append(out, held{source: sources[rng.IntN(len(sources))], id: fmt.Sprintf("r%d", i), fields: f, keyed: true})
	}
	return out
}

// worksGrow: whether records are new among many that were linked, come all at once, or one after
// the other, and whether a step goes through them in one part or in several, works and all that
// is known between them are the same; and the same as when everything is found anew.
func worksGrow(l *Lab) {
	rounds := 4
	if l.small() {
		rounds = 1
	}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(uint64(round), 7))
		records := worksDrawn(rng, 60)
		Clear(l.T, l.DB, l.tables)
		for _, h := range records {
			l.hold(h)
		}
		l.linkAll(1000)
		atOnce := l.partition()
		Clear(l.T, l.DB, l.tables)
		rng.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		for _, h := range records {
			l.hold(h)
			if rng.IntN(4) == 0 {
				l.linkAll(1 + rng.IntN(5))
			}
		}
		l.linkAll(1 + rng.IntN(30))
		if got := l.partition(); got != atOnce {
			l.Fatalf("round %d: records that came one after the other make other works:\n%s", round, diff(atOnce, got))
		}
		if err := l.Store.RelinkWorks(l.ctx()); err != nil {
			l.Fatal(err)
		}
		l.linkAll(13)
		if got := l.partition(); got != atOnce {
			l.Fatalf("round %d: all found anew make other works:\n%s", round, diff(atOnce, got))
		}
		if findings, err := l.Store.Verify(l.ctx()); err != nil || slices.ContainsFunc(findings, func(f control.Finding) bool { return f.Invariant == "WORKS" }) {
			l.Fatalf("%v %v", findings, err)
		}
	}
}

// worksOfACrowdedTitle: what records have in common by how their titles begin says nothing once too
// many begin so, and says it again when they are fewer. What else they have in common stays, and so
// does what others are told to be.
func worksOfACrowdedTitle(l *Lab) {
	const crowded = "Notes on the weather of the northern islands in the years of the war"
	const other = "Birds that were seen from the lighthouse on the outer rocks"
	placed := func(f map[string]any) map[string]any { return with(f, "volume", "3", "pages", "10-20") }
	l.hold(held{source: "crossref", id: "10.1000/a", fields: paper("10.1000/a", crowded, "Berg"), keyed: true})
	l.hold(held{source: "hal", id: "a", fields: paper("", crowded, "Berg"), keyed: true})
	l.hold(held{source: "crossref", id: "10.1000/b", fields: placed(paper("10.1000/b", crowded, "Tal")), keyed: true})
	l.hold(held{source: "hal", id: "b", fields: placed(paper("", crowded, "Tal")), keyed: true})
	l.hold(held{source: "crossref", id: "10.1000/c", fields: paper("10.1000/c", other, "Wald"), keyed: true})
	l.hold(held{source: "hal", id: "c", fields: paper("", other, "Wald"), keyed: true})
	l.linkAll(4)
	few := l.partition()
	suggested := func() (names []string) {
		for line := range strings.Lines(l.partition()) {
			if strings.HasPrefix(line, "SUGGEST") {
				names = append(names, strings.Fields(line)[2])
			}
		}
		return names
	}
	if got := suggested(); len(got) < 3 {
		l.Fatalf("want three pairs that are alike:\n%s", few)
	}
	many := func(title string) {
		for i := range work.MostAlike {
			doi := fmt.Sprintf("10.1000/%d", i)
			l.hold(held{source: "crossref", id: doi, fields: paper(doi, title, "Berg"), keyed: true})
			if i%20 == 0 {
				l.linkAll(7)
			}
		}
		l.linkAll(7)
	}
	anew := func() {
		l.Helper()
		got := l.partition()
		if err := l.Store.RelinkWorks(l.ctx()); err != nil {
			l.Fatal(err)
		}
		l.linkAll(13)
		if want := l.partition(); got != want {
			l.Fatalf("all found anew make other works:\n%s", diff(want, got))
		}
	}
	many(crowded)
	if got := suggested(); !slices.Equal(got, []string{"crossref/10.1000/b", "crossref/10.1000/c"}) {
		l.Fatalf("suggestions while %d titles begin alike:\n%s", work.MostAlike, l.partition())
	}
	anew()
	many("Something else of which nobody has written but this one, at length")
	if got := l.partition(); got != few {
		l.Fatalf("the crowd has gone, and it is not as before:\n%s", diff(few, got))
	}
	anew()
}

// worksOfALargePage: a page of many records leaves word of them in rows of bounded size, packed,
// and every record that was on it is linked.
func worksOfALargePage(l *Lab) {
	const papers = 2_000
	recs := make([]harvest.Record, 0, papers)
	for i := range papers {
		r := Rec(fmt.Sprintf("r%d", i), hour(0), hour(9), "x")
		fields, err := json.Marshal(riverPaper(i))
		if err != nil {
			l.Fatal(err)
		}
		r.Fields = fields
		recs = append(recs, r)
	}
	l.Plan(0, 1)
	l.page(recs...)
	if n := l.Int(`SELECT COUNT(*) FROM ing_work_queue`); n < 2 {
		l.Errorf("%d rows tell of %d records", n, papers)
	}
	if n := l.Int(`SELECT MAX(LENGTH(body)) FROM ing_work_queue`); n > 260<<10 {
		l.Errorf("a row has %d bytes", n)
	}
	l.linkAll(700)
	if n := l.Int(`SELECT COUNT(*) FROM ing_work_queue`); n != 0 {
		l.Errorf("%d rows are left", n)
	}
	// What another source has of the first, of some between and of the last finds its partner.
	const apart = 100
	for i := 0; i < papers; i += apart {
		l.hold(held{source: "hal", id: fmt.Sprintf("hal-%d", i), fields: riverPaper(i), keyed: true})
	}
	l.hold(held{source: "hal", id: "hal-last", fields: riverPaper(papers - 1), keyed: true})
	l.linkAll(700)
	if n := l.Int(`SELECT COUNT(DISTINCT work_id) FROM ing_work_member`); n != papers/apart+1 {
		l.Errorf("%d works of %d papers that two sources have", n, papers/apart+1)
	}
}

// worksOfManySmallPages: pages of one record each leave as many rows, which make one step.
func worksOfManySmallPages(l *Lab) {
	const papers = 120
	l.hold(held{source: "hal", id: "first", fields: riverPaper(papers), keyed: true})
	l.linkAll(10)
	for i := range papers {
		l.hold(held{source: "hal", id: fmt.Sprint(i), fields: riverPaper(i), keyed: true})
	}
	n, err := l.Store.LinkWorks(l.ctx(), 1000)
	if err != nil || n != papers {
		l.Errorf("a step has %d records of %d that wait: %v", n, papers, err)
	}
}

// worksReadBeforeTheirTurn: records that wait in the queue with all that is known of them, and are read
// before that comes up, because all are gone through or because they have changed, are of the same
// works; and what they no longer have joins nothing. How many wait is told meanwhile.
func worksReadBeforeTheirTurn(l *Lab) {
	const papers = 21
	waiting := func(want int64) {
		l.Helper()
		n, err := l.Store.CountUnlinked(l.ctx(), control.ExportQuery{}, false)
		if err != nil || n != want {
			l.Errorf("%d records are told to wait, want %d: %v", n, want, err)
		}
	}
	hold := func() {
		l.linkAll(5) // whoever links for the first time goes through all that is there
		for i := range papers {
			l.hold(held{source: "crossref", id: fmt.Sprintf("10.1000/%d", i), fields: riverPaper(i), keyed: true})
		}
		for i := range papers {
			l.hold(held{source: "hal", id: fmt.Sprint(i), fields: with(riverPaper(i), "type", "ART"), keyed: true})
		}
	}
	change := func() {
		for i := range papers {
			if i%3 > 0 {
				l.hold(held{source: "hal", id: fmt.Sprint(i), fields: with(riverPaper(i+i%2), "type", "ART", "doi", fmt.Sprintf("10.1000/%d", i+i%2)), keyed: true})
			}
		}
	}
	waiting(0)
	hold()
	waiting(2 * papers)
	l.linkAll(5)
	waiting(0)
	change()
	waiting(2 * papers / 3)
	l.linkAll(5)
	waiting(0)
	want := l.partition()
	for _, way := range []struct {
		name                  string
		relink, link, relink2 bool
		most                  int
	}{
		{name: "changed while they wait", most: 1000},
		{name: "changed while they wait, step by step", most: 4},
		{name: "gone through while they wait", relink: true, link: true, most: 3},
		{name: "gone through and changed while they wait", relink: true, most: 3},
		{name: "gone through again after they changed", link: true, relink2: true, most: 1000},
	} {
		Clear(l.T, l.DB, l.tables)
		hold()
		if way.relink {
			if err := l.Store.RelinkWorks(l.ctx()); err != nil {
				l.Fatal(err)
			}
			if _, err := l.Store.LinkWorks(l.ctx(), papers); err != nil {
				l.Fatal(err)
			}
		}
		if way.link {
			l.linkAll(way.most)
		}
		change()
		if way.relink2 {
			if err := l.Store.RelinkWorks(l.ctx()); err != nil {
				l.Fatal(err)
			}
		}
		l.linkAll(way.most)
		if got := l.partition(); got != want {
			l.Errorf("%s:\n%s", way.name, diff(want, got))
		}
		waiting(0)
		if findings, err := l.Store.Verify(l.ctx()); err != nil || slices.ContainsFunc(findings, func(f control.Finding) bool { return f.Invariant == "WORKS" }) {
			l.Errorf("%s: %v %v", way.name, findings, err)
		}
	}
}

func riverPaper(i int) map[string]any {
	return paper(fmt.Sprintf("10.1000/%d", i), fmt.Sprintf("Rivers of the plain, as seen from bridge %d", i), "Berg", "Moor")
}

// worksPreprintJoined: a preprint and its article that somebody joins stay two works, are told to
// be related, and nothing is suggested of them any more; when that is revoked it is as before.
func worksPreprintJoined(l *Lab) {
	const title = "Insulin resistance in a mountain population of northern villages"
	pre := l.hold(held{source: "biorxiv", id: "10.1101/1", fields: with(paper("10.1101/1", title, "Berg", "Tal"), "published", "2020", "type", "")})
	art := l.hold(held{source: "crossref", id: "10.1000/a", fields: with(paper("10.1000/a", title, "Berg", "Tal"), "published", "2021")})
	l.hold(held{source: "pubmed", id: "11", fields: with(paper("10.1000/a", title, "Berg", "Tal"), "pmid", "11", "type", "Journal Article")})
	l.linkAll(10)
	before := l.partition()
	suggested := func() int {
		list, err := l.Store.Suggestions(l.ctx(), 0, 10)
		if err != nil {
			l.Fatal(err)
		}
		return len(list)
	}
	if suggested() != 1 {
		l.Fatalf("want one suggestion:\n%s", before)
	}
	audit := source.Audit{Actor: "somebody", Action: "WORK_JOIN", Object: "work/1", Reason: "the journal says so"}
	got, err := l.Store.DecideWork(l.ctx(), control.WorkDecision{Kind: "JOIN", Parts: [][]int64{{pre, art}}}, audit)
	if err != nil || len(got) != 2 || len(got[0].Records) != 1 || len(got[1].Records) != 2 {
		l.Fatalf("a preprint and its article were made one: %v %v", got, err)
	}
	// A record that comes later finds them so.
	l.hold(held{source: "hal", id: "hal-1", fields: with(paper("10.1000/a", title, "Berg", "Tal"), "type", "ART"), keyed: true})
	l.linkAll(10)
	links, err := l.Store.WorkLinks(l.ctx(), []int64{pre})
	if err != nil || len(links) != 1 || links[0].Polarity != "FAMILY" || links[0].Relation != "preprint-of" || links[0].Rule != 1 || links[0].From.Number != pre {
		l.Errorf("%+v %v", links, err)
	}
	if n := suggested(); n != 0 {
		l.Errorf("%d suggestions are left of what somebody has decided", n)
	}
	if findings, err := l.Store.Verify(l.ctx()); err != nil || slices.ContainsFunc(findings, func(f control.Finding) bool { return f.Invariant == "WORKS" }) {
		l.Errorf("%v %v", findings, err)
	}
	audit.Action = "WORK_REVOKE"
	if _, err := l.Store.DecideWork(l.ctx(), control.WorkDecision{Kind: "REVOKE", Revokes: l.Int(`SELECT MAX(id) FROM ing_work_decision`)}, audit); err != nil {
		l.Fatal(err)
	}
	if n := suggested(); n != 1 {
		l.Errorf("%d suggestions once it is revoked", n)
	}
}

// worksOfATitleOfTwoSources: records of two sources with one title come in one step, which of them
// comes first, and one that has it is there: the one of the other source is like it.
func worksOfATitleOfTwoSources(l *Lab) {
	const title = "Notes on the weather of the northern islands in the years of the war"
	there := held{source: "crossref", id: "10.1000/a", fields: with(paper("10.1000/a", title, "Berg"), "published", "2021"), keyed: true}
	apart := held{source: "crossref", id: "10.1000/b", fields: with(paper("10.1000/b", title, "Berg"), "published", "2011"), keyed: true}
	other := held{source: "hal", id: "c", fields: paper("", title, "Berg"), keyed: true}
	for _, together := range [][]held{{apart, other}, {other, apart}} {
		Clear(l.T, l.DB, l.tables)
		l.hold(there)
		l.linkAll(10)
		for _, h := range together {
			l.hold(h)
		}
		l.linkAll(10)
		if got := l.partition(); !strings.Contains(got, "crossref/10.1000/a hal/c") {
			l.Errorf("%s came before %s: nothing is suggested:\n%s", together[0].id, together[1].id, got)
		}
	}
}
