package alert

import (
	"fmt"
	"slices"
	"time"
)

// Code names a rule.
type Code string

// The rules there are.
const (
	SourceStopped Code = "source_stopped"
	SourceOut     Code = "source_out"
	Stuck         Code = "stuck"
	NotPlanned    Code = "not_planned"
	Late          Code = "late"
	ErrorRate     Code = "error_rate"
	Throttled     Code = "throttled"
	SpoiltItems   Code = "spoilt_items"
	LeasesLost    Code = "leases_lost"
	GapsOpen      Code = "gaps_open"
	QueueSurge    Code = "queue_surge"
	NobodyWorks   Code = "nobody_works"
	QuotaLow      Code = "quota_low"
	AmbiguousPick Code = "ambiguous_pick"
	EventParked   Code = "event_parked"
	EventsBehind  Code = "events_behind"
)

// Rule says when people are to be told.
type Rule struct {
	Code Code
	// Means is the rule in a sentence, with its threshold.
	Means    string
	Severity Severity
	// For is how long it must hold before it is told.
	For time.Duration
	// Follows: it may be what comes of a source that is stopped, out or stuck. While a
	// worse rule says so of the source, or is still told to, this is not told beside it.
	Follows bool
	// Recovers is how long after that is over it may still come of it.
	Recovers time.Duration
	// find looks for what the rule is about in what is known of a source.
	find func(now time.Time, s SourceFacts) []Finding
	// findOfTarget looks for it in what is known of a target of events instead.
	findOfTarget func(now time.Time, t TargetFacts) []Finding
}

// OfTargets reports whether the rule is about targets of events, and not about sources.
func (r Rule) OfTargets() bool { return r.findOfTarget != nil }

// Finding is what a rule found of a subject.
type Finding struct {
	Rule      Code
	Severity  Severity
	For       time.Duration
	Source    string
	Subject   string
	Text      string
	Measured  string
	Threshold string
	Next      string
	// Since is when it began, zero if that is not known.
	Since time.Time
	// Lingers: it is no reason to tell anybody, but one that was told is not over yet.
	Lingers bool
	// Follows: so does one that may come of what a worse rule tells of its source, and
	// for some time of what it told.
	Follows  bool
	Recovers time.Duration
}

// Thresholds of the rules.
const (
	mostErrors    = 0.05 // of the pages
	mostThrottled = 0.05 // replies a page
	mostSpoilt    = 0.01 // of the items
	leastPages    = 10   // fewer say nothing about a share of them
	leastItems    = 20
	mostLost      = 3 // leases in [TrafficOver]
	deviations    = 3
	leastLooks    = 36  // at a queue, six hours of them, before it is known what is usual
	leastSurge    = 100 // tasks over what is usual, however little that varies
	untakenFor    = 30 * time.Minute
)

// Rules are those that everything is held against, the worst first.
var Rules = []Rule{
	{
		Code: SourceStopped, Severity: Critical, find: findStopped,
		Means: "A fatal fault, such as refused credentials or a reply of another shape, stopped the source, or one endpoint of it. Told at once.",
	},
	{
		Code: SourceOut, Severity: Warning, find: findOut,
		Means: "The source gives no answer, or only errors, for at least half a minute.",
	},
	{
		Code: Stuck, Severity: Warning, For: 2 * time.Minute, Follows: true, find: findStuck,
		Means: "The source answers, but not so that what is asked for can be finished: walks are begun again or slices cut for it, for " +
			"two minutes.",
	},
	{
		Code: NotPlanned, Severity: Warning, Follows: true, find: findNotPlanned,
		Means: "What a schedule asks for could not be planned.",
	},
	{
		Code: Late, Severity: Warning, For: time.Minute, Follows: true, Recovers: 30 * time.Minute, find: findLate,
		Means: "The cursor of a schedule is further behind than its limit (its interval, its safety lag and half an hour) and does not catch up. " +
			"A source that was stopped, out or stuck has half an hour to begin with that.",
	},
	{
		Code: ErrorRate, Severity: Warning, For: 10 * time.Minute, Follows: true, find: findErrors,
		Means: "More than 5 % of the pages fail, for ten minutes.",
	},
	{
		Code: Throttled, Severity: Warning, For: 5 * time.Minute, Follows: true, find: findThrottled,
		Means: "More than 5 replies for every 100 pages ask for fewer requests (HTTP 429), for five minutes.",
	},
	{
		Code: SpoiltItems, Severity: Warning, find: findSpoilt,
		Means: "More than 1 % of the items that come cannot be read, or do not come although they were named, and are put aside.",
	},
	{
		Code: LeasesLost, Severity: Warning, find: findLost,
		Means: "Workers died or lost their lease with three pages or more in hand within five minutes.",
	},
	{
		Code: GapsOpen, Severity: Warning, For: 2 * time.Minute, Follows: true, find: findGaps,
		Means: "Windows were left unread, since they failed or were cancelled, and hold the watermark, for two minutes.",
	},
	{
		Code: QueueSurge, Severity: Warning, Follows: true, find: findSurge,
		Means: "More tasks wait than the mean of the last day and three standard deviations, and at least 100 more than the mean.",
	},
	{
		Code: NobodyWorks, Severity: Warning, find: findUntaken,
		Means: "Tasks of a plan could be worked on for 30 minutes, and nobody takes them.",
	},
	{
		Code: QuotaLow, Severity: Notice, find: findQuota,
		Means: "Less of a quota is left than is kept back of it (10 % unless the source says otherwise), or nothing.",
	},
	{
		Code: AmbiguousPick, Severity: Notice, find: findRivals,
		Means: "Several rows of a source's description are in force for the same thing; the newest is taken.",
	},
	{
		Code: EventParked, Severity: Warning, findOfTarget: findParked,
		Means: "A target of events refused a message ten times, and it is not tried any more. Told at once.",
	},
	{
		Code: EventsBehind, Severity: Warning, For: 5 * time.Minute, findOfTarget: findBehind,
		Means: "A target of events takes nothing, or has not got what was stored ten minutes ago, for five minutes.",
	},
}

