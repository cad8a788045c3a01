package sourcecheck

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

var now = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// script is an upstream and its wire: every question gets the same answer.
type script struct {
	page     harvest.Page
	err      error
	exchange Exchange
	asked    int
}

func (s *script) Ask(_ context.Context, _ *source.Spec, c source.Call) (source.Answer, error) {
	s.asked++
	if s.err != nil {
		return source.Answer{Traffic: source.Traffic{Sent: 1}}, s.err
	}
	p := s.page
	return source.Answer{Page: &p, UpstreamAt: now, Traffic: source.Traffic{Sent: 1}}, nil
}

func (s *script) Exchanges() []Exchange {
	if s.asked == 0 {
		return nil
	}
	e := s.exchange
	e.Label, e.URL = "search", "https://api.example.org/items"
	return []Exchange{e}
}

// subject is a source that has nothing wrong with it.
func subject() *Subject {
	spec := &source.Spec{
		Source: "s", Window: source.Window{Key: "updated", Precision: harvest.PrecisionSecond, Zone: "UTC", UpdatedAt: "PATH", SafetyLag: source.Duration(time.Hour), Baseline: source.Duration(240 * time.Hour)},
		Paging: harvest.Paging{Type: harvest.PageToken, Size: 2, End: []harvest.EndProof{harvest.EndNoToken}},
		Search: source.Endpoint{Name: "items", Response: source.Response{Items: []string{"items"}, Token: "next", UpdatedAt: []source.DatedPick{{Pick: source.Pick{Path: "updated"}, Key: "updated"}}}},
		Rate:   source.Rate{QPS: 2, Limit: 3, Window: source.Duration(time.Second)},
		Mapping: source.Mapping{Fields: []source.Field{
			{Name: "title", Kind: source.FieldText, From: []source.Pick{{Path: "title"}}}, {Name: "volume", Kind: source.FieldText, From: []source.Pick{{Path: "vol"}}},
		}},
	}
	return &Subject{Source: "s", Operation: harvest.Harvest, Spec: spec, Compiled: []Compiled{{Operation: harvest.Harvest}}, Situation: Situation{Now: now}}
}

func items(n int) (out []harvest.Item) {
	for i := range n {
		out = append(out, harvest.Item{
			ID: fmt.Sprint(i), UpdatedAt: now.Add(-time.Duration(i+61) * time.Minute), Status: harvest.RecordActive, Fields: []byte(`{"title":"A \u001b[31m title","volume":""}`),
		})
	}
	return out
}

func good() *script {
	return &script{page: harvest.Page{Items: items(2), Token: "t", Total: new(int64(48))}, exchange: Exchange{Status: 200, TLS: "TLS 1.3", CertUntil: now.Add(1000 * time.Hour)}}
}

func text(rep *Report, name string) string {
	var b strings.Builder
	for _, g := range rep.Groups {
		for _, c := range g.Checks {
			if g.Name == name {
				fmt.Fprintln(&b, c.Status, c.Text, c.Details, c.Fix)
			}
		}
	}
	return b.String()
}

func TestRun_Good(t *testing.T) {
	up := good()
	rep, err := Run(t.Context(), subject(), up, up)
	if err != nil || rep.Status != OK || up.asked != 1 {
		t.Fatalf("%+v, %v", rep, err)
	}
	if *rep.Window != (harvest.Window{From: now.Add(-25 * time.Hour), To: now.Add(-time.Hour)}) {
		t.Errorf("window %v", rep.Window)
	}
	for name, s := range map[string]string{
		Network: "ok api.example.org answers, TLS 1.3", Rate: "ok configured: 2 a second of 3 per 1s", TestRead: "ok next page: token found; the walk ends by NO_TOKEN",
		Window: "descending", Mapping: "which may be as it should: volume",
		Estimate: "ok 48 records a day; a first harvest of 10 days: about 480 records, 1 slice, 241 requests, about 2 min at 2 a second",
	} {
		if !strings.Contains(text(rep, name), s) {
			t.Errorf("%s lacks %q: %s", name, s, text(rep, name))
		}
	}
	if f := rep.Fields[0]; f.Percent != 100 || strings.Contains(f.Example, "\x1b") {
		t.Errorf("%+v", f)
	}
	// 24 pages, and the first once more by the planner: the source does not count.
	if *rep.Figures.Pages != 24 || *rep.Figures.Requests != 25 || *rep.Figures.Seconds != 12.5 || *rep.Figures.PerDay != 48 {
		t.Errorf("%+v", rep.Figures)
	}
}

