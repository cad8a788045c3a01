package source

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// classify asks for a reply that brings no signals to light.
func classify(t *testing.T, s *Spec, r Reply) (harvest.Fault, bool) {
	t.Helper()
	c, err := NewClassifier(s)
	if err != nil {
		t.Fatal(err)
	}
	if v, bad := c.Ruled(r); bad {
		return v, true
	}
	return c.Default(r)
}

func TestR42_WhatStatusesMean(t *testing.T) {
	const (
		L1, L2, L4 = harvest.Transient, harvest.Rejected, harvest.Fatal
		retry      = harvest.Retry
		stop       = harvest.GiveUp
	)
	for _, c := range []struct {
		name     string
		reply    Reply
		code     harvest.Code // "": no fault
		level    harvest.Level
		reaction harvest.Reaction
		once     bool
	}{
		{"ok", Reply{Status: 200, Type: "application/json", Head: []byte(`{}`)}, "", "", "", false},
		{"ok, empty", Reply{Status: 200}, "", "", "", false},
		{"JSON under the wrong label", Reply{Status: 200, Type: "text/html; charset=utf-8", Head: []byte(" {}")}, "", "", "", false},
		{"XML under the wrong label", Reply{Status: 200, Type: "text/html", Head: []byte("<?xml version='1.0'?>")}, "", "", "", false},
		{"HTML by label", Reply{Status: 200, Type: "Text/HTML; charset=utf-8", Head: []byte("Sorry")}, "unexpected_html", L1, retry, true},
		{"HTML by look", Reply{Status: 200, Type: "application/json", Head: []byte("\xef\xbb\xbf\n <!doctype HTML>")}, "unexpected_html", L1, retry, true},
		{"accepted", Reply{Status: 202}, "http_202", L1, retry, true},
		{"no content", Reply{Status: 204}, "http_204", L1, retry, true},
		{"moved", Reply{Status: 301}, "unexpected_redirect", L1, retry, true},
		{"not modified", Reply{Status: 304}, "unexpected_redirect", L1, retry, true},
		{"bad request", Reply{Status: 400}, "http_400", L2, stop, false},
		{"unauthorized", Reply{Status: 401}, "auth_refused", L4, stop, false},
		{"forbidden", Reply{Status: 403}, "http_403", L2, stop, false},
		{"not found, search", Reply{Status: 404, Purpose: ForSearch}, "http_404", L2, stop, false},
		{"not found, detail", Reply{Status: 404, Purpose: ForDetail}, "http_404", L2, stop, false},
		{"gone, search", Reply{Status: 410, Purpose: ForSearch}, "http_410", L2, stop, false},
		{"gone, detail", Reply{Status: 410, Purpose: ForDetail}, "http_410", L2, stop, false},
		{"request timeout", Reply{Status: 408}, "http_408", L1, retry, false},
		{"too early", Reply{Status: 425}, "http_425", L1, retry, false},
		{"too many", Reply{Status: 429}, "http_429", L1, retry, false},
		{"too long", Reply{Status: 414}, "http_414", L2, stop, false},
		{"teapot", Reply{Status: 418}, "http_418", L2, stop, false},
		{"internal", Reply{Status: 500}, "http_500", L1, retry, false},
		{"not implemented", Reply{Status: 501}, "http_501", L1, retry, false},
		{"gateway, in HTML", Reply{Status: 502, Type: "text/html", Head: []byte("<html>")}, "http_502", L1, retry, false},
		{"unavailable", Reply{Status: 503}, "http_503", L1, retry, false},
		{"gateway timeout", Reply{Status: 504}, "http_504", L1, retry, false},
		{"edge's own", Reply{Status: 522}, "http_522", L1, retry, false},
		{"no status at all", Reply{Status: 999}, "http_999", L1, retry, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, bad := classify(t, &Spec{}, c.reply)
			if bad != (c.code != "") || v.Code != c.code || v.Level != c.level || v.Reaction != c.reaction || v.Once != c.once {
				t.Errorf("got %+v", v)
			}
			again := v.Escalated()
			if c.once && (again.Level != L4 || again.Reaction != stop || again.Code != c.code) || !c.once && again != v {
				t.Errorf("the second time: %+v", again)
			}
		})
	}
}

func TestR60_RetryAfterCountsWhereItMeansSomething(t *testing.T) {
	spec := &Spec{Faults: []FaultRule{{Status: []int{200}, Level: harvest.Transient, Reaction: harvest.Retry, Code: "odd"}}}
	for status, counts := range map[int]bool{200: false, 302: true, 400: false, 429: true, 500: false, 502: false, 503: true} {
		if v, _ := classify(t, spec, Reply{Status: status, RetryAfter: time.Hour}); (v.RetryAfter == time.Hour) != counts {
			t.Errorf("%d: %v", status, v.RetryAfter)
		}
	}
}

