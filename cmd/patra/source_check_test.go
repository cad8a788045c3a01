package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/sourcecheck"
	"github.com/papertrace/patra/internal/sim"
)

// checked runs a check with --json and returns the report.
func checked(t *testing.T, want int, args ...string) (rep sourcecheck.Report, errOut string) {
	t.Helper()
	code, out, errOut := patra(t, append([]string{"source", "check", "--json", "--contact", "someone@example.org"}, args...)...)
	if code != want {
		t.Errorf("exit %d, want %d\n%s%s", code, want, out, errOut)
	}
	if err := json.Unmarshal([]byte(out), &rep); err != nil {
		t.Fatalf("not one JSON object: %v\n%s%s", err, out, errOut)
	}
	return rep, errOut
}

// group finds the checks of a group as lines.
func group(rep sourcecheck.Report, name string) string {
	var b strings.Builder
	for _, g := range rep.Groups {
		if g.Name != name {
			continue
		}
		for _, c := range g.Checks {
			fmt.Fprintf(&b, "%s: %s | %s | %s\n", c.Status, c.Text, strings.Join(c.Details, "; "), c.Fix)
		}
	}
	return b.String()
}

// mustSay fails unless a group says all of it.
func mustSay(t *testing.T, rep sourcecheck.Report, name string, says ...string) {
	t.Helper()
	for _, s := range says {
		if text := group(rep, name); !strings.Contains(text, s) {
			t.Errorf("%s lacks %q:\n%s", name, s, text)
		}
	}
}

// mustSkip fails unless groups were skipped for a root, by its name.
func mustSkip(t *testing.T, rep sourcecheck.Report, root string, names ...string) {
	t.Helper()
	for _, n := range names {
		mustSay(t, rep, n, "skipped: skipped: "+root+" failed")
	}
}

// rows counts the rows of every table.
func rows(t *testing.T, path string) map[string]int {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list, err := db.QueryContext(t.Context(), "SELECT name FROM sqlite_master WHERE type='table'")
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	out := map[string]int{}
	for list.Next() {
		var name string
		if err := list.Scan(&name); err != nil {
			t.Fatal(err)
		}
		out[name] = 0
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	for name := range out {
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+name).Scan(&n); err != nil {
			t.Fatal(err)
		}
		out[name] = n
	}
	return out
}

// sent counts the requests an oracle has answered.
func sent(o *sim.Sim) int { return len(o.Requests()) }

// TestCheck_GoodSources: every group is well, two requests are enough once the
// upstream's clock is known, and nothing is stored.
func TestCheck_GoodSources(t *testing.T) {
	t.Parallel()
	o, url := oracle(t, sim.Config{Sources: []string{"pubmed", "crossref", "generic"}, Records: 400, Seed: 3, LimitRPS: -1, Now: time.Now().Add(-time.Minute)})
	pack := write(t, "mini.yaml", mini)
	for _, c := range []struct {
		args []string
		says map[string]string
	}{
		{[]string{"crossref", "--base-url", url + "/crossref"}, map[string]string{
			sourcecheck.Config: "compiles for HARVEST, BACKFILL, UPDATE", sourcecheck.Credential: "may be asked without", sourcecheck.TestRead: "next page: token found",
			sourcecheck.Window: "inside the window", sourcecheck.Mapping: "can be kept", sourcecheck.Estimate: "a first harvest of 30 days",
		}},
		{[]string{"pubmed", "--base-url", url + "/pubmed"}, map[string]string{sourcecheck.TestRead: "details: all of", sourcecheck.Window: "precision: DAY, as declared"}},
		{[]string{"mini", "--file", pack, "--base-url", url + "/generic"}, map[string]string{
			sourcecheck.Config: "not applied yet", sourcecheck.Credential: "none is needed", sourcecheck.TestRead: "count: ", sourcecheck.Rate: "1000 a second of 2000 per 1s",
		}},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			db := "sqlite:" + path
			patra(t, "source", "list", "--db", db) // makes the database
			was, before := rows(t, path), sent(o)
			rep, _ := checked(t, 0, append(c.args, "--db", db)...)
			if n := sent(o) - before; n != 2 || rep.Requests.Sent != 2 {
				t.Errorf("%d requests, %+v", n, rep.Requests)
			}
			for name, s := range c.says {
				mustSay(t, rep, name, s)
			}
			if rep.Status == sourcecheck.Failed || rep.Summary.Skipped > 0 || len(rep.Groups) != 8 || rep.Figures.Items == 0 || rep.Figures.InWindow != rep.Figures.Items || rep.Figures.Total == nil {
				t.Errorf("%+v", rep)
			}
			if len(rep.Fields) == 0 || rep.Fields[0].Field != "title" || rep.Fields[0].Percent < 90 || rep.Fields[0].Example == "" {
				t.Errorf("fields: %+v", rep.Fields)
			}
			is := rows(t, path)
			for name, n := range was {
				if is[name] != n && !strings.Contains(name, "gate") {
					t.Errorf("%s had %d rows and has %d", name, n, is[name])
				}
			}
		})
	}
}

