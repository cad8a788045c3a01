package sqlstore_test

import (
	"errors"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// endpointPaused: of an endpoint that is paused no task is leased, and nothing is stored
// under a lease that was had before; what goes through another goes on.
func endpointPaused(l *Lab) {
	l.Plan(0, 2)
	d := Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "act"), 0, 1)
	d.Endpoint = "beside"
	if _, err := l.Store.SavePlan(l.ctx(), d); err != nil {
		l.Fatal(err)
	}
	lease := func(most int) []harvest.Job {
		l.Helper()
		jobs, err := l.Store.LeaseTasks(l.ctx(), harvest.LeaseRequest{Owner: "lab", TTL: ttl, Max: most, SpecVersion: 1})
		if err != nil {
			l.Fatal(err)
		}
		return jobs
	}
	had := l.LeaseOne()
	l.Start(had)
	at := had.Partition().EndpointOf()
	hold := func(paused bool) {
		l.Helper()
		if err := l.Store.HoldEndpoint(l.ctx(), at, paused, source.Audit{Actor: "lab", Action: "ENDPOINT_PAUSE", Object: "endpoint/" + at.String(), Reason: "slow"}); err != nil {
			l.Fatal(err)
		}
	}
	hold(true)
	if err := l.Store.RenewLease(l.ctx(), had.Lease); !errors.Is(err, harvest.ErrHeld) {
		l.Errorf("a lease of a paused endpoint is renewed: %v", err)
	}
	st, err := l.Store.EndpointState(l.ctx(), at)
	if err != nil || !st.Paused || st.Reason != "slow" {
		l.Errorf("%+v, %v", st, err)
	}
	for _, j := range lease(9) {
		if j.Endpoint == at.Endpoint {
			l.Errorf("a task through %s was leased", at)
		}
	}
	hold(false)
	if err := l.Store.RenewLease(l.ctx(), had.Lease); err != nil {
		l.Errorf("after it was resumed: %v", err)
	}
	if paused, err := l.Store.HeldEndpoints(l.ctx()); err != nil || len(paused) != 0 {
		l.Errorf("%v, %v", paused, err)
	}
}

// endpointStopped: a fatal fault stops the endpoint it was met at where the source has
// others, and the whole source where it has not or where the fault is of what they share.
// Of a stopped endpoint nothing is leased, nor stored under a lease that was had before,
// until it is resumed; a pause on top of it ends with it.
func endpointStopped(l *Lab) {
	l.Plan(0, 2)
	had := l.LeaseOne()
	l.Start(had)
	p := had.Partition()
	sourceStopped := func() bool {
		l.Helper()
		st, err := l.Store.SourceState(l.ctx(), prov)
		if err != nil {
			l.Fatal(err)
		}
		return st.Stopped
	}
	stop := func(code harvest.Code) {
		l.Helper()
		if err := l.Store.StopSource(l.ctx(), p, code, "said the upstream"); err != nil {
			l.Fatal(err)
		}
	}
	resume := func() {
		l.Helper()
		if err := l.Store.HoldSource(l.ctx(), prov, false, false, ""); err != nil {
			l.Fatal(err)
		}
		l.holdEndpoint(p.EndpointOf(), false)
	}
	stop(harvest.CodeSchemaDrift)
	if !sourceStopped() {
		l.Error("a source with one endpoint goes on after a fatal fault")
	}
	resume()

	d := Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "act"), 0, 1)
	d.Endpoint = "beside"
	if _, err := l.Store.SavePlan(l.ctx(), d); err != nil {
		l.Fatal(err)
	}
	stop(harvest.CodeAuthRefused)
	if !sourceStopped() {
		l.Error("a refused credential, which all endpoints have, does not stop the source")
	}
	resume()
	stop(harvest.CodeSchemaDrift)
	if sourceStopped() {
		l.Error("the fault of one endpoint stops the other")
	}
	st, err := l.Store.EndpointState(l.ctx(), p.EndpointOf())
	if err != nil || !st.Stopped || st.Paused || st.Reason != string(harvest.CodeSchemaDrift)+": said the upstream" {
		l.Errorf("%+v, %v", st, err)
	}
	if err := l.Store.RenewLease(l.ctx(), had.Lease); !errors.Is(err, harvest.ErrHeld) {
		l.Errorf("a lease of a stopped endpoint is renewed: %v", err)
	}
	jobs, err := l.Store.LeaseTasks(l.ctx(), harvest.LeaseRequest{Owner: "lab", TTL: ttl, Max: 9, SpecVersion: 1})
	if err != nil || len(jobs) != 1 || jobs[0].Endpoint != "beside" {
		l.Errorf("%d tasks were leased of a source with one endpoint stopped, %v", len(jobs), err)
	}
	l.holdEndpoint(p.EndpointOf(), true)
	st, err = l.Store.EndpointState(l.ctx(), p.EndpointOf())
	if err != nil || !st.Stopped || !st.Paused {
		l.Errorf("paused on top of it: %+v, %v", st, err)
	}
	l.holdEndpoint(p.EndpointOf(), false)
	if held, err := l.Store.HeldEndpoints(l.ctx()); err != nil || len(held) != 0 {
		l.Errorf("%v, %v", held, err)
	}
	if err := l.Store.RenewLease(l.ctx(), had.Lease); err != nil {
		l.Errorf("after it was resumed: %v", err)
	}
}

