package sqlstore_test

import (
	"github.com/papertrace/patra/internal/domain/harvest"
)

// onlooker counts what a store says it has committed.
type onlooker struct {
	moves map[harvest.Direction]int
	rests int
}

func (o *onlooker) CursorMoved(d harvest.Direction) { o.moves[d]++ }

func (o *onlooker) PartitionRests(harvest.Partition) { o.rests++ }

// levelsOfTheStore: who looks on sees the tasks that wait, the cursors that a scheduler
// asks for, the partitions that rest and the sources that are held, and hears of each
// move of a cursor once.
func levelsOfTheStore(l *Lab) {
	seen := &onlooker{moves: map[harvest.Direction]int{}}
	l.Store.Observe(seen)
	l.Plan(0, 5)
	l.Due()
	levels, err := l.Store.Levels(l.ctx())
	if err != nil || len(levels.Queued) != 1 || levels.Queued[0].Tasks != 5 || levels.Queued[0].Provenance != prov {
		l.Fatalf("%+v: %v", levels, err)
	}
	if len(levels.Cursors) != 0 {
		l.Errorf("nobody schedules it, yet it is behind: %+v", levels.Cursors)
	}
	l.Exec(`UPDATE ing_schedule_instance SET scheduler_code='cron', scheduler_job_id='job', scheduler_log_id='1'`)
	l.Walk(l.LeaseOne())
	for range harvest.DefaultBreaker().After {
		l.spend(harvest.Harvest)
	}
	if err := l.Store.StopSource(l.ctx(), harvest.Partition{Provenance: prov}, "http_401", "to see it"); err != nil {
		l.Fatal(err)
	}
	levels, err = l.Store.Levels(l.ctx())
	if err != nil {
		l.Fatal(err)
	}
	if len(levels.Cursors) != 1 || levels.Cursors[0].Behind <= 0 || levels.Cursors[0].Endpoint == "" || levels.Cursors[0].Scope != harvest.ScopeExpr {
		l.Errorf("cursors %+v", levels.Cursors)
	}
	if len(levels.Resting) != 1 || len(levels.Held) != 1 || levels.Held[0] != (harvest.EndpointOf{Provenance: prov}) {
		l.Errorf("resting %+v, held %v", levels.Resting, levels.Held)
	}
	if err := l.Store.HoldSource(l.ctx(), prov, false, false, ""); err != nil {
		l.Fatal(err)
	}
	beside := harvest.EndpointOf{Provenance: prov, Endpoint: "beside"}
	l.holdEndpoint(beside, true)
	levels, err = l.Store.Levels(l.ctx())
	if err != nil || len(levels.Held) != 1 || levels.Held[0] != beside {
		l.Errorf("one endpoint is paused, and held are %v, %v", levels.Held, err)
	}
	if seen.moves[harvest.Forward] != 1 || seen.rests != 1 {
		l.Errorf("told of %v moves and %d rests", seen.moves, seen.rests)
	}
}
