package work

// Mark is what of a record tells at a glance that it cannot be like another: its class,
// its year, and numbers that stand for its volume, its first page and its DOI. It stands
// beside the keys of likeness in the index, so that most records that begin with the
// same words need not be read to be told apart. 0 says nothing.
type Mark uint32

// How many bits each part has, from the lowest on; the highest bit is always set.
const (
	markClassBits  = 3
	markYearBits   = 5
	markVolumeBits = 4
	markPageBits   = 8
	markDOIBits    = 11

	markYearAt   = markClassBits
	markVolumeAt = markYearAt + markYearBits
	markPageAt   = markVolumeAt + markVolumeBits
	markDOIAt    = markPageAt + markPageBits

	markSet = Mark(1) << 31
	// markYears is after how many years the number of a year comes again.
	markYears = 1<<markYearBits - 1
)

// The classes of a mark. Records of other classes are like nothing.
const (
	markUnknown = iota
	markArticle
	markPreprint
	markDataset
	markThesis
	markOther
)

var markClasses = map[Class]Mark{Unknown: markUnknown, Article: markArticle, Preprint: markPreprint, Dataset: markDataset, Thesis: markThesis}

// Mark is the record's.
func (r *Record) Mark() Mark {
	class, ok := markClasses[r.Class]
	if !ok {
		class = markOther
	}
	m := markSet | class
	if r.Year > 0 {
		m |= Mark(1+r.Year%markYears) << markYearAt
	}
	m |= markOf(r.Volume, markVolumeBits) << markVolumeAt
	m |= markOf(r.Page, markPageBits) << markPageAt
	m |= markOf(r.said(DOI).Value, markDOIBits) << markDOIAt
	return m
}

// markOf is a number other than 0 for a text, 0 for none.
func markOf(s string, bits int) Mark {
	if s == "" {
		return 0
	}
	return Mark(1 + mix(s)%(1<<bits-1))
}

func (m Mark) part(at, bits int) Mark { return m >> at & (1<<bits - 1) }

// apart reports whether both say something in a part, and not the same.
func (m Mark) apart(o Mark, at, bits int) bool {
	x, y := m.part(at, bits), o.part(at, bits)
	return x != 0 && y != 0 && x != y
}

// alike reports whether both say something in a part which may be the same.
func (m Mark) alike(o Mark, at, bits int) bool {
	x := m.part(at, bits)
	return x != 0 && x == o.part(at, bits)
}

// yearsOn is how many years the other is later, as far as can be seen; false if one has
// no year.
func (m Mark) yearsOn(o Mark) (int, bool) {
	x, y := m.part(markYearAt, markYearBits), o.part(markYearAt, markYearBits)
	return (int(y) - int(x) + markYears) % markYears, x != 0 && y != 0
}

// MayBeLike reports whether two records may be suggested to be of one work, or preprint
// and article. Where it says no, comparing them finds no likeness. oneSource: both are
// of one source.
func (m Mark) MayBeLike(o Mark, oneSource bool) bool {
	if m == 0 || o == 0 {
		return true
	}
	a, b := m.part(0, markClassBits), o.part(0, markClassBits)
	switch {
	case a == markOther || b == markOther:
		return false
	case a == markArticle && b == markPreprint:
		return o.mayBecome(m)
	case a == markPreprint && b == markArticle:
		return m.mayBecome(o)
	case a != b && a != markUnknown && b != markUnknown:
		return false
	}
	on, known := m.yearsOn(o)
	if oneSource || m.apart(o, markDOIAt, markDOIBits) {
		// Two that are held apart have to stand in one place, in one year.
		return known && on == 0 && m.alike(o, markPageAt, markPageBits) && !m.apart(o, markVolumeAt, markVolumeBits)
	}
	if known && on != 0 && on != 1 && on != markYears-1 {
		return false
	}
	volumes := m.part(markVolumeAt, markVolumeBits) != 0 && o.part(markVolumeAt, markVolumeBits) != 0
	return !volumes || !m.apart(o, markPageAt, markPageBits)
}

// mayBecome reports whether a preprint may have become an article, by their years.
func (m Mark) mayBecome(article Mark) bool {
	on, known := m.yearsOn(article)
	return !known || on <= mostYearsOn
}
