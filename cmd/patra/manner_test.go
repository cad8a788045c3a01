package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestR72_EachEndpointByItsName: what goes through an endpoint that is named has a plan, a
// cursor and a pause of its own; without a name the default is asked.
func TestR72_EachEndpointByItsName(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 80, Seed: 3})
	at := strings.Index(d.pack, "  count:\n")
	search := d.pack[strings.Index(d.pack, "  items:\n"):at]
	other := strings.Replace(search, "  items:\n", "  others:\n", 1)
	both := d.pack[:at] + other + d.pack[at:]
	file := filepath.Join(d.packs, "mini.yaml")
	if err := os.WriteFile(file, []byte(both), 0o600); err != nil {
		t.Fatal(err)
	}
	_, e := d.must(2, "source", "apply", file, "--dry-run")
	says(t, e, "items, others are all SEARCH endpoints", "default")
	chosen := strings.Replace(both, "  items:\n", "  items:\n    default: true\n", 1)
	if err := os.WriteFile(file, []byte(chosen), 0o600); err != nil {
		t.Fatal(err)
	}
	d.must(0, "source", "apply", file, "--reason", "two ways")
	first := d.object(0, "harvest", "mini")
	second := d.object(0, "harvest", "mini", "--endpoint", "others")
	if first["namespace"] == second["namespace"] || first["plan_key"] == second["plan_key"] {
		t.Errorf("both have %v", first["namespace"])
	}
	if again := d.object(0, "harvest", "mini", "--endpoint", "items"); again["namespace"] != first["namespace"] {
		t.Errorf("named, the default has %v, else %v", again["namespace"], first["namespace"])
	}
	out, _ := d.must(0, "plan", "list", "--json")
	says(t, out, `"endpoint":"others"`, `"endpoint":"items"`)
	_, e = d.must(2, "harvest", "mini", "--endpoint", "count")
	says(t, e, `no SEARCH endpoint "count"`, "items, others")

	d.must(0, "source", "pause", "mini/others", "--reason", "it is slow")
	out, _ = d.must(0, "source", "list")
	says(t, out, "paused endpoints: others")
	_, e = d.must(exitUpstream, "harvest", "mini", "--endpoint", "others")
	says(t, e, "mini/others has been paused", "patra source resume mini/others")
	d.must(0, "harvest", "mini")
	d.must(2, "source", "pause", "mini/nosuch", "--reason", "x")
	d.must(0, "source", "resume", "mini/others", "--reason", "it is mended")
	d.must(0, "harvest", "mini", "--endpoint", "others")
	d.must(0, "verify")
}

// TestR73_MannerByFlags: how a plan is worked on is said by flags, shown with the plan, and
// never more than the source allows.
func TestR73_MannerByFlags(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 80, Seed: 3})
	d.must(0, "plan", "create", "mini", "--rate", "20", "--page-size", "10", "--concurrency", "2", "--not-before", "2126-01-01", "--spread", "6h", "--priority", "low")
	out, _ := d.must(0, "plan", "show", "1")
	says(t, out, "not before 2126-01-01", "begun over 6h", "20 requests a second at most", "pages of 10", "2 requests in flight at most")
	out, _ = d.must(0, "task", "list", "--json")
	says(t, out, "2126-01-01T00:00:00", `"priority_word":"low"`)
	for flag, want := range map[string]string{"--rate=1001": "1001 requests a second are more than the 1000", "--page-size=51": "pages of 51 are larger than the 50"} {
		_, e := d.must(2, "plan", "create", "mini", "--query", "", flag)
		says(t, e, want, "never for more")
	}
	_, e := d.must(2, "harvest", "mini", "--page-size", "0")
	says(t, e, "leave it out")
	out, _ = d.must(0, "schedule", "set", "slowly", "--source", "mini", "--cron", "@daily", "--rate", "5", "--spread", "2h", "--reason", "kindly")
	says(t, out, "paced", "begun over 2h", "5 requests a second at most")
	_, e = d.must(2, "schedule", "set", "fast", "--source", "mini", "--cron", "@daily", "--page-size", "51", "--reason", "hastily")
	says(t, e, "larger than the 50")
}