// TestCheck_AfterAHarvestLeavesTheStoreAlone: neither records nor cursors move,
// and the check is of the rows in force.
func TestCheck_AfterAHarvestLeavesTheStoreAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := "sqlite:" + path
	o, url := oracle(t, sim.Config{Sources: []string{"crossref"}, Records: 60, Seed: 5, LimitRPS: -1})
	at := []string{"--base-url", url + "/crossref", "--db", db}
	if code, _, e := patra(t, append([]string{"harvest", "crossref"}, at...)...); code != 0 {
		t.Fatal(e)
	}
	o.Advance(72 * time.Hour)
	_, records, _ := patra(t, "export", "--db", db)
	_, cover, _ := patra(t, "coverage", "crossref", "--db", db, "--json")
	was, before := rows(t, path), sent(o)
	rep, _ := checked(t, 0, append(at, "crossref", "--records", "1000")...)
	if !strings.Contains(rep.Origin, "rows in force at ") || sent(o)-before != rep.Requests.Sent || rep.Figures.Items == 0 {
		t.Errorf("%s, %+v, %+v", rep.Origin, rep.Requests, rep.Figures)
	}
	if is := rows(t, path); !reflect.DeepEqual(was, is) {
		t.Errorf("rows were %v and are %v", was, is)
	}
	if _, again, _ := patra(t, "export", "--db", db); again != records {
		t.Error("records changed")
	}
	if _, again, _ := patra(t, "coverage", "crossref", "--db", db, "--json"); again != cover {
		t.Errorf("coverage was %s and is %s", cover, again)
	}
	// What was in force before there was anything is not found.
	if code, _, e := patra(t, "source", "check", "crossref", "--db", db, "--at", "2001-01-01"); code != exitNotFound || !strings.Contains(e, "no row was in force") {
		t.Errorf("exit %d: %s", code, e)
	}
	if rep, _ := checked(t, 0, append(at, "crossref", "--at", time.Now().UTC().Format(time.RFC3339), "--op", "BACKFILL")...); rep.Operation != "BACKFILL" {
		t.Errorf("%+v", rep)
	}
}

