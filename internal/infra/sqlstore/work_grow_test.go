package sqlstore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/papertrace/patra/internal/app/control"
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
