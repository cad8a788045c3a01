package sqlstore_test

import (
	"fmt"
)

// Records that their source merged into others, and records that point to others, are linked from both
// ends: whichever of the two comes first, what is stored is the same.

// mustBeAsRelinked fails the test if the works break what verify asks of them, or if looking at all
// records once more finds anything else.
func (l *Lab) mustBeAsRelinked(what string) {
	l.Helper()
	findings, err := l.Store.Verify(l.ctx())
	if err != nil {
		l.Fatal(err)
	}
	for _, f := range findings {
		if f.Invariant == "WORKS" {
			l.Errorf("%s: %v", what, f)
		}
	}
	got := l.partition()
	if err := l.Store.RelinkWorks(l.ctx()); err != nil {
		l.Fatal(err)
	}
	l.linkAll(1000)
	if again := l.partition(); again != got {
		l.Errorf("%s: looked at once more (+) and as it came (-):\n%s", what, diff(got, again))
	}
}

// glass is a record of OpenAlex, which merges records.
func glass(id string) held {
	return held{source: "openalex", id: id, fields: paper("", "Glass houses and what grows in them", "Moor"), keyed: true}
}

// mergedInto is such a record once it was merged into another.
func mergedInto(id, into string) held {
	h := glass(id)
	h.status = "MERGED"
	h.into = into
	h.keyed = false
	return h
}

// worksMergedBeforeTheirTurn: what a record was merged into waits in a later row of the queue.
func worksMergedBeforeTheirTurn(l *Lab) {
	l.linkAll(10) // nothing has to be gone through
	l.hold(glass("W9"))
	l.linkAll(10)
	l.hold(mergedInto("W9", "W8"))
	l.hold(glass("W8"))
	l.linkAll(1)
	l.mustBeAsRelinked("merged before its turn")
}

// worksUnmerged: a merger is taken back, or leads elsewhere.
func worksUnmerged(l *Lab) {
	for what, later := range map[string]held{"taken back": glass("W9"), "elsewhere": mergedInto("W9", "W7")} {
		Clear(l.T, l.DB, l.tables)
		l.linkAll(10)
		l.hold(held{source: "openalex", id: "W7", fields: paper("", "Quite another matter that is told at length", "Tal"), keyed: true})
		l.hold(glass("W8"))
		l.hold(mergedInto("W9", "W8"))
		l.linkAll(10)
		later.keyed = false
		l.hold(later)
		l.linkAll(10)
		l.mustBeAsRelinked(what)
	}
}

// worksMergedAtOnce: two records are merged in one step, into records that share an identifier.
func worksMergedAtOnce(l *Lab) {
	l.linkAll(10)
	for _, id := range []string{"W8", "V8"} {
		l.hold(held{source: "openalex", id: id, fields: paper("10.1000/a", "Glass houses and what grows in them", "Moor"), keyed: true})
	}
	l.hold(glass("W9"))
	l.hold(glass("V9"))
	l.linkAll(10)
	l.hold(mergedInto("W9", "W8"))
	l.hold(mergedInto("V9", "V8"))
	l.linkAll(10)
	l.mustBeAsRelinked("two mergers at once")
}

// worksOfManyMerged: more records are merged into one than may have one identifier.
func worksOfManyMerged(l *Lab) {
	for _, most := range []int{1, 1000} {
		Clear(l.T, l.DB, l.tables)
		l.linkAll(10)
		for i := range 40 {
			if i == 5 {
				l.hold(glass("W8"))
			}
			l.hold(mergedInto(fmt.Sprintf("W%d", 100+i), "W8"))
			if most == 1 {
				l.linkAll(most)
			}
		}
		l.linkAll(most)
		l.mustBeAsRelinked(fmt.Sprintf("%d at a time", most))
	}
}

// worksOfManyPointers: a book has more chapters than records may have one identifier, and an erratum is
// about an identifier that too many have. Neither depends on which came first.
func worksOfManyPointers(l *Lab) {
	book := held{source: "crossref", id: "10.1000/book", fields: with(paper("10.1000/book", "A book of many chapters on the northern islands", "Berg"), "type", "book"), keyed: true}
	var chapters []held
	for i := range 30 {
		doi := fmt.Sprintf("10.1000/book.%d", i)
		fields := with(paper(doi, fmt.Sprintf("Chapter on something else altogether %d", i), fmt.Sprintf("Name%c", 'a'+i)), "type", "book-chapter",
			"other_ids", map[string]any{"part_of": "10.1000/book"})
		chapters = append(chapters, held{source: "crossref", id: doi, fields: fields, keyed: true})
	}
	erratum := held{source: "crossref", id: "10.1000/e", fields: with(paper("10.1000/e", "Erratum: a thing that somebody has written", "Berg"), "corrects", "10.9999/slip"), keyed: true}
	var crowd []held
	for i := range 30 {
		fields := paper("10.9999/slip", fmt.Sprintf("Rivers of the plain, as seen from bridge %d", i), fmt.Sprintf("Name%c", 'a'+i))
		crowd = append(crowd, held{source: "hal", id: fmt.Sprint(i), fields: fields, keyed: true})
	}
	for what, c := range map[string]struct {
		one   held
		many  []held
		edges int
	}{
		"chapters of a book":              {book, chapters, 30},
		"an erratum on what too many are": {erratum, crowd, 0},
	} {
		for _, isFirst := range []bool{true, false} {
			Clear(l.T, l.DB, l.tables)
			l.linkAll(10)
			if isFirst {
				l.hold(c.one)
				l.linkAll(1000)
			}
			for _, h := range c.many {
				l.hold(h)
			}
			l.linkAll(1000)
			if !isFirst {
				l.hold(c.one)
				l.linkAll(1000)
			}
			if n := l.Int(`SELECT COUNT(*) FROM ing_work_edge WHERE polarity_code='FAMILY'`); int(n) != c.edges {
				l.Errorf("%s, one first %v: %d are related, not %d", what, isFirst, n, c.edges)
			}
			l.mustBeAsRelinked(fmt.Sprintf("%s, one first %v", what, isFirst))
		}
	}
}

// worksThatLeaveACrowd: how many have an identifier that too many have is told as it is.
func worksThatLeaveACrowd(l *Lab) {
	l.linkAll(10)
	slip := func(i int, doi string) held {
		fields := paper(doi, fmt.Sprintf("Rivers of the plain, as seen from bridge %d", i), fmt.Sprintf("Name%c", 'a'+i))
		return held{source: "hal", id: fmt.Sprint(i), fields: fields}
	}
	for i := range 30 {
		l.hold(slip(i, "10.9999/slip"))
	}
	l.linkAll(100)
	for i := range 3 {
		l.hold(slip(i, ""))
	}
	l.linkAll(100)
	bad, err := l.Store.BadIdentifiers(l.ctx(), -1<<63, 10)
	if err != nil || len(bad) != 1 || bad[0].Holders != 27 {
		l.Errorf("27 records have it: %+v, %v", bad, err)
	}
}