// RuleOf finds a rule by its code.
func RuleOf(c Code) (Rule, bool) {
	for _, r := range Rules {
		if r.Code == c {
			return r, true
		}
	}
	return Rule{}, false
}

// Find holds what is known against all rules.
func Find(f Facts) []Finding {
	var all []Finding
	for _, s := range f.Sources {
		for _, r := range Rules {
			if r.OfTargets() {
				continue
			}
			found := r.find(f.Now, s)
			for i := range found {
				found[i].Rule = r.Code
				found[i].Severity = r.Severity
				found[i].For = r.For
				found[i].Source = s.Code
				found[i].Follows = r.Follows
				found[i].Recovers = r.Recovers
			}
			all = append(all, found...)
		}
	}
	for _, t := range f.Targets {
		all = append(all, findOf(f.Now, t)...)
	}
	return all
}

// causes are the rules that tell why nothing comes of a source, the worst first.
var causes = []Code{SourceStopped, SourceOut, Stuck}

// quieten makes those findings linger that come of what a worse rule found of their
// source, or of what is told of it and not over yet, or was until just now: when a
// source that was out for a day answers again it is late, and that is no news.
func quieten(now time.Time, held []Alert, found []Finding) {
	worst := map[string]int{}
	overAt := map[string]time.Time{}
	note := func(source string, rule Code) {
		rank := slices.Index(causes, rule)
		known, is := worst[source]
		if rank >= 0 && (!is || rank < known) {
			worst[source] = rank
		}
	}
	for _, a := range held {
		switch {
		case a.Rule == SourceStopped && a.Subject != a.Source: // an endpoint of it, which explains nothing of the others
		case a.State == Firing:
			note(a.Source, a.Rule)
		case slices.Contains(causes, a.Rule) && a.ClearedAt.After(overAt[a.Source]):
			overAt[a.Source] = a.ClearedAt
		}
	}
	for _, f := range found {
		if !f.Lingers && (f.Rule != SourceStopped || f.Subject == f.Source) {
			note(f.Source, f.Rule)
		}
	}
	for i, f := range found {
		if !f.Follows {
			continue
		}
		rank, is := worst[f.Source]
		explained := is && causes[rank] != f.Rule
		recovers := now.Sub(overAt[f.Source]) < f.Recovers
		found[i].Lingers = f.Lingers || explained || recovers
	}
}

func findStopped(_ time.Time, s SourceFacts) []Finding {
	var out []Finding
	if s.Stopped {
		out = append(out, stoppedFinding(s.Code, s.StoppedAt, s.StoppedBy))
	}
	for _, e := range s.StoppedEndpoints {
		out = append(out, stoppedFinding(e.Name, e.At, e.By))
	}
	for i := range out {
		out[i].Next = fmt.Sprintf("patra source check %s, then patra source resume %s --reason TEXT", s.Code, out[i].Subject)
	}
	return out
}

