package upstream

import (
	"errors"
	"net"
	"net/http"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/gate"
)

var noRoute = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

// TestR38_HalfFailAndExactlyTheQuotaIsSent: a hundred a day, half of them
// answered with an error, a connection cut off now and then, and some that never
// came about. A hundred reach the upstream.
func TestR38_HalfFailAndExactlyTheQuotaIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reached []time.Time
		n := 0
		net := play(func(r *http.Request) (*http.Response, error) {
			n++
			if n%7 == 0 {
				return nil, noRoute
			}
			reached = append(reached, time.Now())
			switch {
			case n%2 == 0:
				return status(500, "")(r)
			case n%5 == 0:
				return nil, errors.New("connection reset by peer")
			}
			return status(200, goodReply)(r)
		})
		spec := testSpec()
		spec.Rate = source.Rate{Key: "src", QPS: 2, Burst: 1, Quotas: []source.QuotaConfig{{Limit: 100, Window: source.Duration(24 * time.Hour)}}}
		c := client(net, gate.New(gate.Config{}, nil))
		start := time.Now()
		for {
			_, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
			if err == nil {
				continue
			}
			f := mustFault(t, err)
			if f.Code == "quota_wait" {
				if left := time.Until(start.Add(24 * time.Hour)); f.RetryAfter < left || f.RetryAfter > left+time.Hour {
					t.Errorf("told to come back in %v", f.RetryAfter)
				}
				break
			}
			time.Sleep(max(f.RetryAfter, time.Minute))
		}
		if len(reached) != 100 || n < 110 {
			t.Errorf("%d requests reached the upstream, %d were tried; want 100 and more", len(reached), n)
		}
	})
}

// TestC16_LimitsAreCountedForWhatIsDeclared: with three requests a day and two
// keys, three go out unless each key, or each endpoint, has limits of its own.
// Then one that is used up gives way to the other, and never to none.
func TestC16_LimitsAreCountedForWhatIsDeclared(t *testing.T) {
	for _, c := range []struct {
		scope   string
		reached string
	}{
		{"", "k1 k1 k1"},
		{source.RateGlobal, "k1 k1 k1"},
		{source.RatePerKey, "k1 k1 k1 k2 k2 k2"},
		{source.RatePerEndpoint, "k1 k1 k1 /fetch /fetch /fetch"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var reached []string
			n := play(func(r *http.Request) (*http.Response, error) {
				who := r.Header.Get("X-Key")
				if path.Base(r.URL.Path) == "fetch" {
					who = "/fetch"
				}
				reached = append(reached, who)
				return status(200, goodReply)(r)
			})
			spec := authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key", Open: true, Rate: &source.Rate{
				Key: "src", Scope: c.scope, QPS: 2, Burst: 1, Quotas: []source.QuotaConfig{{Limit: 3, Window: source.Duration(24 * time.Hour)}},
			}})
			cl := keyed(n, gate.New(gate.Config{}, nil), &pool{keys: []string{"k1", "k2"}, open: true})
			for _, p := range []source.Purpose{source.ForSearch, source.ForDetail} {
				for range 8 {
					if _, err := cl.Ask(t.Context(), spec, source.Call{Purpose: p, IDs: []string{"1"}}); err != nil && mustFault(t, err).Code != "quota_wait" {
						t.Errorf("%s: %v", c.scope, err)
					}
				}
			}
			if got := strings.Join(reached, " "); got != c.reached {
				t.Errorf("%q: %s reached the upstream, want %s", c.scope, got, c.reached)
			}
		})
	}
}

