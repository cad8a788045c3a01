package harvest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/papertrace/patra/internal/domain/harvest"
)

func TestR31_MissIsDecidedByTwoChecksADayApart(t *testing.T) {
	at := time.Date(2026, 5, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name     string
		status   harvest.RecordStatus
		observed time.Duration // before the check
		since    time.Duration // before the check, 0 for never
		want     harvest.Absence
	}{
		{"first", harvest.RecordActive, time.Hour, 0, harvest.AbsentOnce},
		{"a moment short", harvest.RecordActive, 48 * time.Hour, 24*time.Hour - time.Microsecond, harvest.AbsentOnce},
		{"a day", harvest.RecordActive, 48 * time.Hour, 24 * time.Hour, harvest.AbsentGone},
		{"retracted", harvest.RecordRetracted, 48 * time.Hour, 25 * time.Hour, harvest.AbsentGone},
		{"seen after the check", harvest.RecordActive, -time.Second, 25 * time.Hour, harvest.AbsentStale},
		{"gone before", harvest.RecordGone, time.Hour, 25 * time.Hour, harvest.AbsentKnown},
		{"merged before", harvest.RecordMerged, time.Hour, 25 * time.Hour, harvest.AbsentKnown},
	} {
		stored := harvest.StoredRecord{Status: c.status, Version: harvest.Version{ObservedAt: at.Add(-c.observed)}}
		var since time.Time
		if c.since != 0 {
			since = at.Add(-c.since)
		}
		if got := harvest.JudgeAbsence(stored, since, at); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestRecord_SignalsAreWhatItSaysAboutOthers(t *testing.T) {
	for fields, want := range map[string][]harvest.Signal{
		`{"title":"a"}`:                               nil,
		`{"title":"it \"retracts\" nothing"}`:         nil,
		`{"title":"\"retracts\"","retracts":""}`:      nil,
		`{"retracts":"7"}`:                            {{From: "1", Target: "7", Kind: harvest.SignalRetraction}},
		`{"retracts":"7","corrects":"8","title":"b"}`: {{From: "1", Target: "7", Kind: harvest.SignalRetraction}, {From: "1", Target: "8", Kind: harvest.SignalCorrection}},
		`{"corrects":`:                                nil,
	} {
		r := harvest.Record{ID: "1", Fields: []byte(fields)}
		if diff := cmp.Diff(want, r.Signals()); diff != "" {
			t.Errorf("%s:\n%s", fields, diff)
		}
	}
}
