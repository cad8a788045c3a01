package control

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/prisma"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// ReportFormats are the forms that a report is written in.
func ReportFormats() []string { return prisma.Formats }

// SearchReport is what a search has to tell for a review, as of its last run that ended. It
// is made of what was frozen with the runs; only what became of the records since is read
// anew. Numbers that do not add up are an error.
func (c *Control) SearchReport(ctx context.Context, name string) (prisma.Document, error) {
	s, runs, err := c.endedRuns(ctx, name)
	if err != nil {
		return prisma.Document{}, err
	}
	names, err := c.namesOfSources(ctx, s.codes())
	if err != nil {
		return prisma.Document{}, err
	}
	last := runs[0]
	out := prisma.Document{
		Search: s.Name, Version: s.Version, Query: s.Query, Status: string(last.Status), Sources: []prisma.Searched{}, Runs: []prisma.RunFacts{},
		Software: strings.TrimSpace("patra " + last.Program),
	}
	if !s.Begins.IsZero() {
		out.From = Time(s.Begins).String()
	}
	for _, run := range slices.Backward(runs) {
		v := runView(s, run)
		out.Runs = append(out.Runs, prisma.RunFacts{
			No: run.No, Status: string(run.Status), Started: Time(run.StartedAt).String(), Ended: Time(run.EndedAt).String(), Records: v.Records, New: v.New,
		})
	}
	for _, src := range s.Sources {
		out.Sources = append(out.Sources, reportedSource(src.Source, cmp.Or(names[src.Source], src.Source), runs))
	}
	out.Earlier, err = c.earlierVersions(ctx, s)
	if err != nil {
		return out, err
	}
	found := s.found(runs, false)
	if !s.Begins.IsZero() {
		if err := c.countAnew(ctx, out.Sources, found); err != nil {
			return out, err
		}
	}
	out.Flow, err = c.searchFlow(ctx, out.Sources, found)
	out.Identified = map[string]int64{}
	for _, src := range out.Sources {
		out.Identified[src.Source] = src.Identified()
		out.Quarantined += src.Quarantined
	}
	for _, d := range out.Flow.Duplicates {
		out.Duplicates.Exact += d.N
	}
	out.Duplicates.ReadAgain = out.Flow.ReadAgain
	out.Works = out.Flow.Screened
	return out, err
}

// countAnew counts again what sources have of a search that is bounded by time. A record that
// another search has seen changed since the run has moved into that time, and what is told of
// the records themselves has it. What others have read of the same query, and what changed before
// that time, was received and is none of this search.
func (c *Control) countAnew(ctx context.Context, sources []prisma.Searched, found []SelectionPart) error {
	for i := range sources {
		s := &sources[i]
		kept, err := c.store.CountMembers(ctx, found[i], math.MaxInt64)
		if err != nil {
			return err
		}
		whole := found[i]
		whole.Since = time.Time{}
		all, err := c.store.CountMembers(ctx, whole, math.MaxInt64)
		if err != nil {
			return err
		}
		s.Kept = kept
		s.Older = all - kept
		s.SettleReceived()
	}
	return nil
}

func (c *Control) earlierVersions(ctx context.Context, s SavedSearch) (out []prisma.EarlierVersion, err error) {
	all, err := c.store.SearchVersions(ctx, s.Name)
	for _, v := range all {
		if v.Version < s.Version {
			out = append(out, prisma.EarlierVersion{
				Version: v.Version, Query: v.Query, Sources: strings.Join(v.codes(), ", "), Until: Time(v.SupersededAt).String(),
			})
		}
	}
	return out, err
}

