package control

import (
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// SummaryLine is one thing about a source in words.
type SummaryLine struct {
	What string `json:"what"`
	Text string `json:"text"`
}

// summaryOf tells in some lines how a source is asked, and what becomes of its answers.
func summaryOf(s *source.Spec) []SummaryLine {
	var out []SummaryLine
	add := func(what, format string, args ...any) {
		out = append(out, SummaryLine{what, fmt.Sprintf(format, args...)})
	}
	add("asked at", "%s%s", s.HTTP.BaseURL, s.Search.Path)
	add("asked for", "%s", askedFor(s))
	add("windows", "%s", windowsOf(s.Window, s.Count != nil))
	add("pages", "%s", pagesOf(s))
	add("pace", "%s", paceOf(s.Rate))
	if s.Auth != nil {
		add("key", "%s", keyOf(s))
	}
	add("given up", "after %d attempts", s.Retry.Attempts)
	add("records", "of type %s, with %s", s.RecordType, Count(len(s.Mapping.Fields), "field"))
	if len(s.Mapping.Required) > 0 {
		add("put aside", "an item without %s", strings.Join(s.Mapping.Required, " or "))
	}
	return out
}

func askedFor(s *source.Spec) string {
	by := "everything there is"
	if s.Window.Key != "" {
		by = fmt.Sprintf("what has a date %q in a window, told by the %s", s.Window.Key, strings.ToLower(string(s.Window.Precision)))
		if s.Window.Precision == harvest.PrecisionDay {
			by += " in " + s.Window.Zone
		}
	}
	if s.TwoPhase() {
		by += fmt.Sprintf("; first ids, then their records, %d at a time", max(1, s.Batching.IDs))
	}
	return by
}

func windowsOf(w source.Window, counts bool) string {
	text := fmt.Sprintf("up to %s ago", short(w.SafetyLag))
	if w.Overlap > 0 {
		text += fmt.Sprintf(", reading the last %s again", short(w.Overlap))
	}
	if counts {
		return text + ", cut by what the source counts"
	}
	return text + ", cut where a walk shows the need: the source cannot count"
}

// short is a length of time without units of which there are none.
func short(d source.Duration) string {
	const day = 24 * time.Hour
	if d > 0 && d.D()%day == 0 {
		return Count(int(d.D()/day), "day")
	}
	text := d.D().String()
	if whole, is := strings.CutSuffix(text, "m0s"); is {
		text = whole + "m"
	}
	if whole, is := strings.CutSuffix(text, "h0m"); is {
		text = whole + "h"
	}
	return text
}

func pagesOf(s *source.Spec) string {
	p := s.Paging
	text := fmt.Sprintf("%d items each, by %s", p.Size, strings.ToLower(string(p.Type)))
	if p.MaxItems > 0 {
		text += fmt.Sprintf(", no more than %d of one question", p.MaxItems)
	}
	ends := make([]string, len(p.End))
	for i, e := range p.End {
		ends[i] = string(e)
	}
	return text + "; over when " + strings.ToLower(strings.Join(ends, " or "))
}

func paceOf(r source.Rate) string {
	if r.QPS == 0 {
		return "as fast as it answers"
	}
	var text strings.Builder
	text.WriteString(fmt.Sprintf("%g requests a second", r.QPS))
	if r.Concurrency > 0 {
		text.WriteString(fmt.Sprintf(", %d at once", r.Concurrency))
	}
	for _, q := range r.Quotas {
		text.WriteString(fmt.Sprintf(", %d in %s", q.Limit, short(q.Window)))
	}
	return text.String()
}

func keyOf(s *source.Spec) string {
	text := "needed"
	if s.Auth.Open {
		text = "not needed"
	}
	if s.Auth.Rate != nil && s.Auth.Rate.QPS > 0 {
		text += fmt.Sprintf("; with one %g requests a second", s.Auth.Rate.QPS)
	}
	return text
}
