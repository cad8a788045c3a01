package sources_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/upstream"
	"github.com/papertrace/patra/sources"
)

// packTest is what is known of a pack by reading its provider's pages and the
// recordings of its answers.
type packTest struct {
	name string
	ops  []harvest.Operation
	// pages are the recordings that are answers of the search endpoint, or can
	// be made into one.
	pages   []pageWant
	records []recording
	// walks are pages recorded one after another.
	walks []walkWant
	// faults say what every other recording means, by status.
	faults map[string]faultWant
	asks   []askWant
}

type pageWant struct {
	file  string
	as    func([]byte) []byte // makes a page of it; nil: it is one
	items int
	total int64 // -1: none
	next  string
	bad   int // items with a problem
}

type walkWant struct {
	files string // pattern, in order
	end   harvest.EndProof
	seen  int64
}

type faultWant struct {
	status int
	want   string
}

// askWant is a request as it goes out: path and parameters, each decoded.
type askWant struct {
	purpose source.Purpose
	query   string
	pos     harvest.Position
	want    string
}

var threeOps = []harvest.Operation{harvest.Harvest, harvest.Backfill, harvest.Update}

func (p packTest) run(t *testing.T) {
	t.Run("compile", p.compile)
	t.Run("requests", p.requests)
	t.Run("recordings", p.recordings)
}

func (p packTest) compile(t *testing.T) {
	for _, op := range threeOps {
		if !slices.Contains(p.ops, op) {
			data, _ := sources.FS.ReadFile(p.name + ".yaml")
			pack, err := sourcefile.Parse(p.name+".yaml", data)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := pack.Compile(source.Trigger{Operation: op}); err == nil {
				t.Errorf("%s is allowed", op)
			}
			continue
		}
		spec := compile(t, p.name, op)
		for _, bad := range upstream.Check(spec) {
			t.Error(bad)
		}
		b, err := spec.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		again, err := source.ParseSpec(b)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := again.Canonical(); err != nil || !bytes.Equal(b, c) {
			t.Errorf("%s: the snapshot changes when stored: %v", op, err)
		}
		// R37: kinder than the provider allows.
		if r := spec.Rate; r.Limit > 0 && r.QPS*r.Window.D().Seconds() > 0.96*float64(r.Limit) {
			t.Errorf("%v a second of %d in %s leaves others nothing", r.QPS, r.Limit, r.Window.D())
		}
	}
}

func (p packTest) recordings(t *testing.T) {
	spec := compile(t, p.name, p.ops[0])
	c, err := source.NewClassifier(spec)
	if err != nil {
		t.Fatal(err)
	}
	d := decoder(t, spec, source.ForSearch)
	bodies := map[string][]byte{}
	for _, w := range p.pages {
		body := read(t, p.name+"/"+w.file)
		if w.as != nil {
			body = w.as(body)
		}
		bodies[w.file] = body
		if got := meaningOf(t, spec, c, source.ForSearch, 200, body); got != "page" {
			t.Errorf("%s: %s, want a page", w.file, got)
			continue
		}
		page, err := d.Page(body)
		if err != nil {
			t.Fatal(err)
		}
		bad, total := 0, int64(-1)
		for _, it := range page.Items {
			if it.Problem != nil {
				bad++
			}
			if it.ID == "" && it.Problem == nil {
				t.Errorf("%s: an item without an id", w.file)
			}
		}
		if page.Total != nil {
			total = *page.Total
		}
		if next := page.Token + page.URL; len(page.Items) != w.items || total != w.total || next != w.next || bad != w.bad {
			t.Errorf("%s: %d items, total %d, next %q, %d with problems; want %d, %d, %q, %d",
				w.file, len(page.Items), total, next, bad, w.items, w.total, w.next, w.bad)
		}
		if count := spec.Endpoint(source.ForCount); count != nil && w.total >= 0 {
			n, err := decoder(t, spec, source.ForCount).Page(body)
			if err != nil || n.Total == nil || *n.Total != w.total {
				t.Errorf("%s: counted %+v, %v", w.file, n, err)
			}
		}
	}
	for _, r := range p.records {
		t.Run(r.id, func(t *testing.T) { checkPage(t, d, bodies[r.file], r, false) })
	}
	for _, w := range p.walks {
		p.walk(t, spec, w)
	}
	for f, w := range p.faults {
		if got := meaningOf(t, spec, c, source.ForSearch, w.status, read(t, p.name+"/"+f)); got != w.want {
			t.Errorf("%s: %s, want %s", f, got, w.want)
		}
	}
}