// TestCheck_SimulatorsClock: an upstream whose clock is far behind costs one
// request more, and the window follows it.
func TestCheck_SimulatorsClock(t *testing.T) {
	t.Parallel()
	o, url := oracle(t, sim.Config{Records: 400, Seed: 3, LimitRPS: -1})
	rep, _ := checked(t, 0, "pubmed", "--base-url", url+"/pubmed", "--db", "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
	if rep.Requests.Sent != 3 || rep.Window.To.After(o.Now()) || rep.Figures.Items == 0 {
		t.Errorf("%+v of %v", rep.Requests, rep.Window)
	}
	mustSay(t, rep, sourcecheck.Network, "its clock says ")
}

// TestCheck_MoreRecords reads on, page after page.
func TestCheck_MoreRecords(t *testing.T) {
	o, url := oracle(t, sim.Config{Sources: []string{"generic"}, Records: 400, Seed: 3, LimitRPS: -1})
	from := o.Now().Add(-31 * 24 * time.Hour).UTC().Format(time.RFC3339)
	pack := write(t, "mini.yaml", mini)
	rep, _ := checked(t, 0, "--file", pack, "--base-url", url+"/generic", "--db", "sqlite:"+filepath.Join(t.TempDir(), "a.db"), "--from", from, "--to", o.Now().UTC().Format(time.RFC3339), "--records", "120")
	if rep.Figures.Items != 150 || rep.Requests.Sent != 4 || *rep.Figures.Total != 400 {
		t.Errorf("%+v, %+v", rep.Figures, rep.Requests)
	}
	mustSay(t, rep, sourcecheck.TestRead, "150 items on 3 pages of 400")
}

// TestCheck_Failures: each failure is named in its group with a fix, and what
// depends on it is skipped by name.
func TestCheck_Failures(t *testing.T) {
	t.Parallel()
	o, url := oracle(t, sim.Config{Sources: []string{"pubmed", "crossref", "generic"}, Records: 400, Seed: 3, LimitRPS: -1, Now: time.Now().Add(-time.Minute)})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	closed.Close()
	r := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(mini) }
	after := []string{sourcecheck.Window, sourcecheck.Mapping, sourcecheck.Estimate}
	for _, c := range []struct {
		name, pack string
		args       []string
		code       int
		failed     string // group
		says       []string
		skips      []string
	}{
		{"unreachable host", mini, []string{"--base-url", "http://" + nobody}, exitUpstream, sourcecheck.Network, []string{"no connection to " + nobody, "is the address right"}, append([]string{sourcecheck.Rate, sourcecheck.TestRead}, after...)},
		{"a name that is none", mini, []string{"--base-url", "http://nowhere.invalid"}, exitUpstream, sourcecheck.Network, []string{"nowhere.invalid cannot be resolved", "slip in baseUrl"}, append([]string{sourcecheck.Rate, sourcecheck.TestRead}, after...)},
		{"a private address", r("https://mini.example.org", "https://127.0.0.1:1"), nil, exitUpstream, sourcecheck.Network, []string{"not public", "http.allowPrivate: true"}, after},
		{"no TLS there", mini, []string{"--base-url", strings.Replace(url, "http:", "https:", 1)}, exitUpstream, sourcecheck.Network, []string{"no secure connection"}, after},
		{"a mistake in the pack", r("precision: MICRO", "precision: WEEK"), nil, exitUsage, sourcecheck.Config, []string{"mini.yaml:7:3: window.precision: WEEK is not known", "mend the places named"}, append([]string{sourcecheck.Credential, sourcecheck.Network, sourcecheck.Rate, sourcecheck.TestRead}, after...)},
		{"wrong path of the items", r("items: items", "items: itemz"), []string{"--base-url", url + "/generic"}, exitUpstream, sourcecheck.TestRead, []string{"the reply has another shape: itemz is missing", "correct endpoints.items.response.items"}, after},
		{"wrong path of the total", r("{root: total, total: total}", "{root: totl, total: total}"), []string{"--base-url", url + "/generic"}, exitUpstream, sourcecheck.TestRead, []string{"count: the reply has another shape: totl is missing", "endpoints.count.response.root"}, after},
		{"wrong path of the endpoint", r("path: /items", "path: /itmes"), []string{"--base-url", url + "/generic"}, exitUpstream, sourcecheck.TestRead, []string{"count: not found, HTTP 404", "endpoints.count.path (/itmes)"}, after},
		{"wrong path of the token", r("nextToken: next_token", "nextToken: nexttoken"), []string{"--base-url", url + "/generic", "--from", o.Now().Add(-20 * 24 * time.Hour).UTC().Format(time.RFC3339), "--to", o.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}, exitUpstream, sourcecheck.TestRead, []string{"the walk would end by NO_TOKEN after 50 of", "endpoints.items.response.nextToken (nexttoken)"}, nil},
		{"wrong path of the id", r("id: id", "id: idd"), []string{"--base-url", url + "/generic"}, exitFailed, sourcecheck.Mapping, []string{"would go to quarantine", "no_id at idd", "correct the paths"}, nil},
		{"wrong path of the date", r("path: updated,", "path: updatd,"), []string{"--base-url", url + "/generic"}, exitFailed, sourcecheck.Window, []string{"found in none of", "endpoints.items.response.updatedAt (updatd)"}, nil},
		{"a credential is needed", mini + "auth: {type: API_KEY, in: HEADER, name: X-API-Key}\n", []string{"--base-url", url + "/generic"}, exitUsage, sourcecheck.Credential, []string{"needs a credential and none of mini is in force", "patra credential set mini NAME"}, append([]string{sourcecheck.Network, sourcecheck.Rate, sourcecheck.TestRead}, after...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			pack := write(t, "mini.yaml", c.pack)
			rep, _ := checked(t, c.code, append(c.args, "--file", pack, "--db", "sqlite:"+filepath.Join(t.TempDir(), "a.db"))...)
			mustSay(t, rep, c.failed, append([]string{"failed: "}, c.says...)...)
			mustSkip(t, rep, c.failed, c.skips...)
			if rep.Status != sourcecheck.Failed || rep.Requests.Sent > 2 {
				t.Errorf("%s, %+v", rep.Status, rep.Requests)
			}
			n := map[sourcecheck.Status]int{}
			for _, g := range rep.Groups {
				for _, k := range g.Checks {
					n[k.Status]++
					if (k.Status == sourcecheck.Failed || k.Status == sourcecheck.Warning) && k.Fix == "" {
						t.Errorf("no fix for %q", k.Text)
					}
				}
			}
			if s := rep.Summary; s.OK != n[sourcecheck.OK] || s.Warnings != n[sourcecheck.Warning] || s.Failed != n[sourcecheck.Failed] || s.Skipped != n[sourcecheck.Skipped] {
				t.Errorf("the summary says %+v, the lines %v", s, n)
			}
		})
	}
}

