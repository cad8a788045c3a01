package source_test

import (
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/template"
)

func testVars(t testing.TB) *source.CallVars {
	t.Helper()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	cal := harvest.Calendar{Precision: harvest.PrecisionDay, Zone: zone}
	spec := &source.Spec{
		Window: source.Window{Bound: source.BoundClosed},
		Paging: harvest.Paging{Size: 100, PageBase: 1},
		Vars:   map[string]string{"contact": "me@example.org", "tool": "patra"},
	}
	return source.NewCallVars(spec, cal, source.Call{
		Window:   harvest.Window{From: time.Date(2026, 3, 7, 0, 0, 0, 0, zone).UTC(), To: time.Date(2026, 3, 9, 0, 0, 0, 0, zone).UTC()},
		Position: harvest.Position{Offset: 300, Page: 3, Token: "a+b/c=", Held: map[string]string{"WebEnv": "MCID_1"}, Pages: 3},
		IDs:      []string{"1", "2", "3"},
	})
}

func TestTemplate_Renders(t *testing.T) {
	s := testVars(t)
	for in, want := range map[string]string{
		"":             "",
		"plain $ text": "plain $ text",
		"$${literal}":  "${literal}",
		// Whole days of the source's zone, across the change to summer time.
		"${date(window.from, '2006/01/02')}":                      "2026/03/07",
		"${date(window.to, '2006/01/02')}":                        "2026/03/09",
		"${date(window.last, '2006/01/02')}":                      "2026/03/08",
		"${iso(window.from)}":                                     "2026-03-07T00:00:00-05:00",
		"${window.to}":                                            "2026-03-09T00:00:00-04:00",
		"${epoch(window.from)}":                                   "1772859600",
		"${epochms(window.from)}":                                 "1772859600000",
		"from-index-date:${date(window.from,\"2006-01-02\")},x:y": "from-index-date:2026-03-07,x:y",
		"${page.size}":                                            "100",
		"${page.offset + page.size}":                              "400",
		"${page.no}":                                              "4",
		"${page.token}":                                           "a+b/c=",
		"${coalesce(page.token, '*')}":                            "a+b/c=",
		"${default(vars.missing, 'none')}":                        "none",
		"${page.first ? 'y' : ''}":                                "",
		"${page.held.WebEnv}":                                     "MCID_1",
		"${page.held.Other}":                                      "",
		"${join(ids, ',')}":                                       "1,2,3",
		"${ids[0]}":                                               "1",
		"${upper(vars.tool)} ${lower('ABC')}":                     "PATRA abc",
		"${'}'}${\"{\"}":                                          "}{",
		"${page.first}":                                           "false",
		"${vars.contact contains '@' ? 'mail ' + vars.contact : 1}": "mail me@example.org",
	} {
		tpl, err := source.ParseTemplate(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got, err := tpl.Render(s); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestTemplate_MissingMapsAreEmpty(t *testing.T) {
	tpl, err := source.ParseTemplate("${vars.contact}${page.held.WebEnv}${join(ids, ',')}")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tpl.Render(new(source.CallVars)); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestR51_TemplateRefuses(t *testing.T) {
	s := testVars(t)
	for _, in := range []string{
		"${", "${}", "${unknown}", "${window.from.Format('2006')}", "${window.from.t}", "${window.From.Unix()}", "${page.url}",
		"${now()}", "${len(ids)}", "${map(ids, #)}", "${filter(ids, true)}", "${reduce(ids, #acc + #)}", "${repeat('a', 99)}",
		"${1..1000000000}", "${let a = 'x'; a + a}", "${'a' matches '(a+)+'}", "${2 ** 999}", "${ids | join(',') | toJSON()}",
		"${fromJSON('{}')}", "${$env}", "${{'a': 1}}", "${ids[0:2]}", "${join(ids)}", "${date('x', 'y')}", "${vars.contact.x}",
		"${any(ids, true)}", "${(() => 1)()}", "${window}", "${ids}", "${vars}", "${ids[99]}",
		"${'\\n'}", "${'\\u0000'}", "line\nbreak",
		strings.Repeat("x", template.MaxText+1), "${" + strings.Repeat("1+", 500) + "1}",
	} {
		tpl, err := source.ParseTemplate(in)
		if err != nil {
			continue
		}
		if got, err := tpl.Render(s); err == nil {
			t.Errorf("%.60s: rendered %.60q", in, got)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"${date(window.from, '2006/01/02')}", "a${join(ids, ',')}b", "${page.first ? 'y' : ''}", "$${x}", "${'}'}", "${let a=1;a}", "${ids[0]+page.token}"} {
		f.Add(s, "tok\r\nX: y")
	}
	f.Fuzz(func(t *testing.T, in, token string) {
		s := testVars(t)
		s.Page.Token = token
		tpl, err := source.ParseTemplate(in)
		if err != nil {
			return
		}
		out, err := tpl.Render(s)
		if err == nil && (strings.ContainsAny(out, "\r\n\x00") || len(out) > template.MaxRendered) {
			t.Errorf("%q rendered %q", in, out)
		}
	})
}

// TestTemplate_Buckets: all ids are bucket 0 of 1, and a bucket is no range.
func TestTemplate_Buckets(t *testing.T) {
	cal := harvest.Calendar{Precision: harvest.PrecisionSecond, Zone: time.UTC}
	for _, c := range []struct {
		r    harvest.Range
		in   string
		want string
	}{
		{harvest.Range{}, "${bucket}/${buckets}", "0/1"},
		{harvest.Range{}, "${buckets > 1 ? text(bucket) : ''}", ""},
		{harvest.NewBucket(5, 8), "${bucket}/${buckets}", "5/8"},
		{harvest.NewBucket(5, 8), "${buckets > 1 ? text(bucket + 1) : ''}", "6"},
		{harvest.NewBucket(5, 8), "${range.on}", "false"},
		{harvest.NewRange("uid", 5, 8), "${range.on} ${bucket}/${buckets}", "true 0/1"},
	} {
		tpl, err := source.ParseTemplate(c.in)
		if err != nil {
			t.Fatal(err)
		}
		spec := &source.Spec{Window: source.Window{Split: &harvest.Split{Key: harvest.RangeBucket, Buckets: 8}}}
		if got, err := tpl.Render(source.NewCallVars(spec, cal, source.Call{Range: c.r})); err != nil || got != c.want {
			t.Errorf("%s of %s: %q, %v, want %q", c.in, c.r, got, err, c.want)
		}
	}
}
