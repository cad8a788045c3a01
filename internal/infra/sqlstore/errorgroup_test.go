package sqlstore_test

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// errorGroups reads every error group, the one last seen first.
func (l *Lab) errorGroups() []control.ErrorGroup {
	l.Helper()
	groups, err := l.Store.ErrorGroups(l.ctx(), control.ErrorPage{Limit: 100})
	if err != nil {
		l.Fatal(err)
	}
	return groups
}

// onlyGroup is the one error group there is.
func (l *Lab) onlyGroup() control.ErrorGroup {
	l.Helper()
	groups := l.errorGroups()
	if len(groups) != 1 {
		l.Fatalf("%d error groups: %+v", len(groups), groups)
	}
	return groups[0]
}

// faultsAreGrouped: every way in which something goes wrong is counted with its group
// in the transaction that it leads to, and says what was done about it. What only
// waits, or was given back, is no fault.
func faultsAreGrouped(l *Lab) {
	type want struct {
		level  harvest.Level
		code   harvest.Code
		remedy harvest.Remedy
	}
	end := func(outcome harvest.RunOutcome, code harvest.Code) func(harvest.Job, harvest.Resume, harvest.OpenedBatch) {
		return func(j harvest.Job, r harvest.Resume, o harvest.OpenedBatch) {
			l.endWith(j, harvest.RunEnd{Run: r.Run, Outcome: outcome, Code: code, Page: &harvest.FailedPage{Batch: o.ID, Asked: true}})
		}
	}
	for _, c := range []struct {
		name string
		do   func(harvest.Job, harvest.Resume, harvest.OpenedBatch)
		want *want
	}{
		{"spent", end(harvest.Spent, "http_503"), &want{harvest.Transient, "http_503", harvest.QueuedAgain}},
		{"refused", end(harvest.Refused, "http_400"), &want{harvest.Rejected, "http_400", harvest.LeftGap}},
		{"stopped", end(harvest.Stopped, harvest.CodeSchemaDrift), &want{harvest.Fatal, harvest.CodeSchemaDrift, harvest.SourceStopped}},
		{"given back", end(harvest.Released, harvest.CodeRate), nil},
		{"shut down", end(harvest.Released, harvest.CodeShutdown), nil},
		{"walked again", func(j harvest.Job, _ harvest.Resume, o harvest.OpenedBatch) {
			page := &harvest.FailedPage{Batch: o.ID, Asked: true, Cause: harvest.Fault{Code: harvest.CodeTokenExpired}}
			if _, _, err := l.Store.NewWalk(l.ctx(), j.Lease, harvest.CodeTokenExpired, true, page); err != nil {
				l.Fatal(err)
			}
		}, &want{harvest.Transient, harvest.CodeTokenExpired, harvest.WalkedAgain}},
		{"walked once more to be sure", func(j harvest.Job, _ harvest.Resume, _ harvest.OpenedBatch) {
			if _, _, err := l.Store.NewWalk(l.ctx(), j.Lease, harvest.CodeUnconfirmed, false, nil); err != nil {
				l.Fatal(err)
			}
		}, nil},
		{"cut", func(j harvest.Job, r harvest.Resume, o harvest.OpenedBatch) {
			w := j.Spec.NominalWindow()
			mid := w.From.Add(w.Duration() / 2)
			end := harvest.RunEnd{Run: r.Run, Outcome: harvest.Refused, Code: harvest.CodeOverWall, Page: &harvest.FailedPage{Batch: o.ID, Asked: true}}
			if err := l.Store.Reslice(l.ctx(), j, end, []harvest.SliceDraft{child(w.From, mid), child(mid, w.To)}, "TOKEN", pageSize); err != nil {
				l.Fatal(err)
			}
		}, &want{harvest.Rejected, harvest.CodeOverWall, harvest.CutSmaller}},
		{"died", func(j harvest.Job, _ harvest.Resume, _ harvest.OpenedBatch) {
			l.Expire(j.Lease.Task)
			l.Start(l.LeaseOne())
		}, &want{harvest.Transient, harvest.CodeAbandoned, harvest.QueuedAgain}},
		{"a bad item", func(j harvest.Job, _ harvest.Resume, o harvest.OpenedBatch) {
			b := Last(o)
			b.Quarantined = []harvest.Quarantined{badItem("a", harvest.ProblemMissingField, "title")}
			l.Commit(j, b)
		}, &want{harvest.Corrupt, harvest.ProblemMissingField, harvest.PutAside}},
		{"an id without details", func(j harvest.Job, _ harvest.Resume, o harvest.OpenedBatch) {
			b := Last(o)
			b.Missing = []string{"a"}
			l.Commit(j, b)
		}, &want{harvest.Corrupt, harvest.ProblemNoDetails, harvest.PutAside}},
		{"a good page", func(j harvest.Job, _ harvest.Resume, o harvest.OpenedBatch) { l.Commit(j, Last(o)) }, nil},
		{"cancelled", func(j harvest.Job, _ harvest.Resume, _ harvest.OpenedBatch) {
			l.Cancel(control.CancelScope{Slice: j.Slice})
		}, nil},
		{"a count refused outside of a task", func(harvest.Job, harvest.Resume, harvest.OpenedBatch) {
			if err := l.Store.CountRefusal(l.ctx(), labPartition, "http_400", "no"); err != nil {
				l.Fatal(err)
			}
		}, &want{harvest.Rejected, "http_400", ""}},
		{"a count throttled outside of a task", func(harvest.Job, harvest.Resume, harvest.OpenedBatch) {
			if err := l.Store.CountRefusal(l.ctx(), labPartition, harvest.HTTPCode(429), "slower"); err != nil {
				l.Fatal(err)
			}
		}, &want{harvest.Transient, "http_429", ""}},
		{"a fatal answer outside of a task", func(harvest.Job, harvest.Resume, harvest.OpenedBatch) {
			if err := l.Store.StopSource(l.ctx(), labPartition, "http_401", "who?"); err != nil {
				l.Fatal(err)
			}
		}, &want{harvest.Fatal, "http_401", harvest.SourceStopped}},
	} {
		Clear(l, l.DB, l.tables)
		l.Plan(0, 1)
		j := l.LeaseOne()
		r := l.Start(j)
		c.do(j, r, l.Open(j, r))
		if c.want == nil {
			if groups := l.errorGroups(); len(groups) != 0 {
				l.Errorf("%s is counted as a fault: %+v", c.name, groups)
			}
			continue
		}
		g := l.onlyGroup()
		did := harvest.Remedy("")
		if len(g.Healing) == 1 {
			did = g.Healing[0].Did
		}
		if g.Source != prov || g.Endpoint != endpoint || g.Level != c.want.level || g.Code != c.want.code || did != c.want.remedy || g.Count != 1 {
			l.Errorf("%s: %+v, want %+v", c.name, g, *c.want)
		}
	}
}