// TestCheck_WindowMismatch: an upstream that does not keep to the window asked
// for is found out.
func TestCheck_WindowMismatch(t *testing.T) {
	o, _ := oracle(t, sim.Config{Sources: []string{"generic"}, Records: 400, Seed: 3, LimitRPS: -1})
	to := o.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	from := to.Add(-48 * time.Hour)
	for _, c := range []struct {
		name   string
		back   time.Duration // how much earlier the upstream begins
		cut    time.Duration // how much earlier it ends
		code   int
		status string
		says   string
	}{
		{"wider", 20 * 24 * time.Hour, 0, 0, "warning: ", "lie outside the window, such as "},
		{"another", 20 * 24 * time.Hour, 72 * time.Hour, exitFailed, "failed: ", "lies in the window, such as "},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				q.Set("from", from.Add(-c.back).Format(time.RFC3339))
				q.Set("to", to.Add(-c.cut).Format(time.RFC3339))
				r.URL.RawQuery = q.Encode()
				o.ServeHTTP(w, r)
			}))
			defer srv.Close()
			rep, _ := checked(t, c.code, "--file", write(t, "mini.yaml", mini), "--base-url", srv.URL+"/generic", "--db", "sqlite:"+filepath.Join(t.TempDir(), "a.db"),
				"--from", from.Format(time.RFC3339), "--to", to.Format(time.RFC3339), "--records", "400")
			mustSay(t, rep, sourcecheck.Window, c.status, c.says, "name the same date", "as asked for")
			if rep.Figures.OutsideWindow == 0 {
				t.Errorf("%+v", rep.Figures)
			}
		})
	}
}

