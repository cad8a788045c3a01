package sim

import "strconv"

// works writes Crossref's work items.
type works struct{ seed uint64 }

// workTypes and how many of a thousand works are of each.
var workTypes = []struct {
	name  string
	share int
}{
	{"journal-article", 720},
	{"posted-content", 80},
	{"book-chapter", 70},
	{"proceedings-article", 60},
	{"dataset", 20},
	{"component", 10},
	{"peer-review", 10},
	{"report", 10},
	{"monograph", 10},
	{"dissertation", 10},
}

// workFacts is what filters need to know of a work without writing it out.
type workFacts struct {
	journal  int
	kind     string
	doiForm  int
	abstract bool
	refs     int
	issued   civil // zero year: not known
	escaped  bool  // slashes and non-ASCII are written as escapes
	style    uint64
}

func (w works) facts(i uint32, r *record) workFacts {
	d := roll(w.seed, 10, uint64(i))
	f := workFacts{journal: d.n(len(journals)), kind: "journal-article", style: d.next()}
	pick := d.n(1000)
	for _, t := range workTypes {
		pick -= t.share
		if pick < 0 {
			f.kind = t.name
			break
		}
	}
	f.doiForm = d.n(100)
	f.abstract = d.percent(50)
	if d.percent(35) {
		f.refs = d.between(3, 16)
	}
	f.escaped = d.percent(70)
	issued := civilOf(int(r.created/86400) + d.between(-240, 40))
	switch precision := d.n(100); {
	case precision < 4:
		issued = civil{}
	case precision < 12:
		issued.month, issued.day = 0, 0
	case precision < 37:
		issued.day = 0
	}
	f.issued = issued
	if f.kind == "component" {
		f.abstract = false
		f.refs = 0
		f.issued = civil{}
	}
	if r.notice {
		f.kind = "journal-article"
		f.abstract = false
		f.refs = 1
	}
	return f
}

// appendDOI writes a work's DOI, lower case. Every form holds the index as the
// only run of exactly eight digits, which is how find gets back.
func (w works) appendDOI(b []byte, i uint32) []byte {
	d := roll(w.seed, 10, uint64(i))
	j := d.n(len(journals))
	style := d.next()
	d.n(1000)
	b = append(b, journals[j].prefix...)
	switch form := d.n(100); {
	case form < 70:
		b = append(b, "/j.sim."...)
		b = appendInt(b, 2019+int(style%7))
		b = append(b, '.')
		return appendPadded(b, int(i), 8)
	case form < 95:
		b = append(b, "/s"...)
		b = appendPadded(b, int(i), 8)
		b = append(b, "-x"...)
		return appendInt(b, int(style%1000))
	case form < 98:
		b = append(b, "/0012-9658(2006)87["...)
		b = appendPadded(b, int(i), 8)
		return append(b, ":tiopma]2.0.co;2"...)
	case form < 99:
		b = append(b, "/sim+"...)
		b = appendPadded(b, int(i), 8)
		return append(b, "#a&b"...)
	default: // which no list of filters can hold
		b = append(b, "/(sim)"...)
		b = appendPadded(b, int(i), 8)
		return append(b, ":1<1,x,doi:>2.0.co;2-#"...)
	}
}

// find returns the index a DOI stands for.
func (w works) find(doi string) (uint32, bool) {
	doi = lower(doi)
	for start := 0; start < len(doi); start++ {
		end := start
		for end < len(doi) && doi[end] >= '0' && doi[end] <= '9' {
			end++
		}
		if end-start == 8 {
			n, _ := strconv.Atoi(doi[start:end])
			return uint32(n), string(w.appendDOI(nil, uint32(n))) == doi
		}
		start = end
	}
	return 0, false
}
