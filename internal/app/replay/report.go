package replay

import (
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Verdict is what a replay comes to, in the form that programs read.
type Verdict string

// The verdicts, the gravest first.
const (
	NotReproduced Verdict = "NOT_REPRODUCED"
	SourceChanged Verdict = "SOURCE_CHANGED"
	ParserChanged Verdict = "PARSER_CHANGED"
	Same          Verdict = "SAME"
)

// Verdicts lists all of them.
func Verdicts() []Verdict { return []Verdict{Same, SourceChanged, ParserChanged, NotReproduced} }

// Words are the verdict as people read it.
func (v Verdict) Words() string { return strings.ReplaceAll(string(v), "_", " ") }

// NothingWritten stands in every report, since it is true of every replay.
const NothingWritten = "nothing written, cursor not moved"

// Report is what came of a replay.
type Report struct {
	Batch       string  `json:"batch"`
	Correlation string  `json:"correlation,omitempty"`
	Source      string  `json:"source,omitempty"`
	Mode        string  `json:"mode"` // offline or probe
	Verdict     Verdict `json:"verdict"`
	Why         string  `json:"why"`
	// Comparisons hold what was recorded against what comes out now.
	Comparisons []Comparison `json:"comparisons"`
	// Differences are those of single items, at most [MaxDifferences].
	Differences []Difference `json:"differences"`
	Capped      bool         `json:"capped"`
	// Requests is how many were sent for the replay.
	Requests int    `json:"requests"`
	Effect   string `json:"effect"`
	// Written tells programs what Effect tells people. It is false, since a replay never
	// writes.
	Written bool `json:"written"`

	found map[Verdict]string // the first reason for each
}

// Comparison is one thing as it was recorded, and as it comes out now.
type Comparison struct {
	What     string `json:"what"`
	Recorded string `json:"recorded"`
	Now      string `json:"now"`
	Same     bool   `json:"same"`
}

// Difference is one of a single item.
type Difference struct {
	Item     string `json:"item"`
	By       string `json:"by"` // snapshot, current mapping or source
	What     string `json:"what"`
	Recorded string `json:"recorded,omitempty"`
	Now      string `json:"now,omitempty"`
}

// Who finds a difference.
const (
	bySnapshot = "snapshot"
	byCurrent  = "current mapping"
	bySource   = "source"
)

// MaxDifferences bounds what is told of single items.
const MaxDifferences = 50

// newReport begins a report about a page.
func newReport(batch string, probe bool) *Report {
	r := &Report{
		Batch: batch, Mode: "offline", Comparisons: []Comparison{}, Differences: []Difference{},
		Effect: NothingWritten, found: map[Verdict]string{},
	}
	if probe {
		r.Mode = "probe"
	}
	return r
}

// blame gives a reason for a verdict. The first one is told.
func (r *Report) blame(v Verdict, why string) {
	if r.found[v] == "" {
		r.found[v] = why
	}
}

// compare adds a comparison, and reports whether both are the same.
func (r *Report) compare(what, recorded, now string) bool {
	same := recorded == now
	r.Comparisons = append(r.Comparisons, Comparison{What: what, Recorded: recorded, Now: now, Same: same})
	return same
}

// differ adds what differs of an item.
func (r *Report) differ(d Difference) {
	if len(r.Differences) >= MaxDifferences {
		r.Capped = true
		return
	}
	const most = 200 // enough to see what it is about
	d.Item = MaskAddresses(d.Item)
	d.Recorded = clip(MaskAddresses(d.Recorded), most)
	d.Now = clip(MaskAddresses(d.Now), most)
	r.Differences = append(r.Differences, d)
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + ".."
}

// conclude finds the verdict: the gravest that there is a reason for.
func (r *Report) conclude() Report {
	r.Verdict = Same
	for _, v := range []Verdict{NotReproduced, SourceChanged, ParserChanged} {
		if why, is := r.found[v]; is {
			r.Verdict = v
			r.Why = MaskAddresses(why)
			break
		}
	}
	if r.Verdict == Same && r.Why == "" {
		r.Why = "what was kept comes out as it was recorded"
	}
	return *r
}

// Summary is what the replay of the pages of a plan or a task comes to, a page of them at a
// time.
type Summary struct {
	PlanKey string         `json:"plan_key,omitempty"`
	Task    harvest.TaskID `json:"task,omitzero"`
	Reports []Report       `json:"reports"`
	// Totals are how many came to each verdict.
	Totals  map[string]int `json:"totals"`
	Effect  string         `json:"effect"`
	Written bool           `json:"written"` // false, as in each report
	// Next is where the next of them begin, empty on the last.
	Next string `json:"next,omitempty"`
}

// Changed reports whether anything but SAME came out.
func (r Report) Changed() bool { return r.Verdict != Same }

// Changed reports whether anything but SAME came out of a page.
func (s Summary) Changed() bool { return s.Totals[string(Same)] < len(s.Reports) }