// TestCheck_WrongCredential: the key is named, never shown, and not made to rest.
func TestCheck_WrongCredential(t *testing.T) {
	t.Setenv("MY_TEST_KEY", "wrong-"+canary)
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	o, url := oracle(t, sim.Config{Records: 60, Seed: 3, LimitRPS: -1, Now: time.Now().Add(-time.Minute)})
	if code, _, e := patra(t, "credential", "set", "pubmed", "main", "--env", "MY_TEST_KEY", "--db", db); code != 0 {
		t.Fatal(e)
	}
	rep, errOut := checked(t, exitUsage, "pubmed", "--with-credentials", "--base-url", url+"/pubmed", "--db", db, "--debug", "--show", "http")
	mustSay(t, rep, sourcecheck.Credential, "failed: main was refused by the upstream with HTTP 400", "patra credential rotate pubmed main")
	mustSay(t, rep, sourcecheck.Network, "answers")
	mustSkip(t, rep, sourcecheck.Credential, sourcecheck.TestRead, sourcecheck.Window, sourcecheck.Mapping, sourcecheck.Estimate)
	if sent(o) != 1 || len(rep.Exchanges) != 1 {
		t.Errorf("%d requests", sent(o))
	}
	if b, _ := json.Marshal(rep); strings.Contains(string(b)+errOut, canary) {
		t.Errorf("the secret is shown: %s%s", b, errOut)
	}
	if _, out, _ := patra(t, "credential", "list", "pubmed", "--db", db); !strings.Contains(out, "ACTIVE") {
		t.Errorf("the check made the key rest: %s", out)
	}
	// One that is not there is said to be so.
	t.Setenv("MY_TEST_KEY", "")
	rep, _ = checked(t, 0, "pubmed", "--with-credentials", "--base-url", url+"/pubmed", "--db", db)
	mustSay(t, rep, sourcecheck.Credential, "warning: main cannot be read: ", "MY_TEST_KEY is not set", "may be asked without")
	if code, _, e := patra(t, "source", "check", "pubmed", "--with-credentials", "--base-url", url+"/pubmed", "--db", db, "--strict"); code != exitFailed || !strings.Contains(e, "next: ") {
		t.Errorf("--strict: exit %d: %s", code, e)
	}
}

// TestCheck_SaveThenOffline: the same report without a request, on another
// database, and no secret in any file or on the screen.
func TestCheck_SaveThenOffline(t *testing.T) {
	t.Setenv("MY_TEST_KEY", "sim-key-"+canary)
	o, url := oracle(t, sim.Config{Sources: []string{"pubmed", "crossref", "generic"}, Records: 400, Seed: 3, LimitRPS: -1, Gzip: true})
	for _, code := range []string{"pubmed", "crossref"} {
		t.Run(code, func(t *testing.T) {
			db, dir := "sqlite:"+filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "fixture")
			if code, _, e := patra(t, "credential", "set", code, "main", "--env", "MY_TEST_KEY", "--db", db); code != 0 {
				t.Fatal(e)
			}
			rep, errOut := checked(t, 0, code, "--with-credentials", "--base-url", url+"/"+code, "--db", db, "--save", dir, "--debug", "--show", "http")
			mustSay(t, rep, sourcecheck.Credential, "main (env MY_TEST_KEY) is used as ")
			before := sent(o)
			again, _ := checked(t, 0, code, "--db", "sqlite:"+filepath.Join(t.TempDir(), "b.db"), "--offline", dir, "--show", "http")
			if sent(o) != before || again.Requests.Sent != 0 || again.Requests.Replayed != rep.Requests.Sent || !again.Offline {
				t.Errorf("%d requests, %+v", sent(o)-before, again.Requests)
			}
			screen, _ := json.Marshal([]any{rep, again, errOut})
			again.Offline = rep.Offline
			again.Requests = rep.Requests
			again.Origin = rep.Origin
			for i := range again.Groups { // what is in force is another database's affair
				if again.Groups[i].Name == sourcecheck.Config {
					again.Groups[i], again.Summary = rep.Groups[i], rep.Summary
				}
			}
			if !reflect.DeepEqual(rep, again) {
				a, _ := json.MarshalIndent(rep, "", " ")
				b, _ := json.MarshalIndent(again, "", " ")
				t.Errorf("online:\n%s\noffline:\n%s", a, b)
			}
			files := 0
			err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				files++
				b, err := os.ReadFile(filepath.Join(dir, name))
				screen = append(screen, b...)
				return err
			})
			if err != nil || files != 1+2*rep.Requests.Sent {
				t.Errorf("%d files, %v", files, err)
			}
			for _, secret := range []string{canary, "someone@example.org", "someone%40example.org"} {
				if strings.Contains(string(screen), secret) {
					t.Errorf("%s is on the screen or in a file", secret)
				}
			}
			if code, _, e := patra(t, "source", "check", code, "--db", db, "--save", dir); code != exitUsage || !strings.Contains(e, "not empty") {
				t.Errorf("saving over a fixture: exit %d: %s", code, e)
			}
		})
	}
}