func TestR38_OnlyWhatNeverConnectedIsGivenBack(t *testing.T) {
	for name, c := range map[string]struct {
		reply  func(*http.Request) (*http.Response, error)
		unsent int
	}{
		"good":      {status(200, goodReply), 0},
		"error":     {status(400, ""), 0},
		"no route":  {broken(noRoute), 1},
		"no name":   {broken(&net.DNSError{Err: "no such host", Name: "x"}), 1},
		"forbidden": {broken(errBlocked), 1},
		"reset":     {broken(&net.OpError{Op: "read", Net: "tcp", Err: errors.New("reset")}), 0},
		"handshake": {broken(errors.New("tls: bad certificate")), 0},
	} {
		g, spec := new(free), testSpec()
		spec.Retry.Attempts = 1
		spec.Search.Cost = 10
		_, _ = client(play(c.reply), g).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
		if g.unsent != c.unsent || g.inside != 0 || g.cost != 10 {
			t.Errorf("%s: %d given back, want %d; %d inside, cost %d", name, g.unsent, c.unsent, g.inside, g.cost)
		}
	}
}

// TestR60_RetryAfterWithAGoodReply stalls nothing, unless the pack says so.
func TestR60_RetryAfterWithAGoodReply(t *testing.T) {
	for _, on := range [][]int{nil, {500}, {200}} {
		synctest.Test(t, func(t *testing.T) {
			net := play(status(200, goodReply, "Retry-After", "3600"), status(200, goodReply, "Retry-After", "3600"))
			spec := testSpec()
			spec.Rate = source.Rate{Key: "src", QPS: 1, Burst: 1, RetryAfterOn: on}
			c := client(net, gate.New(gate.Config{}, nil))
			start := time.Now()
			if _, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch}); err != nil {
				t.Fatal(err)
			}
			_, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
			if len(on) == 0 || on[0] != 200 {
				if err != nil || time.Since(start) > time.Second {
					t.Errorf("with %v: %v after %v", on, err, time.Since(start))
				}
				return
			}
			if f := mustFault(t, err); f.RetryAfter < time.Hour || len(net.asked) != 1 {
				t.Errorf("with %v: %+v, %d requests", on, f, len(net.asked))
			}
		})
	}
}

func TestR60_RetryAfterOnFurtherRefusals(t *testing.T) {
	for _, on := range [][]int{nil, {403}} {
		spec, g := testSpec(), new(free)
		spec.Rate.RetryAfterOn = on
		_, err := client(play(status(403, "", "Retry-After", "3600")), g).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
		want := time.Duration(len(on)) * time.Hour
		if f := mustFault(t, err); f.RetryAfter != want || g.told[0].RetryAfter != want {
			t.Errorf("with %v: %v, told %+v", on, f.RetryAfter, g.told)
		}
	}
}

// TestR60_BudgetIsReadFromEveryReply, by the clock of the reply.
func TestR60_BudgetIsReadFromEveryReply(t *testing.T) {
	const date = "Sun, 01 Mar 2026 12:00:00 GMT"
	for _, c := range []struct {
		name, unit, left, reset string
		status                  int
		want                    time.Duration
	}{
		{"OpenAlex", pace.ResetSeconds, "0", "43200", 200, 12 * time.Hour},
		{"OpenAlex, refused", pace.ResetSeconds, "0", "43200", 429, 12 * time.Hour},
		{"Zenodo", pace.ResetEpoch, "0", "1772366460", 200, time.Minute},
		{"Scopus", pace.ResetEpochMS, "0", "1772971200000", 200, 7 * 24 * time.Hour},
		{"not in the table", pace.ResetEpoch, "0", "1772366460", 500, time.Minute},
		{"some left", pace.ResetEpoch, "1", "1772366460", 200, 0},
		{"nonsense", pace.ResetSeconds, "0", "1772366460", 200, 0},
		{"nothing told", pace.ResetSeconds, "", "", 200, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, spec := new(free), testSpec()
			spec.Retry.Attempts = 1
			spec.Rate.Budget = &source.BudgetConfig{Remaining: "X-RateLimit-Remaining", Reset: "X-RateLimit-Reset", Unit: c.unit}
			_, _ = client(play(status(c.status, goodReply, "Date", date, "X-RateLimit-Remaining", c.left, "X-RateLimit-Reset", c.reset)), g).
				Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
			if len(g.told) != 1 || g.told[0].Empty != c.want {
				t.Errorf("told %+v, want empty for %v", g.told, c.want)
			}
		})
	}
}