func TestR61_RulesBeforeTheTable(t *testing.T) {
	const L1, L2, L4 = harvest.Transient, harvest.Rejected, harvest.Fatal
	spec := &Spec{
		Search: Endpoint{Name: "esearch"}, Detail: &Endpoint{Name: "efetch"},
		Faults: []FaultRule{
			{Status: []int{429}, Body: "plan upgrade", Level: L4, Reaction: harvest.GiveUp, Code: "plan_over"},
			{Status: []int{400}, Body: "viewer error", Endpoint: "efetch", Level: L1, Reaction: harvest.Retry, Code: "relayed"},
			{Status: []int{400}, Body: "retstart", Level: L1, Reaction: harvest.CutSlice, Code: "over_wall"},
			{Status: []int{404}, Endpoint: "search", Level: L1, Reaction: harvest.RestartWalk, Code: "cursor_invalid"},
			{Body: "rate limit exceeded", Level: L1, Reaction: harvest.Retry, Code: "throttled"},
			{Signal: "error", Match: "(?i)syntax", Level: L2, Reaction: harvest.GiveUp, Code: "bad_query"},
			{Signal: "error", Status: []int{400}, Level: L1, Reaction: harvest.Retry, Code: "error_400"},
			{Signal: "warnings", Body: "^{", Level: L2, Reaction: harvest.GiveUp, Code: "widened"},
		},
	}
	c, err := NewClassifier(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		name  string
		reply Reply
		code  harvest.Code
	}{
		{"429 that no wait mends", Reply{Status: 429, Head: []byte("plan upgrade required")}, "plan_over"},
		{"429 that a wait mends", Reply{Status: 429, Head: []byte("slow down")}, "http_429"},
		{"200 that is a 429", Reply{Status: 200, Head: []byte(`{"error":"API rate limit exceeded"}`)}, "throttled"},
		{"by endpoint name", Reply{Status: 400, Purpose: ForDetail, Head: []byte("External viewer error")}, "relayed"},
		{"another endpoint", Reply{Status: 400, Purpose: ForSearch, Head: []byte("External viewer error")}, "http_400"},
		{"no such endpoint", Reply{Status: 400, Purpose: ForCount, Head: []byte("External viewer error")}, "http_400"},
		{"first rule wins", Reply{Status: 400, Purpose: ForDetail, Head: []byte("viewer error: retstart")}, "relayed"},
		{"by purpose", Reply{Status: 404, Purpose: ForSearch}, "cursor_invalid"},
		{"not that purpose", Reply{Status: 404, Purpose: ForDetail}, "http_404"},
		{"past the head", Reply{Status: 200, Head: append(make([]byte, HeadSize), "rate limit exceeded"...)}, ""},
	} {
		if v, bad := classify(t, spec, r.reply); v.Code != r.code || bad != (r.code != "") {
			t.Errorf("%s: %+v", r.name, v)
		}
	}
	for _, r := range []struct {
		name    string
		reply   Reply
		signals map[string]string
		code    harvest.Code
	}{
		{"matches", Reply{Status: 200}, map[string]string{"error": "Syntax error"}, "bad_query"},
		{"matched by presence, body too", Reply{Status: 200, Head: []byte("{}")}, map[string]string{"warnings": ""}, "widened"},
		{"body does not match", Reply{Status: 200, Head: []byte("<")}, map[string]string{"warnings": ""}, ""},
		{"no rule speaks of it", Reply{Status: 200}, map[string]string{"error": "hm"}, "error_in_reply"},
		{"blank", Reply{Status: 200}, map[string]string{"error": " \n"}, ""},
		{"none", Reply{Status: 200}, nil, ""},
		{"status decides", Reply{Status: 400}, map[string]string{"error": "hm"}, "error_400"},
		{"left to the table", Reply{Status: 500}, map[string]string{"error": "hm"}, ""},
	} {
		if v, bad := c.Signalled(r.reply, r.signals); v.Code != r.code || bad != (r.code != "") {
			t.Errorf("%s: %+v", r.name, v)
		}
	}
	if !c.NeedsSignals(Reply{Status: 400}) || c.NeedsSignals(Reply{Status: 500}) {
		t.Error("a 400 has a rule about signals, a 500 has none")
	}
}

func TestClassifier_RefusesBadPatterns(t *testing.T) {
	for _, r := range []FaultRule{{Body: "("}, {Signal: "x", Match: "["}} {
		if _, err := NewClassifier(&Spec{Faults: []FaultRule{r}}); err == nil {
			t.Errorf("%+v compiles", r)
		}
	}
}