func (l *Lab) holdEndpoint(at harvest.EndpointOf, paused bool) {
	l.Helper()
	err := l.Store.HoldEndpoint(l.ctx(), at, paused, source.Audit{Actor: "lab", Action: "ENDPOINT_PAUSE", Object: "endpoint/" + at.String(), Reason: "slow"})
	if err != nil {
		l.Fatal(err)
	}
}

// endpointHeldInStatus: what is queued for an endpoint that is paused or stopped by itself
// counts neither as ready nor as what is due next, however much of it there is; the
// endpoint is told, and what goes through the others beside it counts as ever.
func endpointHeldInStatus(l *Lab) {
	through := func(name string, from, to int) {
		l.Helper()
		d := Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", name), from, to)
		d.Endpoint = name
		if _, err := l.Store.SavePlan(l.ctx(), d); err != nil {
			l.Fatal(err)
		}
	}
	facts := func() control.SourceFacts {
		l.Helper()
		all, err := l.Store.SourceFacts(l.ctx(), []string{prov, "another"})
		if err != nil {
			l.Fatal(err)
		}
		if f := all["another"]; len(f.HeldEndpoints) != 0 || f.Ready.Count != 0 {
			l.Errorf("another source: %+v", f)
		}
		return all[prov]
	}
	through("b", 0, 2)
	through("d", 0, 3)
	l.Due()
	l.Exec(`UPDATE ing_task SET scheduled_at='2000-01-02 00:00:00.000000' WHERE endpoint_name='d'`)
	held := harvest.EndpointOf{Provenance: prov, Endpoint: "b"}
	if f := facts(); f.Ready.Count != 5 || len(f.HeldEndpoints) != 0 {
		l.Errorf("nothing is held: %+v", f)
	}
	l.holdEndpoint(held, true)
	f := facts()
	if f.Queued.Count != 5 || f.Ready.Count != 3 || f.ReadySince.Day() != 2 {
		l.Errorf("%s is paused: %+v", held, f)
	}
	if len(f.HeldEndpoints) != 1 || f.HeldEndpoints[0].EndpointOf != held || !f.HeldEndpoints[0].Paused || f.HeldEndpoints[0].Reason != "slow" {
		l.Errorf("held are %+v", f.HeldEndpoints)
	}
	through("a", 0, 1)
	through("c", 0, 1)
	l.Exec(`UPDATE ing_task SET scheduled_at='2000-01-02 00:00:00.000000' WHERE endpoint_name IN ('a','c')`)
	if f := facts(); f.Ready.Count != 5 {
		l.Errorf("%d are ready before, between and after what is held", f.Ready.Count)
	}
	l.Exec(`UPDATE ing_task SET scheduled_at='2999-01-01 00:00:00.000000' WHERE endpoint_name IN ('a','c')`)
	if err := l.Store.StopSource(l.ctx(), harvest.Partition{Provenance: prov, Endpoint: "d", Operation: harvest.Backfill}, harvest.CodeSchemaDrift, "no"); err != nil {
		l.Fatal(err)
	}
	f = facts()
	if f.Ready.Count != 0 || !f.ReadySince.IsZero() || f.NextAt.Year() != 2999 {
		l.Errorf("what is not held is due later: %+v", f)
	}
	if len(f.HeldEndpoints) != 2 || f.HeldEndpoints[0].Endpoint != "b" || f.HeldEndpoints[1].Endpoint != "d" || !f.HeldEndpoints[1].Stopped {
		l.Errorf("held are %+v", f.HeldEndpoints)
	}
	l.Exec(`DELETE FROM ing_task WHERE endpoint_name IN ('a','c')`)
	if f := facts(); f.Queued.Count != 5 || f.Ready.Count != 0 || !f.NextAt.IsZero() {
		l.Errorf("all is held: %+v", f)
	}
}
