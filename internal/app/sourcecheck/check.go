// Package sourcecheck tries a source out: it reads a little of it the way a
// harvest would and says, group by group, what is well, what is not and what to
// do about it.
//
// It promises two requests at most unless more records are asked for (a third
// only if the upstream's clock turns out to be far behind ours), each through
// the rate gate and none repeated; that a failed root is named once and keeps
// what depends on it from being judged; and that nothing is stored. How a source
// is described is the registry's business, what went over the wire is told by
// the [Wire].
package sourcecheck

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// MaxRecords is the most a check reads.
const MaxRecords = 1000

// groups are the checks in the order in which they are shown.
var groups = []struct {
	name  string
	check func(*job, *lines)
}{
	{Config, (*job).config},
	{Credential, (*job).credential},
	{Network, (*job).network},
	{Rate, (*job).rate},
	{TestRead, (*job).testRead},
	{Window, (*job).window},
	{Mapping, (*job).mapping},
	{Estimate, (*job).estimate},
}

// job is one check under way.
type job struct {
	*Subject
	rep *Report
	// read is what the test read brought; nil if there was none.
	read *reading
	// root is the group whose failure keeps the others from being judged.
	root string
	wire []Exchange
}

// Run checks a source. It fails only if it was interrupted.
func Run(ctx context.Context, s *Subject, up Upstream, wire Wire) (*Report, error) {
	j := &job{Subject: s, rep: &Report{
		Source: s.Source, Operation: s.Operation, Origin: s.Origin, Query: s.Query, BaseURL: s.BaseURL, Offline: s.Offline, Fields: []Coverage{},
	}}
	switch {
	case s.Spec == nil:
		j.root = Config
	case len(s.NoKey) > 0:
		j.root = Credential
	case s.Spec.Window.Key == "":
		// Without a date there is nothing to ask for; test read says so.
	default:
		j.read = &reading{job: j, up: up}
		if err := j.read.run(ctx); err != nil {
			return nil, err
		}
		j.root = j.read.root
	}
	j.wire = wire.Exchanges()
	for _, g := range groups {
		var l lines
		g.check(j, &l)
		j.rep.Groups = append(j.rep.Groups, Group{Name: g.name, Checks: l})
	}
	j.requests()
	j.rep.count()
	return j.rep, nil
}

func (j *job) requests() {
	if j.read == nil {
		return
	}
	t := j.read.traffic
	j.rep.Requests = Requests{Sent: t.Sent, Bytes: t.Bytes, WaitedMS: t.WaitGate.Milliseconds()}
	if j.Offline {
		j.rep.Requests.Sent, j.rep.Requests.Replayed = 0, t.Sent
		j.rep.Requests.WaitedMS = 0
	}
}

// config: does the description hold?
func (j *job) config(l *lines) {
	var good []string
	for _, c := range j.Compiled {
		switch {
		case c.Not != "":
			l.ok("%s: %s", c.Operation, c.Not)
		case len(c.Problems) == 0:
			good = append(good, string(c.Operation))
		case c.Operation == j.Operation:
			l.fail("mend the places named and check again; `patra source lint FILE` checks a pack without the network", "does not compile for %s:", c.Operation)
			l.detail(c.Problems...)
		default:
			l.warn("mend the places named; HARVEST is checked all the same", "does not compile for %s:", c.Operation)
			l.detail(c.Problems...)
		}
	}
	if len(good) > 0 {
		l.ok("compiles for %s", strings.Join(good, ", "))
	}
	for _, c := range j.Compiled {
		if c.Operation == j.Operation && len(c.Warnings) > 0 && len(c.Problems) == 0 {
			l.warn("say in the pack what is meant, or be content with patra's choice", "%s taken by default:", count(int64(len(c.Warnings)), "value"))
			l.detail(c.Warnings...)
		}
	}
	for _, r := range j.Remarks {
		if r.Fix == "" {
			l.ok("%s", r.Text)
		} else {
			l.warn(r.Fix, "%s", r.Text)
		}
	}
	if j.Held != "" {
		l.warn(fmt.Sprintf("look at the reason; once this check passes: patra source resume %s --reason TEXT", j.Source), "%s; nothing is harvested until it is resumed", j.Held)
	}
}

// last is the exchange the test read ended with.
func (j *job) last() *Exchange {
	if len(j.wire) == 0 {
		return nil
	}
	return &j.wire[len(j.wire)-1]
}

// said is what the upstream's last reply began with.
func (j *job) said(before string) string {
	e := j.last()
	if e == nil || e.Status == 0 {
		return ""
	}
	return fmt.Sprintf("%sHTTP %d%s", before, e.Status, quoteHead(e.Body))
}

func quoteHead(body []byte) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body[:min(len(body), 400)]), "")), " ")
	if text == "" {
		return ""
	}
	return ": " + shorten(text, 160)
}

// shorten cuts a text for one line.
func shorten(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > n {
		return string(r[:n-2]) + ".."
	}
	return s
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func span(w harvest.Window) string { return "[" + stamp(w.From) + ", " + stamp(w.To) + ")" }

// count writes a number of things, in groups of three.
func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(n) + " " + what + "s"
}

func number(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}
