package gate

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestR87_NoiseCostsLittle: of the requests of two processes every fiftieth is
// answered with a server error; the rate is what it was. (How the rule fares over
// hours and with other shares is proven in package pace.)
func TestR87_NoiseCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lasts = 30 * time.Minute
		o := newOracle(pubmed, 100*time.Millisecond)
		dice := rand.New(rand.NewPCG(1, 87))
		o.answer = func() pace.Outcome {
			if dice.Float64() < 0.02 {
				return pace.Outcome{Kind: pace.Unwell}
			}
			return pace.Outcome{Kind: pace.Fine}
		}
		crowd(t, NewLocal(), pubmed, o, 2, 3, lasts)
		o.keptWithin(t)
		used := o.rate(lasts) / pubmed.QPS
		t.Logf("2 %% failed: %.3f of the rate", used)
		if used < 0.95 {
			t.Errorf("2 %% failed: %.3f of the rate is used, want 0.95", used)
		}
	})
}

// TestR87_ADeadUpstreamIsAskedSeldom: ten minutes in which everything fails, for
// whatever reason, and the way back afterwards.
func TestR87_ADeadUpstreamIsAskedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		o := newOracle(pubmed, 100*time.Millisecond)
		dead := func() bool { return time.Since(start) >= 10*time.Minute && time.Since(start) < 20*time.Minute }
		asked, most := 0, 0
		o.answer = func() pace.Outcome {
			if !dead() {
				return pace.Outcome{Kind: pace.Fine}
			}
			asked++
			if asked > 40 {
				most = max(most, o.inFlight)
			}
			return pace.Outcome{Kind: pace.Unwell}
		}
		crowd(t, NewLocal(), pubmed, o, 2, 3, 40*time.Minute)
		o.keptWithin(t)
		late := 0
		for _, at := range o.arrived {
			if at.Sub(start) >= 35*time.Minute {
				late++
			}
		}
		back := float64(late) / (5 * time.Minute).Seconds() / pubmed.QPS
		t.Logf("%d requests in ten dead minutes, %d at once; %.3f of the rate 15 minutes later", asked, most, back)
		if asked >= 120 || most > 1 {
			t.Errorf("%d requests in ten dead minutes, %d at once", asked, most)
		}
		if back < 0.95 {
			t.Errorf("%.3f of the rate 15 minutes after the upstream is back", back)
		}
	})
}

// TestR69_TheGateAsksTheSource: of two sources that always fail, the one that declares a
// higher floor is asked as often as that, with the store and without it.
func TestR69_TheGateAsksTheSource(t *testing.T) {
	const lasts = 10 * time.Minute
	sent := func(adapt *source.AdaptConfig) (n int) {
		synctest.Test(t, func(t *testing.T) {
			r := pubmed
			r.Adapt = adapt
			o := newOracle(r, 100*time.Millisecond)
			o.answer = func() pace.Outcome {
				n++
				return pace.Outcome{Kind: pace.Unwell}
			}
			crowd(t, NewLocal(), r, o, 1, 1, lasts)
			o.keptWithin(t)
		})
		return n
	}
	platform := sent(nil)
	own := sent(&source.AdaptConfig{Floor: 1})
	if seconds := int(lasts.Seconds()); platform > seconds/5 || own < seconds*9/10 {
		t.Errorf("%d requests in ten dead minutes, %d with a floor of one a second", platform, own)
	}
	g := New(Config{Instances: 2, Adapt: pace.Adapt{Step: 0.3}}, nil)
	r := source.Rate{QPS: 1, Limit: 10, Window: source.Duration(time.Second), Adapt: &source.AdaptConfig{Floor: 0.5}}
	alone, _ := g.shareWithoutStore(r, 1)
	if alone.Adapt != (pace.Adapt{Step: 0.3, Floor: 0.5}) {
		t.Errorf("without the store the rate gives way as %+v", alone.Adapt)
	}
}
