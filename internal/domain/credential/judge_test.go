package credential_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestJudge_SaysWhyEachKeyIsUsedOrNot: the key that is used first is that of
// [credential.Candidates], and of every other it is said why it is not.
func TestJudge_SaysWhyEachKeyIsUsedOrNot(t *testing.T) {
	now := time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)
	key := func(id int64, name string, change func(*credential.Credential)) credential.Credential {
		c := credential.Credential{ID: id, Name: name, Scope: source.ScopeSource, Status: credential.Active, From: now.Add(-time.Hour)}
		change(&c)
		return c
	}
	all := []credential.Credential{
		key(1, "plain", func(*credential.Credential) {}),
		key(2, "bound", func(c *credential.Credential) { c.Endpoint = "works" }),
		key(3, "twin", func(c *credential.Credential) { c.Endpoint = "works" }),
		key(4, "elsewhere", func(c *credential.Credential) { c.Endpoint = "count" }),
		key(5, "backfill", func(c *credential.Credential) { c.Scope = source.ScopeTask; c.Task = harvest.Backfill }),
		key(6, "off", func(c *credential.Credential) { c.Status = "DISABLED" }),
		key(7, "soon", func(c *credential.Credential) { c.From = now.Add(time.Hour) }),
		key(8, "over", func(c *credential.Credential) { c.To = now.Add(-time.Minute) }),
		key(9, "tired", func(c *credential.Credential) { c.RefusedUntil = now.Add(time.Minute) }),
	}
	got := map[string]string{}
	first := ""
	for _, j := range credential.Judge(all, credential.Aim{Endpoint: "works", Task: harvest.Harvest}, now) {
		got[j.Credential.Name] = j.Why
		if j.First {
			first = j.Credential.Name
		}
	}
	want := map[string]string{
		"twin":      "is bound to the endpoint",
		"bound":     "takes turns with twin, by weight",
		"plain":     "comes after twin, which is bound to the endpoint",
		"elsewhere": "is bound to the endpoint count",
		"backfill":  "is for BACKFILL",
		"off":       "is disabled",
		"soon":      "begins at 2026-03-10T01:00:00.000000Z",
		"over":      "ended at 2026-03-09T23:59:00.000000Z",
		"tired":     "rests until 2026-03-10T00:01:00.000000Z, since it was refused",
	}
	if d := cmp.Diff(want, got); d != "" || first != "twin" {
		t.Errorf("%s is first\n%s", first, d)
	}
}