// TestRun_Findings bends one thing at a time.
func TestRun_Findings(t *testing.T) {
	fault := func(f harvest.Fault) func(*Subject, *script) {
		return func(_ *Subject, u *script) { u.err, u.exchange.Status = fmt.Errorf("ask: %w", f), f.Status }
	}
	auth := func(keys ...Key) func(*Subject, *script) {
		return func(s *Subject, _ *script) {
			s.Spec.Auth = &source.Auth{Pool: "s", In: source.InHeader, Name: "X-Key", Open: true}
			s.Keys = keys
		}
	}
	header := func(names []string, pairs ...string) func(*Subject, *script) {
		return func(s *Subject, u *script) {
			s.Spec.Rate.LimitHeaders = names
			u.exchange.Header = http.Header{}
			for i := 0; i < len(pairs); i += 2 {
				u.exchange.Header.Set(pairs[i], pairs[i+1])
			}
		}
	}
	for _, c := range []struct {
		name  string
		bend  func(*Subject, *script)
		group string
		says  string
	}{
		{"key rests", auth(Key{Name: "a", Where: "env A", RestingUntil: now.Add(time.Minute)}), Credential, "warning a was refused and rests until 2026-11-15T12:01:00Z"},
		{"key ends soon", auth(Key{Name: "a", Where: "env A", Ends: now.Add(time.Hour)}), Credential, "warning a (env A) ends 2026-11-15T13:00:00Z"},
		{"second key", auth(Key{Name: "a", Where: "env A"}, Key{Name: "b", Where: "sealed"}), Credential, "ok b (sealed) stands by"},
		{"throttled", fault(harvest.Fault{Level: harvest.Transient, Code: "http_429", Status: 429, RetryAfter: time.Minute}), Rate, "failed the upstream asks for fewer requests: HTTP 429 [] run the check again after 2026-11-15T12:01:01Z"},
		{"no permit", fault(harvest.Fault{Level: harvest.Transient, Code: "rate_wait", RetryAfter: time.Hour}), Rate, "failed the rate gate gave no permit"},
		{"stated less", header([]string{"X-Rate-Limit-Limit"}, "X-Rate-Limit-Limit", "60", "X-Rate-Limit-Interval", "1m"), Rate, "warning the upstream states 1 a second (X-Rate-Limit-Limit: 60 per 1m0s), less than is configured [] rateLimit.qps: 1"},
		{"stated more", header([]string{"X-Rate-Limit-Limit"}, "X-Rate-Limit-Limit", "50"), Rate, "ok the upstream states 50 a second"},
		{"stated and not looked at", header(nil, "RateLimit-Limit", "5"), Rate, "warning replies state RateLimit-Limit: 5, and the pack does not look at it [] if that is requests a second: rateLimit.limitHeaders: [RateLimit-Limit]"},
		{"quiet hours", func(s *Subject, _ *script) { s.QuietUntil = now.Add(time.Hour) }, Rate, "warning quiet hours until 2026-11-15T13:00:00Z; a harvest waits"},
		{"not stated", header([]string{"X-Limit"}), Rate, "warning no reply states a limit as X-Limit"},
		{"certificate", func(_ *Subject, u *script) { u.exchange.CertUntil = now.Add(time.Hour) }, Network, "warning the certificate of api.example.org ends"},
		{"timeout", func(_ *Subject, u *script) {
			u.err, u.exchange = harvest.Fault{Code: "timeout"}, Exchange{Failure: FailTimeout, Error: "slow"}
		}, Network, "failed api.example.org took too long: slow [] try again later"},
		{"server error", fault(harvest.Fault{Code: "http_503", Status: 503}), TestRead, "failed search: http_503, HTTP 503 [] the upstream is not well"},
		{"forbidden", fault(harvest.Fault{Code: "http_403", Status: 403}), TestRead, "patra credential list s"},
		{"bad request", fault(harvest.Fault{Code: "http_400", Status: 400}), TestRead, "look at the parameters of endpoints.items"},
		{"moved away", fault(harvest.Fault{Code: "http_301", Status: 301}), TestRead, "put the address it leads to into baseUrl"},
		{"not sent", func(_ *Subject, u *script) { u.err, u.exchange.Status = harvest.Fault{Code: "hostile_url"}, 200 }, TestRead, "hostile_url [] look at endpoints.items"},
		{"whole days", func(_ *Subject, u *script) {
			for i := range u.page.Items {
				u.page.Items[i].UpdatedAt = now.Truncate(24 * time.Hour)
			}
		}, Window, "warning precision: SECOND is declared, but all dates are whole days"},
		{"open window", func(s *Subject, _ *script) { s.From, s.To = now.Add(-3*time.Hour), now.Add(time.Hour) }, Window, "warning the window is not closed"},
		{"empty window", func(_ *Subject, u *script) { u.page = harvest.Page{} }, Window, "warning it holds no records"},
		{"one bad item", func(_ *Subject, u *script) {
			u.page.Items[1].Problem = &harvest.Problem{Code: harvest.ProblemMissingField, Path: "title", Detail: "field is required"}
		}, Mapping, "warning 1 of 2 items would go to quarantine: [1 x missing_field at title (field is required), such as 1]"},
		{"no title", func(_ *Subject, u *script) {
			u.page.Items = items(6)
			for i := range u.page.Items {
				u.page.Items[i].Fields = []byte(`{}`)
			}
		}, Mapping, "warning title: found in none of 6 items at title [] is the path of mapping.fields.title right?"},
		{"retracted", func(_ *Subject, u *script) { u.page.Items[0].Status = harvest.RecordRetracted }, Mapping, "ok 1 of them retracted"},
		{"no total", func(_ *Subject, u *script) { u.page.Total = nil }, Estimate, "warning the source tells no total"},
		{"full last page", func(_ *Subject, u *script) { u.page.Total, u.page.Token = nil, "" }, TestRead, "warning next page: the page is full and yet is the last by NO_TOKEN"},
		{"no proof", func(s *Subject, u *script) {
			s.Spec.Paging.End, u.page.Total = []harvest.EndProof{harvest.EndTotal}, nil
		}, TestRead, "failed no page can prove the end: TOTAL_REACHED"},
		{"no window", func(s *Subject, _ *script) { s.Spec.Window = source.Window{} }, TestRead, "skipped skipped: HARVEST of this source has no window to read"},
		{"held", func(s *Subject, _ *script) { s.Held = "stopped since yesterday" }, Config, "warning stopped since yesterday; nothing is harvested"},
		{"defaults", func(s *Subject, _ *script) { s.Compiled[0].Warnings = []string{"http: not given"} }, Config, "warning 1 value taken by default: [http: not given]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, up := subject(), good()
			c.bend(s, up)
			rep, err := Run(t.Context(), s, up, up)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text(rep, c.group), c.says) {
				t.Errorf("%s lacks %q:\n%s", c.group, c.says, text(rep, c.group))
			}
			for _, g := range rep.Groups {
				if len(g.Checks) == 0 {
					t.Errorf("%s says nothing", g.Name)
				}
				for _, k := range g.Checks {
					if (k.Status == Failed || k.Status == Warning) && k.Fix == "" {
						t.Errorf("no fix for %q", k.Text)
					}
				}
			}
		})
	}
}

func TestRun_InterruptedIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	up := good()
	up.err = harvest.Fault{Code: "cancelled"}
	if rep, err := Run(ctx, subject(), up, up); err == nil {
		t.Errorf("%+v", rep)
	}
}

// TestWay_OfEveryPagingType: the check says where the next page is for every type
// of paging, and that none is needed only where one reply is all there is.
func TestWay_OfEveryPagingType(t *testing.T) {
	for _, d := range source.Dictionary() {
		if d.Code != source.DictPaging {
			continue
		}
		for _, item := range d.Items {
			paging := harvest.PagingType(item.Code)
			j := &job{Subject: &Subject{Spec: &source.Spec{Paging: harvest.Paging{Type: paging}}}, read: &reading{}}
			_, found := j.way()
			if (found == "none is needed") != (paging == harvest.PageTime) {
				t.Errorf("%s: %s", paging, found)
			}
		}
	}
}
