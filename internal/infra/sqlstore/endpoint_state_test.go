package sqlstore_test

import (
	"errors"

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
	if paused, err := l.Store.PausedEndpoints(l.ctx()); err != nil || len(paused) != 0 {
		l.Errorf("%v, %v", paused, err)
	}
}
