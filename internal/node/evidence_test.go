package node_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// pageRow is what the row of a page tells by itself.
type pageRow struct {
	state, code, request, requestHash, digest, replyHash string
	sample                                               []byte
	status, sent, http429, http5xx                       int
}

// pageRows reads the pages of a store that are over.
func pageRows(t *testing.T, dsn string) []pageRow {
	t.Helper()
	rows, err := patratest.Raw(t, dsn).QueryContext(context.WithoutCancel(t.Context()), `SELECT status_code, error_code, request, request_sha256, response_digest, reply_sha256, reply_sample,
		http_status, sent, http_429, http_5xx FROM ing_task_run_batch WHERE status_code<>'RUNNING' ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []pageRow
	for rows.Next() {
		var p pageRow
		var code, request, requestHash, digest, replyHash sql.NullString
		var status sql.NullInt64
		if err := rows.Scan(&p.state, &code, &request, &requestHash, &digest, &replyHash, &p.sample, &status, &p.sent, &p.http429, &p.http5xx); err != nil {
			t.Fatal(err)
		}
		p.code = code.String
		p.request = request.String
		p.requestHash = requestHash.String
		p.digest = digest.String
		p.replyHash = replyHash.String
		p.status = int(status.Int64)
		out = append(out, p)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// complete claims what holds of every page that was asked for: the row says what was
// asked, and of whatever came what that was.
func (p pageRow) complete(t *testing.T) {
	t.Helper()
	if p.state == "SKIPPED" {
		if p.sent != 0 {
			t.Errorf("a page that was asked for is SKIPPED: %+v", p)
		}
		return
	}
	if p.sent == 0 || !strings.HasPrefix(p.request, "GET http") && !strings.HasPrefix(p.request, "POST http") || len(p.requestHash) != 64 {
		t.Errorf("the row does not say what was asked: %+v", p)
	}
	if p.status == 0 {
		return
	}
	var told struct{ Headers map[string]string }
	if err := json.Unmarshal([]byte(p.digest), &told); err != nil || told.Headers["Date"] == "" {
		t.Errorf("the row does not say what kind of reply came (%v): %+v", err, p)
	}
	if p.state == "SUCCEEDED" && p.sample != nil {
		t.Errorf("of a page that is stored the beginning is kept too: %+v", p)
	}
	nothing := sha256.Sum256(nil)
	empty := p.replyHash == hex.EncodeToString(nothing[:])
	if p.state == "FAILED" && p.replyHash != "" && !empty && (len(p.sample) == 0 || len(p.sample) > 1024) {
		t.Errorf("of a page that failed %d bytes are kept: %+v", len(p.sample), p)
	}
}

// tellingFault is a kind of fault, and what the row of a page that failed by it says.
type tellingFault struct {
	fault  sim.Fault
	where  func(*http.Request) bool
	status int    // of the reply; 0: none came
	sample string // part of its beginning; "": nothing was in it
	// stored: the pages come through all the same, and none fails.
	stored bool
}

// crossrefPage, pubmedSearch and pubmedDetail tell the requests of a walk from those
// that count.
func crossrefPage(q *http.Request) bool {
	return strings.Contains(q.URL.Path, "/crossref/") && q.FormValue("rows") != "0"
}

func pubmedSearch(q *http.Request) bool {
	return strings.Contains(q.URL.Path, "esearch") && q.FormValue("retmax") != "0"
}

func pubmedDetail(q *http.Request) bool { return strings.Contains(q.URL.Path, "efetch") }

const crossrefPages = `{"status":"ok","message-type":"work-list"`

var tellingFaults = []tellingFault{
	{fault: sim.HTTP500, where: crossrefPage, status: 500, sample: "Internal Server Error"},
	{fault: sim.HTTP502HTML, where: crossrefPage, status: 502, sample: "Bad Gateway"},
	{fault: sim.HTTP503, where: crossrefPage, status: 503, sample: "Temporarily Unavailable"},
	{fault: sim.HTTP503Date, where: crossrefPage, status: 503, sample: "Temporarily Unavailable"},
	{fault: sim.HTTP504HTML, where: crossrefPage, status: 504, sample: "Gateway Time-out"},
	{fault: sim.HTTP429, where: crossrefPage, status: 429},
	{fault: sim.HTTP429RetryAfter, where: crossrefPage, status: 429},
	{fault: sim.ResetBeforeHeader, where: crossrefPage},
	{fault: sim.ResetMidBody, where: crossrefPage, status: 200, sample: crossrefPages},
	{fault: sim.TruncatedBody, where: crossrefPage, status: 200, sample: crossrefPages},
	{fault: sim.ServedLost, where: crossrefPage},
	{fault: sim.Slow, where: crossrefPage, stored: true},
	{fault: sim.HTML200, where: crossrefPage, status: 200, sample: "Scheduled maintenance"},
	{fault: sim.Empty200, where: crossrefPage, status: 200},
	{fault: sim.Error200, where: crossrefPage, status: 200, sample: `"message-type":"exception"`},
	{fault: sim.Viewer400, where: pubmedDetail, status: 400, sample: "eEfetchResult"},
	{fault: sim.InvalidUTF8, where: crossrefPage, stored: true},
	{fault: sim.BadJSON, where: crossrefPage, status: 200, sample: crossrefPages},
	{fault: sim.ShortPage, where: crossrefPage, stored: true},
	{fault: sim.EmptyMiddlePage, where: crossrefPage, status: 200, sample: crossrefPages},
	{fault: sim.RepeatedPage, where: crossrefPage, status: 200, sample: crossrefPages},
	{fault: sim.CursorExpired, where: crossrefPage, status: 404, sample: `"message-type":"resource-failure"`},
	{fault: sim.DetailMissing, where: pubmedDetail, stored: true},
	{fault: sim.DetailExtra, where: pubmedDetail, stored: true},
	{fault: sim.DetailBadItem, where: pubmedDetail, stored: true},
	{fault: sim.TotalWrong, where: crossrefPage, status: 200, sample: crossrefPages},
	{fault: sim.Errorlist, where: pubmedSearch, status: 200, sample: "esearchresult"},
	{fault: sim.RetryAfterOn200, where: crossrefPage, stored: true},
	{fault: sim.TokenDropped, where: crossrefPage, status: 200, sample: crossrefPages},
	{fault: sim.TokenDroppedShort, where: crossrefPage, status: 200, sample: crossrefPages},
	{fault: sim.TotalDropped, where: crossrefPage, stored: true},
}

// TestR67_ThePageAloneTellsWhatWasAskedAndWhatCame: for each kind of fault the row of
// the page says request, status, headers, traffic, hash and beginning of the reply.
func TestR67_ThePageAloneTellsWhatWasAskedAndWhatCame(t *testing.T) {
	t.Parallel()
	for _, f := range sim.AllFaults {
		inTable := slices.ContainsFunc(tellingFaults, func(k tellingFault) bool { return k.fault == f })
		if !inTable && f != sim.WebEnvLost { // which befalls nobody who sends ids
			t.Errorf("%s is not in the table", f)
		}
	}
	for _, k := range tellingFaults {
		t.Run(string(k.fault), func(t *testing.T) {
			dsn := patratest.SQLite.SpareDSN(t)
			synctest.Test(t, func(t *testing.T) { k.happens(t, dsn) })
		})
	}
}

// TestR67_EveryEngineKeepsTheEvidence: on servers as well, of replies that stop their
// source at once.
func TestR67_EveryEngineKeepsTheEvidence(t *testing.T) {
	t.Parallel()
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		for _, k := range tellingFaults {
			if k.fault == sim.HTML200 || k.fault == sim.Error200 {
				t.Run(string(k.fault), func(t *testing.T) { k.happens(t, e.SpareDSN(t)) })
			}
		}
	})
}

// happens lets every page of a harvest go wrong for two minutes.
func (k tellingFault) happens(t *testing.T, dsn string) {
	code := "crossref"
	if k.where(&http.Request{URL: &url.URL{Path: "/pubmed/efetch.fcgi/esearch.fcgi"}}) {
		code = "pubmed"
	}
	small := func(s *source.Spec) {
		patratest.Fast(s)
		s.Paging.Size = 20
	}
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN: dsn, Sim: sim.Config{Sources: []string{code}, Records: 150, Seed: 5, LimitRPS: -1},
		Packs: map[string]registry.Pack{code: patratest.ShippedPack(t, code, small)},
	})
	r.Sim.Script(sim.Script{Fault: k.fault, Source: code, Times: -1, When: k.where})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	rep, err := r.Harvest(ctx, code)
	if r.Sim.Stats().Sources[code].Faults[k.fault] == 0 {
		t.Fatalf("was never served: %+v, %v", rep, err)
	}
	patratest.MustVerify(t, r.Node.Store)
	told := 0
	for _, p := range pageRows(t, dsn) {
		p.complete(t)
		switch {
		case p.state != "FAILED":
		case k.stored:
			t.Errorf("a page failed that comes through: %+v, sample %.80q", p, p.sample)
		case k.tells(p):
			told++
		}
	}
	if told == 0 && !k.stored {
		t.Errorf("no page tells of it: %+v", pageRows(t, dsn))
	}
}

// tells reports whether a row tells of the fault.
func (k tellingFault) tells(p pageRow) bool {
	answered := p.status == k.status && (p.replyHash != "") == (k.status > 0)
	counted := (k.status < 500 || p.http5xx == p.sent) && (k.status != 429 || p.http429 == p.sent)
	return answered && counted && strings.Contains(string(p.sample), k.sample) && (len(p.sample) > 0) == (k.sample != "")
}
