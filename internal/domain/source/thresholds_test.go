package source_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// thresholdsOf are the thresholds of a description for an operation, by their keys.
func thresholdsOf(t *testing.T, d *source.Definition, op harvest.Operation) map[string]source.Threshold {
	t.Helper()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	whole := source.Contents{Provenance: d.Provenance(), Rows: d.Rows(from)}
	at, choices := whole.At(op, from.Add(time.Hour))
	spec, _, err := source.Compile(at, source.Trigger{Operation: op})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]source.Threshold{}
	for _, one := range source.Thresholds(spec, choices) {
		if _, twice := out[one.Key]; twice {
			t.Errorf("%s is there twice", one.Key)
		}
		out[one.Key] = one
	}
	return out
}

// TestR69_EveryThresholdHasAnOrigin: each shows what it is and who said so: the platform
// where no row says it, else the row of the source, or that of the operation.
func TestR69_EveryThresholdHasAnOrigin(t *testing.T) {
	bare := def()
	bare.Retry = nil
	bare.RateLimit.Quotas = []source.QuotaConfig{{Limit: 100, Window: sec(86400)}}
	platform := map[string]string{
		"cuts.pagesSoft": "1000", "cuts.pagesHard": "2000", "cuts.pageBytes": "5000000", "cuts.throttled": "5", "cuts.throttledWithin": "5m0s",
		"cuts.failedPercent": "5", "cuts.failedOver": "50", "cuts.retryAfterSum": "30m0s", "cuts.walkTime": "6h0m0s", "cuts.overEstimate": "10",
		"cuts.slowPage": "3s", "retry.maxAttempts": "5", "retry.base": "100ms", "retry.factor": "2", "retry.max": "30s", "retry.jitter": "20%",
		"retry.breakAfter": "3", "retry.breakRest": "1m0s", "retry.breakMost": "30m0s",
		"rateLimit.adapt.outcomes": "20", "rateLimit.adapt.cutAt": "0.25", "rateLimit.adapt.holdAt": "0.1", "rateLimit.adapt.factor": "0.5",
		"rateLimit.adapt.step": "0.1", "rateLimit.adapt.floor": "0.1", "rateLimit.adapt.coolDown": "10s", "rateLimit.adapt.warmUp": "0s", "rateLimit.quotaReserve": "10%",
		"window.lagLeast": "5m0s", "window.lagMost": "1h0m0s", "window.maxRequests": "100000", "window.maxRecords": "10000000",
		"window.maxDuration": "24h0m0s", "window.priority": "100", "window.maxOpen": "10000",
	}
	got := thresholdsOf(t, bare, harvest.Harvest)
	for key, value := range platform {
		if want := (source.Threshold{Key: key, Value: value, Origin: "platform"}); got[key] != want {
			t.Errorf("%+v, want %+v", got[key], want)
		}
	}
	if len(got) != len(platform) {
		t.Errorf("%d thresholds are shown, %d are known", len(got), len(platform))
	}
	if n := thresholdsOf(t, bare, harvest.Backfill)["window.priority"].Value; n != "300" {
		t.Errorf("the tasks of a BACKFILL have the priority %s", n)
	}

	own := def()
	own.Cuts = &source.Cuts{
		PagesSoft: 7, PagesHard: 8, PageBytes: 9, Throttled: 2, ThrottledWithin: sec(60), FailedPercent: 6, FailedOver: 4,
		RetryAfterSum: sec(5), WalkTime: sec(6), OverEstimate: 3, SlowPage: sec(4),
	}
	own.Retry = &source.Retry{
		Attempts: 2, Base: sec(1), Max: sec(3), Factor: 3, Jitter: 5, BreakAfter: 4, BreakRest: sec(7), BreakMost: sec(9),
	}
	own.RateLimit.Adapt = &source.AdaptConfig{Outcomes: 30, CutAt: 0.5, HoldAt: 0.2, Factor: 0.6, Step: 0.3, Floor: 0.4, CoolDown: sec(8), WarmUp: sec(120)}
	own.RateLimit.Quotas = bare.RateLimit.Quotas
	own.RateLimit.QuotaReserve = new(30)
	own.Window.LagLeast = sec(60)
	own.Window.LagMost = sec(120)
	own.Window.MaxRequests = 10
	own.Window.MaxRecords = 11
	own.Window.MaxDuration = sec(12)
	own.Window.Priority = 50
	own.Window.MaxOpen = 13
	own.Tasks = map[harvest.Operation]*source.Overrides{harvest.Backfill: {Retry: &source.Retry{BreakAfter: 9}}}
	changed := thresholdsOf(t, own, harvest.Harvest)
	for key := range platform {
		if is := changed[key]; is.Origin != "SOURCE" || is.Value == platform[key] {
			t.Errorf("%+v, though the source says it", is)
		}
	}
	of := thresholdsOf(t, own, harvest.Backfill)
	if is := of["retry.breakAfter"]; is.Value != "9" || is.Origin != "TASK" {
		t.Errorf("of BACKFILL alone: %+v", is)
	}
	if is := of["retry.breakRest"]; is.Origin != "platform" {
		t.Errorf("what the row of the operation leaves out: %+v", is)
	}
	if is := of["cuts.pagesSoft"]; is.Value != "7" || is.Origin != "SOURCE" {
		t.Errorf("where the operation has no row: %+v", is)
	}
	if pace.DefaultAdapt().Outcomes != 20 {
		t.Error("the platform looks at other outcomes than it shows")
	}
}