// stoppedFinding tells of a source, or an endpoint of it, that is stopped.
func stoppedFinding(what string, at time.Time, by string) Finding {
	return Finding{
		Subject: what, Since: at, Measured: "stopped", Threshold: "not stopped",
		Text: fmt.Sprintf("%s is stopped until a person has looked at it: %s", what, by),
	}
}

func findOut(now time.Time, s SourceFacts) []Finding {
	o := s.Outage
	if o == nil || s.Stopped {
		return nil
	}
	return []Finding{{
		Subject: s.Code, Since: o.Since, Lingers: !o.Lasts(),
		Measured:  fmt.Sprintf("failed %s in %s", inARow(o.Count), now.Sub(o.Since).Round(time.Second)),
		Threshold: "30s without an answer",
		Text:      fmt.Sprintf("%s does not answer as it should: %s, failed %s: %s", s.Code, o.Code, inARow(o.Count), o.Text),
		Next:      fmt.Sprintf("patra status %s; patra asks again by itself", s.Code),
	}}
}

func findStuck(_ time.Time, s SourceFacts) []Finding {
	if s.Stuck == "" || s.Stopped {
		return nil
	}
	return []Finding{{
		Subject: s.Code, Measured: string(s.Stuck), Threshold: "what is begun is finished",
		Text: fmt.Sprintf("%s answers, but not so that what is asked for can be finished: %s: %s", s.Code, s.Stuck, s.StuckBy),
		Next: fmt.Sprintf("patra explain %s; patra status %s", s.Stuck, s.Code),
	}}
}

func findNotPlanned(_ time.Time, s SourceFacts) []Finding {
	if s.FailedTrigger == "" || s.Held {
		return nil
	}
	return []Finding{{
		Subject: s.Code, Since: s.TriggeredAt, Measured: "the last trigger failed", Threshold: "none fails",
		Text: fmt.Sprintf("nothing of %s could be planned: %s", s.Code, s.FailedTrigger),
		Next: fmt.Sprintf("patra source check %s", s.Code),
	}}
}

// findLate finds the schedules that are behind. That one was late is not over because
// its source, or the endpoint it goes through, is held; it is only no news.
func findLate(_ time.Time, s SourceFacts) (out []Finding) {
	for _, l := range s.Lines {
		if !l.Late {
			continue
		}
		text := fmt.Sprintf("schedule %s of %s is %s behind, its limit is %s", l.Schedule, s.Code, l.Lag.Round(time.Second), l.Limit)
		if !l.LateSince.IsZero() {
			text += ", late since " + stamp(l.LateSince)
		}
		if !l.ProvenTo.IsZero() {
			text += "; its cursor stands at " + stamp(l.ProvenTo)
		}
		out = append(out, Finding{
			Subject: l.Schedule, Lingers: l.CatchingUp || s.Held || l.Held, Text: text,
			Measured: l.Lag.Round(time.Second).String(), Threshold: l.Limit.String(), Next: fmt.Sprintf("patra status %s", s.Code),
		})
	}
	return out
}

func findErrors(_ time.Time, s SourceFacts) (out []Finding) {
	for _, t := range s.Traffic {
		share := ratio(t.Failed, t.Pages)
		if t.Pages < leastPages || share <= mostErrors {
			continue
		}
		out = append(out, Finding{
			Subject: s.Code + "/" + string(t.Operation), Measured: percent(share), Threshold: percent(mostErrors),
			Text: fmt.Sprintf("%d of the last %s of %s %s failed", t.Failed, count(t.Pages, "page"), s.Code, t.Operation),
			Next: fmt.Sprintf("patra status %s; patra plan gaps %s", s.Code, s.Code),
		})
	}
	return out
}

func findThrottled(_ time.Time, s SourceFacts) (out []Finding) {
	for _, t := range s.Traffic {
		share := ratio(t.Throttled, t.Pages)
		if t.Pages < leastPages || share <= mostThrottled {
			continue
		}
		out = append(out, Finding{
			Subject: s.Code + "/" + string(t.Operation), Measured: percent(share), Threshold: percent(mostThrottled),
			Text: fmt.Sprintf("%s asked for fewer requests %d times in the last %s of %s; patra asks less by itself", s.Code, t.Throttled,
				count(t.Pages, "page"), t.Operation),
			Next: fmt.Sprintf("is its rate limit declared as the source has it? patra source show %s", s.Code),
		})
	}
	return out
}