func (p packTest) walk(t *testing.T, spec *source.Spec, w walkWant) {
	t.Helper()
	d := decoder(t, spec, source.ForSearch)
	var pos harvest.Position
	var end harvest.EndProof
	seen := map[uint64]bool{}
	step := func(f string) {
		page, err := d.Page(read(t, f))
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		pos, end, err = spec.Paging.Step(pos, page.Facts(), func(h uint64) bool { return seen[h] })
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, it := range page.Items {
			seen[harvest.IDHash(it.ID)] = true
		}
	}
	files := glob(t, p.name, w.files)
	for _, f := range files {
		step(f)
	}
	if pos.Tail != nil { // nothing but a missing token says that it is the last
		step(files[len(files)-1])
	}
	if end != w.end || pos.Seen != w.seen {
		t.Errorf("%s: end %q after %d, want %q after %d", w.files, end, pos.Seen, w.end, w.seen)
	}
}

// requests renders the packs' templates the way the Executor does.
func (p packTest) requests(t *testing.T) {
	for _, a := range p.asks {
		data, err := sources.FS.ReadFile(p.name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		pack, err := sourcefile.Parse(p.name+".yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		spec, _, err := pack.Compile(source.Trigger{
			Operation: p.ops[0], Query: a.query, Vars: map[string]string{"contact": "ops@example.org", "tool": "patra"},
		})
		if err != nil {
			t.Fatal(err)
		}
		net := &wire{}
		client := upstream.New(upstream.Config{Transport: net}, open{}, anyReply{})
		zone := must(time.LoadLocation(spec.Window.Zone))
		from, to := time.Date(2026, 8, 1, 0, 0, 0, 0, zone), time.Date(2026, 8, 3, 0, 0, 0, 0, zone)
		_, err = client.Ask(context.Background(), spec, source.Call{
			Purpose: a.purpose, Window: harvest.Window{From: from, To: to}, Position: a.pos,
		})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		want := strings.Join(strings.Fields(a.want), " ")
		if got := strings.Join(strings.Fields(net.asked), " "); got != want {
			t.Errorf("asked\n%s\nwant\n%s", got, want)
		}
	}
}

// wire answers everything and keeps what was asked.
type wire struct{ asked string }

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", r.URL.Path)
	q := r.URL.Query()
	for _, k := range slices.Sorted(maps.Keys(q)) {
		fmt.Fprintf(&b, " %s=%s", k, strings.Join(q[k], "&"))
	}
	w.asked = b.String()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader("{}")), Request: r,
	}, nil
}

type open struct{}

func (open) Acquire(ctx context.Context, _ source.Rate, _ int, _ time.Duration) (context.Context, func(bool), pace.Pass, error) {
	return ctx, func(bool) {}, pace.Pass{}, nil
}

func (open) Report(context.Context, source.Rate, pace.Outcome) bool { return false }

func (open) Estimate(context.Context, source.Rate, int, time.Duration) (pace.Advice, error) {
	return pace.Advice{}, nil
}

type anyReply struct{}

func (anyReply) For(*source.Spec, source.Purpose) (upstream.Decoder, error) { return anyReply{}, nil }

func (anyReply) PageContext(context.Context, []byte) (*harvest.Page, error) {
	return &harvest.Page{}, nil
}

// inList makes a page of a single item: head, the item, tail.
func inList(head, tail string) func([]byte) []byte {
	return func(body []byte) []byte {
		return slices.Concat([]byte(head), bytes.TrimSpace(body), []byte(tail))
	}
}

// member takes one member out of an object and puts it into a list of its own.
func member(name, head, tail string) func([]byte) []byte {
	return func(body []byte) []byte {
		var o map[string]json.RawMessage
		if err := json.Unmarshal(body, &o); err != nil {
			panic(err)
		}
		return inList(head, tail)(o[name])
	}
}