// reportedSource is what runs, the newest first, have told of a source.
func reportedSource(code, name string, runs []SearchRun) prisma.Searched {
	out := prisma.Searched{Source: code, Name: name, Sent: []prisma.SentValue{}}
	plans := map[harvest.PlanID]SearchPlan{}
	described := false
	for _, run := range runs {
		o, has := run.outcome(code)
		if !has {
			continue
		}
		if out.LastRun == "" {
			out.LastRun = Time(run.EndedAt).String()
			out.Status = string(o.Status)
			out.Reason = o.Reason
			out.Kept = o.Members
			out.Quarantined = o.Facts.Quarantined
			out.BadIDs = o.Facts.BadIDs
			for _, u := range o.Facts.Unread {
				out.Unread = append(out.Unread, prisma.UnreadItem(u))
			}
		}
		if !described && o.Facts.Host != "" {
			describeReported(&out, o.Facts)
			described = true
		}
		for _, p := range o.Facts.Plans {
			if _, newer := plans[p.Plan]; !newer {
				plans[p.Plan] = p
			}
		}
	}
	sumUpPlans(&out, plans)
	out.SettleReceived()
	return out
}

// describeReported says how a source was searched.
func describeReported(out *prisma.Searched, f SearchFacts) {
	out.Register = f.RecordType == "study"
	out.Host = f.Host
	out.Date = f.Key
	out.Zone = f.Zone
	out.Query = f.Query
	for _, key := range slices.Sorted(maps.Keys(f.Values)) {
		out.Sent = append(out.Sent, prisma.SentValue{Key: key, Value: f.Values[key]})
	}
}

// sumUpPlans adds what the plans of a source came to.
func sumUpPlans(out *prisma.Searched, plans map[harvest.PlanID]SearchPlan) {
	var all []SearchPlan
	for _, id := range slices.Sorted(maps.Keys(plans)) {
		p := plans[id]
		all = append(all, p)
		came := p.came()
		out.Received += came.Items()
		out.Filtered += came.Filtered
		out.Requests += p.Requests
		out.Request = cmp.Or(out.Request, p.Request)
		out.Description = p.Fingerprint
		from, to := p.From.String(), p.To.String()
		if out.From == "" || from < out.From {
			out.From = from
		}
		out.To = max(out.To, to)
	}
	out.Plans = len(all)
	out.Announced = announced(all)
}

// searchFlow are the numbers of a search. What was identified and what of it was left out at
// once is what was frozen with its runs; what is left is counted among the records themselves.
func (c *Control) searchFlow(ctx context.Context, sources []prisma.Searched, found []SelectionPart) (prisma.Flow, error) {
	f := prisma.Flow{Databases: []prisma.FlowCount{}, Registers: []prisma.FlowCount{}, Duplicates: []prisma.FlowCount{}}
	var quarantined, bad, older int64
	for _, s := range sources {
		n := prisma.FlowCount{Name: s.Name, N: s.Identified(), Announced: s.Announced}
		f.Identified += n.N
		f.Ineligible += s.Filtered
		f.ReadAgain += s.ReadAgain
		if s.Register {
			f.Registers = append(f.Registers, n)
		} else {
			f.Databases = append(f.Databases, n)
		}
		quarantined += s.Quarantined
		bad += s.BadIDs
		older += s.Older
	}
	held, err := c.store.MembersByStatus(ctx, found)
	if err != nil {
		return f, err
	}
	f.Other = []prisma.FlowCount{
		{Name: "Could not be read (quarantine)", N: quarantined},
		{Name: "Without details at the source", N: bad},
		{Name: "Withdrawn by the source", N: held[harvest.RecordGone]},
		{Name: "Merged by the source into another", N: held[harvest.RecordMerged]},
	}
	if older > 0 {
		f.Other = append(f.Other, prisma.FlowCount{Name: "Changed before the search begins", N: older})
	}
	f.Removed = f.Ineligible + f.ReadAgain
	for _, o := range f.Other {
		f.Removed += o.N
	}
	doubles, err := c.store.Doubles(ctx, ExportQuery{Selections: found})
	if err != nil {
		return f, err
	}
	f.Compared = doubles.Unlinked == 0
	f.Screened = held[harvest.RecordActive] + held[harvest.RecordRetracted]
	if f.Compared {
		same := prisma.FlowCount{Name: "the same work by its identifiers or by a person's word", N: doubles.extra()}
		f.Duplicates = append(f.Duplicates, same)
		f.Removed += same.N
		f.Screened -= same.N
	}
	return f, f.Check()
}