func findSpoilt(_ time.Time, s SourceFacts) (out []Finding) {
	for _, t := range s.Traffic {
		share := ratio(t.Aside, t.Items)
		if t.Items < leastItems || share <= mostSpoilt {
			continue
		}
		out = append(out, Finding{
			Subject: s.Code + "/" + string(t.Operation), Measured: percent(share), Threshold: percent(mostSpoilt),
			Text: fmt.Sprintf("%d of the last %s of %s %s could not be read, or did not come, and are put aside", t.Aside,
				count(t.Items, "item"), s.Code, t.Operation),
			Next: fmt.Sprintf("patra quarantine list --source %s", s.Code),
		})
	}
	return out
}

func findLost(_ time.Time, s SourceFacts) (out []Finding) {
	for _, t := range s.Traffic {
		if t.Lost < mostLost {
			continue
		}
		out = append(out, Finding{
			Subject: s.Code + "/" + string(t.Operation), Measured: count(t.Lost, "page"),
			Threshold: fmt.Sprintf("fewer than %d in %s", mostLost, TrafficOver),
			Text:      fmt.Sprintf("workers on %s %s died or lost their lease with %s in hand", s.Code, t.Operation, count(t.Lost, "page")),
			Next:      "are processes killed, or is the database slow? their logs say so; other workers go on",
		})
	}
	return out
}

func findGaps(_ time.Time, s SourceFacts) []Finding {
	if s.Gaps == 0 {
		return nil
	}
	n := count(s.Gaps, "window")
	if s.GapsMore {
		n = fmt.Sprintf("%d+ windows", s.Gaps)
	}
	text := fmt.Sprintf("%s of %s left unread", n, s.Code)
	if s.OldestGap != "" {
		text += fmt.Sprintf(", the oldest %s: %s", s.OldestGap, s.GapWhy)
	}
	return []Finding{{
		Subject: s.Code, Measured: n, Threshold: "none", Text: text,
		Next: fmt.Sprintf("patra plan gaps %s", s.Code),
	}}
}

func findSurge(_ time.Time, s SourceFacts) (out []Finding) {
	for _, q := range s.Queues {
		limit := q.Mean + max(deviations*q.Deviation, leastSurge)
		if q.Looks < leastLooks || float64(q.Waiting) <= limit {
			continue
		}
		waiting := count(q.Waiting, "task")
		if q.More {
			waiting = fmt.Sprintf("%d+ tasks", q.Waiting)
		}
		out = append(out, Finding{
			Subject: s.Code + "/" + string(q.Operation), Measured: waiting, Threshold: fmt.Sprintf("%.0f", limit),
			Text: fmt.Sprintf("%s of %s %s wait; over the last day it were %.0f, give or take %.0f", waiting, s.Code, q.Operation,
				q.Mean, q.Deviation),
			Next: fmt.Sprintf("patra status %s; patra plan list --source %s", s.Code, s.Code),
		})
	}
	return out
}

func findUntaken(now time.Time, s SourceFacts) []Finding {
	if s.Untaken == 0 || now.Sub(s.UntakenSince) <= untakenFor {
		return nil
	}
	idle := now.Sub(s.UntakenSince).Round(time.Second)
	return []Finding{{
		Subject: s.Code, Since: s.UntakenSince, Measured: idle.String(), Threshold: untakenFor.String(),
		Text: fmt.Sprintf("%s of %s could be worked on for %s, and nobody takes them", count(s.Untaken, "task"), s.Code, idle),
		Next: "patra serve executor",
	}}
}

func findQuota(_ time.Time, s SourceFacts) (out []Finding) {
	for _, q := range s.Quotas {
		least := q.Reserve
		if q.Limit <= 0 || ratio(q.Left, q.Limit) >= least && q.Left > 0 {
			continue
		}
		waits := "; patra waits by itself when they are used up"
		if least > 0 {
			waits = ", which are kept for HARVEST: what can wait does" + waits
		}
		out = append(out, Finding{
			Subject: s.Code + " per " + q.Window, Measured: percent(ratio(q.Left, q.Limit)), Threshold: percent(least),
			Text: fmt.Sprintf("%d of the %d requests that %s allows per %s are left%s", q.Left,
				q.Limit, s.Code, q.Window, waits),
			Next: fmt.Sprintf("patra status %s", s.Code),
		})
	}
	return out
}

func findRivals(_ time.Time, s SourceFacts) (out []Finding) {
	for _, r := range s.Rivals {
		out = append(out, Finding{
			Subject: s.Code + " " + r.Dimension, Measured: "several rows", Threshold: "one row",
			Text: fmt.Sprintf("several rows of the %s of %s are in force: %s", r.Dimension, s.Code, r.Why),
			Next: fmt.Sprintf("patra source show %s", s.Code),
		})
	}
	return out
}

func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func inARow(times int) string {
	if times == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", times)
}

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