var labPartition = harvest.Partition{Provenance: prov, Endpoint: endpoint, Operation: harvest.Harvest}

func badItem(id string, code harvest.Code, path string) harvest.Quarantined {
	raw := []byte(`{"id":"` + id + `","path":"` + path + `"}`)
	return harvest.Quarantined{ID: id, Problem: harvest.Problem{Code: code, Path: path, Detail: "nothing there"}, Raw: raw, RawSHA256: sha256.Sum256(raw)}
}

// manyFailuresAreOneRow: pages that fail alike are one group with a count, its sample
// is the newest, and the hours add up to it. Other places in an item are other groups.
func manyFailuresAreOneRow(l *Lab) {
	const times = 40
	down := labPartition
	down.Operation = harvest.Backfill // so that the partition of the plan below does not rest
	for i := range times {
		if err := l.Store.CountFailure(l.ctx(), down, harvest.BreakerLimits{}, "http_503", fmt.Sprint("said ", i)); err != nil {
			l.Fatal(err)
		}
	}
	g := l.onlyGroup()
	if g.Count != times || g.Sample != fmt.Sprint("said ", times-1) || time.Time(g.Last).Before(time.Time(g.First)) {
		l.Errorf("%+v", g)
	}
	if n := l.Int(`SELECT SUM(faults) FROM ing_error_hour WHERE group_id=?`, g.ID); n != times {
		l.Errorf("by the hour there are %d", n)
	}
	now := time.Time(g.Last).Add(time.Second)
	top, err := l.Store.TopErrors(l.ctx(), control.TopQuery{From: now.Add(-time.Hour), To: now, Level: harvest.Transient, Limit: 10})
	if err != nil || len(top) != 1 || top[0].Count != times || top[0].Operation != harvest.Backfill || top[0].Group != g.ID {
		l.Errorf("%+v %v", top, err)
	}
	for _, q := range []control.TopQuery{
		{From: now.Add(-48 * time.Hour), To: now.Add(-24 * time.Hour), Limit: 10},
		{From: now.Add(-time.Hour), To: now, Operation: harvest.Update, Limit: 10},
		{From: now.Add(-time.Hour), To: now, Level: harvest.Fatal, Limit: 10},
		{From: now.Add(-time.Hour), To: now, Source: "another", Limit: 10},
	} {
		if top, err := l.Store.TopErrors(l.ctx(), q); err != nil || len(top) != 0 {
			l.Errorf("%+v: %+v %v", q, top, err)
		}
	}
	l.Plan(0, 1)
	j := l.LeaseOne()
	b := Last(l.Open(j, l.Start(j)))
	b.Quarantined = []harvest.Quarantined{
		badItem("a", harvest.ProblemMissingField, "title"), badItem("b", harvest.ProblemMissingField, "title"), badItem("c", harvest.ProblemMissingField, "doi"),
	}
	l.Commit(j, b)
	counts := map[string]int64{}
	for _, g := range l.errorGroups() {
		counts[g.Path] = g.Count
	}
	if len(counts) != 3 || counts["title"] != 2 || counts["doi"] != 1 || counts[""] != times {
		l.Errorf("by place: %v", counts)
	}
	// One page after the other lists each group once.
	seen := map[int64]bool{}
	p := control.ErrorPage{Limit: 1}
	for range 4 {
		page, err := l.Store.ErrorGroups(l.ctx(), p)
		if err != nil {
			l.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		seen[page[0].ID] = true
		p.BeforeTime = time.Time(page[0].Last)
		p.BeforeNumber = page[0].ID
	}
	if len(seen) != 3 {
		l.Errorf("%d groups in pages of one", len(seen))
	}
}

// decidedErrors: what people decide about a group stays while faults come, but one
// that was resolved has come back, and a mute ends by itself. Each decision leaves a
// line of the audit.
func decidedErrors(l *Lab) {
	fail := func() control.ErrorGroup {
		if err := l.Store.CountFailure(l.ctx(), labPartition, harvest.BreakerLimits{}, "http_503", "down"); err != nil {
			l.Fatal(err)
		}
		return l.onlyGroup()
	}
	now, err := l.Store.Now(l.ctx())
	if err != nil {
		l.Fatal(err)
	}
	id := fail().ID
	lines := l.Int(`SELECT COUNT(*) FROM sys_audit`)
	for i, c := range []struct {
		decided, then harvest.ErrorState
		until         time.Time
	}{
		{harvest.ErrorAcknowledged, harvest.ErrorAcknowledged, time.Time{}},
		{harvest.ErrorMuted, harvest.ErrorMuted, now.Add(time.Hour)},
		{harvest.ErrorResolved, harvest.ErrorCameBack, time.Time{}},
		{harvest.ErrorAcknowledged, harvest.ErrorAcknowledged, time.Time{}},
	} {
		a := source.Audit{Actor: "me", Action: "ERROR_X", Object: "error/1", Reason: "why not"}
		if err := l.Store.DecideError(l.ctx(), control.ErrorDecision{ID: id, State: c.decided, MutedUntil: c.until}, a); err != nil {
			l.Fatal(err)
		}
		if g := l.onlyGroup(); g.State != c.decided || g.DecidedBy != "me" || g.Reason != "why not" {
			l.Errorf("%+v", g)
		}
		if g := fail(); g.State != c.then {
			l.Errorf("a fault after %s: %s, want %s", c.decided, g.State, c.then)
		}
		if n := l.Int(`SELECT COUNT(*) FROM sys_audit`) - lines; n != int64(i+1) {
			l.Errorf("%d lines of the audit after %d decisions", n, i+1)
		}
	}
	a := source.Audit{Actor: "me", Action: "ERROR_MUTE", Object: "error/1"}
	if err := l.Store.DecideError(l.ctx(), control.ErrorDecision{ID: id, State: harvest.ErrorMuted, MutedUntil: now.Add(time.Hour)}, a); err != nil {
		l.Fatal(err)
	}
	for at, open := range map[time.Time]int{now: 0, now.Add(59 * time.Minute): 0, now.Add(time.Hour): 1} {
		groups, err := l.Store.ErrorGroups(l.ctx(), control.ErrorPage{States: []harvest.ErrorState{harvest.ErrorOpen}, Now: at, Limit: 10})
		if err != nil || len(groups) != open {
			l.Errorf("at %s %d groups are open: %v", at, len(groups), err)
		}
	}
}