// TestCheck_TokenSource: what is got for a credential is as secret as it is.
func TestCheck_TokenSource(t *testing.T) {
	t.Setenv("MY_TEST_KEY", "sim-client:sim-client-secret")
	db, dir := "sqlite:"+filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "fixture")
	o, url := oracle(t, sim.Config{Sources: []string{"generic"}, Records: 400, Seed: 3, LimitRPS: -1, Generic: sim.GenericStyle{Auth: "bearer"}})
	pack := write(t, "mini.yaml", mini+"auth: {type: OAUTH2, token: {url: /oauth/token}}\n")
	for _, args := range [][]string{{"source", "apply", pack, "--reason", "x"}, {"credential", "set", "mini", "main", "--env", "MY_TEST_KEY"}} {
		if code, _, e := patra(t, append(args, "--db", db)...); code != 0 {
			t.Fatal(e)
		}
	}
	rep, errOut := checked(t, 0, "mini", "--with-credentials", "--base-url", url+"/generic", "--db", db, "--save", dir, "--debug", "--show", "http")
	mustSay(t, rep, sourcecheck.Mapping, "can be kept")
	again, _ := checked(t, 0, "mini", "--db", db, "--offline", dir)
	if again.Figures.Items != rep.Figures.Items || again.Requests.Sent != 0 || rep.Requests.Sent != 3 {
		t.Errorf("%+v, %+v", rep.Requests, again.Requests)
	}
	screen, _ := json.Marshal([]any{rep, again, errOut})
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 5 {
		t.Errorf("%v, %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		screen = append(screen, b...)
	}
	secrets := []string{"sim-client-secret"}
	for _, q := range o.Requests() {
		if token, is := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer "); is {
			secrets = append(secrets, token)
		}
	}
	for _, s := range secrets {
		if strings.Contains(string(screen), s) {
			t.Errorf("%s is on the screen or in a file", s)
		}
	}
	if len(secrets) < 2 {
		t.Error("no token was used")
	}
	t.Setenv("MY_TEST_KEY", "sim-client:some-other-secret")
	rep, _ = checked(t, exitUsage, "mini", "--with-credentials", "--base-url", url+"/generic", "--db", db)
	mustSay(t, rep, sourcecheck.Credential, "failed: main was refused")
}

// TestCheck_OfflineWithAnEditedPack: the pack is mended against saved replies.
func TestCheck_OfflineWithAnEditedPack(t *testing.T) {
	t.Parallel()
	o, url := oracle(t, sim.Config{Sources: []string{"generic"}, Records: 400, Seed: 3, LimitRPS: -1})
	db, dir := "sqlite:"+filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "fixture")
	pack := write(t, "mini.yaml", strings.NewReplacer("items: items", "items: itemz").Replace(mini))
	rep, _ := checked(t, exitUpstream, "--file", pack, "--base-url", url+"/generic", "--db", db, "--save", dir)
	mustSay(t, rep, sourcecheck.TestRead, "itemz is missing")
	before := sent(o)
	rep, _ = checked(t, 0, "--file", write(t, "mini.yaml", mini), "--db", db, "--offline", dir)
	mustSay(t, rep, sourcecheck.Mapping, "can be kept")
	if sent(o) != before {
		t.Error("something was sent")
	}
	// A parameter that changed is told of; a reply that was never saved fails.
	rep, _ = checked(t, 0, "--file", write(t, "mini.yaml", strings.NewReplacer("pageSize: 50", "pageSize: 60").Replace(mini)), "--db", db, "--offline", dir)
	mustSay(t, rep, sourcecheck.Network, "stands for another request", "size=50", "size=60")
	if err := os.Remove(filepath.Join(dir, "check.json")); err != nil {
		t.Fatal(err)
	}
	if code, _, e := patra(t, "source", "check", "--file", pack, "--db", db, "--offline", dir); code != exitFailed || !strings.Contains(e, "check.json") {
		t.Errorf("exit %d: %s", code, e)
	}
}

// TestCheck_ScreenForPeople: signs, fixes, the table of fields and a summary;
// --show http shows both sides.
func TestCheck_ScreenForPeople(t *testing.T) {
	_, url := oracle(t, sim.Config{Sources: []string{"generic"}, Records: 400, Seed: 3, LimitRPS: -1})
	pack := write(t, "mini.yaml", mini)
	code, out, e := patra(t, "source", "check", "mini", "--file", pack, "--base-url", url+"/generic", "--db", "sqlite:"+filepath.Join(t.TempDir(), "a.db"), "--show", "http")
	for _, s := range []string{
		"GET " + url + "/generic/items?", "> User-Agent: patra/", "< 200 OK", "< Content-Type: application/json", " in all\n",
		"mini HARVEST: the pack ", "\nconfig\n", "\ntest read\n  ✓ ", "  ! warning: ", "\n    fix: ", "FIELD", "title", "0 failed, 0 skipped; 2 requests, ", "; nothing was stored\n",
	} {
		if !strings.Contains(out, s) {
			t.Errorf("lacks %q", s)
		}
	}
	if code != 0 || strings.Contains(out, "\x1b") || !strings.Contains(e, "next: patra source apply "+pack) {
		t.Errorf("exit %d\n%s%s", code, out, e)
	}
}

func TestCheck_BadInput(t *testing.T) {
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	pack := write(t, "mini.yaml", mini)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{}, exitUsage, "needs the name of a source"},
		{[]string{"pubmde"}, exitNotFound, `no source "pubmde"`},
		{[]string{"crossref", "--records", "1001"}, exitUsage, "--records 1001: use 1 to 1000"},
		{[]string{"crossref", "--show", "all"}, exitUsage, "--show http"},
		{[]string{"crossref", "--op", "delete"}, exitUsage, "use harvest, backfill or update"},
		{[]string{"crossref", "--base-url", "ftp://x"}, exitUsage, "--base-url"},
		{[]string{"crossref", "--from", "2026-02-01", "--to", "2026-02-01"}, exitUsage, "window is empty"},
		{[]string{"crossref", "--file", pack}, exitUsage, "describes mini, not crossref"},
		{[]string{"--file", pack, "--at", "2026-01-01"}, exitUsage, "leave one out"},
		{[]string{"--offline", "x", "--save", "y"}, exitUsage, "leave one out"},
		{[]string{"--offline", "x", "--from", "2026-01-01"}, exitUsage, "leave --from out"},
		{[]string{"--offline", filepath.Join(t.TempDir(), "nowhere")}, exitFailed, "nowhere"},
		{[]string{"--file", "nowhere.yaml"}, exitFailed, "nowhere.yaml"},
	} {
		code, out, e := patra(t, append([]string{"source", "check", "--db", db}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(e, c.says) || !strings.Contains(e, "next: ") {
			t.Errorf("%v: exit %d, stdout %q\n%s", c.args, code, out, e)
		}
	}
}

// TestCheck_Interrupted ends at once, with the code of an interruption.
func TestCheck_Interrupted(t *testing.T) {
	o, url := oracle(t, sim.Config{Records: 20, Seed: 3, Latency: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	o.SetOnRequest(func(*http.Request) { cancel() })
	var out, e strings.Builder
	code := run(ctx, []string{"source", "check", "crossref", "--base-url", url + "/crossref", "--db", "sqlite:" + filepath.Join(t.TempDir(), "a.db")}, &out, &e)
	if code != exitInterrupted || !strings.Contains(e.String(), "interrupted") {
		t.Errorf("exit %d: %s%s", code, &out, &e)
	}
}
