// Package proctest proves the real binary: processes that are killed, stopped
// past their lease and woken again, over an upstream that misbehaves. It holds
// tests only.
package proctest

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the store is asked directly

	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/sources"
)

var binary string

// patience is how long a test waits for an event before it gives up. It says
// nothing about how fast anything should be: on a busy machine all is slow.
const patience = 10 * time.Minute

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "patra-proctest")
	if err != nil {
		log.Fatal(err)
	}
	binary = filepath.Join(dir, "patra")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "github.com/papertrace/patra/cmd/patra")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		log.Fatalf("build patra: %v\n%s", err, out)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// Limits of the simulated source, and of the packs that must keep to them. The
// gap between both is what the jitter of permits and of the way takes.
const (
	simLimit = 120
	packRate = 100
)

// packs writes copies of the shipped packs with small pages and high limits.
func packs(t *testing.T) string {
	t.Helper()
	return packsOf(t, sources.FS)
}

// packsOf is packs for those that some patra ships.
func packsOf(t *testing.T, shipped fs.FS) string {
	t.Helper()
	dir := t.TempDir()
	for code, swap := range map[string][]string{
		"pubmed": {
			"concurrency: 3", "concurrency: 8", "target: 9000", "target: 200", "pageSize: 9999", "pageSize: 50",
			"idBatchSize: 200", "idBatchSize: 10",
		},
		"crossref": {"concurrency: 1\n", "concurrency: 8\n", "target: 12000", "target: 120", "pageSize: 1000", "pageSize: 20"},
	} {
		b, err := fs.ReadFile(shipped, code+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		swap = append(swap, "limit: 3\n", fmt.Sprintf("limit: %d\n", simLimit), "qps: 2.7\n", fmt.Sprintf("qps: %d\n", packRate),
			"base: 1s", "base: 50ms", "max: 30s", "max: 500ms")
		for i := 0; i < len(swap); i += 2 {
			if strings.Count(text, swap[i]) != 1 {
				t.Fatalf("pack %s has %q not once", code, swap[i])
			}
			text = strings.Replace(text, swap[i], swap[i+1], 1)
		}
		if err := os.WriteFile(filepath.Join(dir, code+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lab is one store, one simulated upstream and the processes between.
type lab struct {
	t       *testing.T
	source  string
	dsn     string
	packs   string
	bin     string // the patra that works
	sim     string // address
	db      *sql.DB
	workers int
	lease   time.Duration
	dice    *rand.Rand
	procs   []*process
	deed    deeds
}

// deeds counts what was done to the processes.
type deeds struct {
	starts, kills, zombies, fenced, advances int
}

func newLab(t *testing.T, source, dsn string, seed uint64, simArgs ...string) *lab {
	t.Helper()
	l := &lab{t: t, source: source, dsn: dsn, packs: packs(t), bin: binary, workers: 2, lease: 2 * time.Second, dice: rand.New(rand.NewPCG(seed, 1))}
	args := append([]string{
		"sim", "--records", fmt.Sprint(records()), "--seed", fmt.Sprint(seed), "--sources", source, "--limit-rps", fmt.Sprint(simLimit), "--latency", "40ms",
	}, simArgs...)
	cmd := exec.Command(binary, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck // killed
	})
	var hello struct{ Listen string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &hello) != nil {
		t.Fatalf("simulator said %q: %v", line, err)
	}
	l.sim = "http://" + hello.Listen
	l.open()
	t.Cleanup(func() {
		for _, p := range l.procs {
			p.end()
		}
	})
	return l
}

// process is a running patra.
type process struct {
	cmd  *exec.Cmd
	out  bytes.Buffer
	err  lockedBuffer
	done chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (l *lab) command(args ...string) *exec.Cmd {
	cmd := exec.Command(l.bin, append(args, "--sources", l.packs, "--lease", l.lease.String(), "--contact", "test@example.org")...)
	cmd.Env = append(os.Environ(), "PATRA_DB="+l.dsn, "PATRA_APPLY_PACKS=true") // nobody is there to apply them
	return cmd
}

// start begins a harvest.
func (l *lab) start() *process {
	l.t.Helper()
	return l.begin("harvest", l.source, "--base-url", l.sim+"/"+l.source, "--workers", fmt.Sprint(l.workers), "--json", "-v", "--progress", "none")
}

func (l *lab) begin(args ...string) *process {
	l.t.Helper()
	p := &process{done: make(chan struct{})}
	p.cmd = l.command(args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.deed.starts++
	go func() {
		p.cmd.Wait() //nolint:errcheck // the exit code is looked at
		close(p.done)
	}()
	l.procs = append(l.procs, p)
	return p
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) signal(s syscall.Signal) { p.cmd.Process.Signal(s) } //nolint:errcheck // it may have ended

// end kills and waits.
func (p *process) end() {
	p.cmd.Process.Kill() //nolint:errcheck // it may have ended
	<-p.done
}

func (p *process) code() int { return p.cmd.ProcessState.ExitCode() }

// report is what the harvest printed.
type report struct {
	Status    string
	Watermark time.Time
	Noop      bool
	Slices    struct{ Done, Resliced, Failed, Open int }
	Gaps      []json.RawMessage
}

func (l *lab) report(p *process) report {
	l.t.Helper()
	var r report
	if err := json.Unmarshal(p.out.Bytes(), &r); err != nil {
		l.t.Fatalf("report %q: %v\n%s", p.out.String(), err, p.err.String())
	}
	return r
}

// get reads from the simulator.
func (l *lab) get(method, path string, f func(io.Reader) error) {
	l.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, l.sim+path, http.NoBody)
	if err != nil {
		l.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatalf("simulator: %v", err)
	}
	defer res.Body.Close()
	if err := f(res.Body); err != nil {
		l.t.Fatalf("simulator %s: %v", path, err)
	}
}

func (l *lab) advance() {
	l.t.Helper()
	l.deed.advances++
	l.get(http.MethodPost, "/_sim/advance?by=72h", func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err })
}

// open connects to the store beside the processes.
func (l *lab) open() {
	l.t.Helper()
	kind, addr := "sqlite", "file:"+strings.TrimPrefix(l.dsn, "sqlite:")+"?_pragma=busy_timeout(20000)"
	if rest, ok := strings.CutPrefix(l.dsn, "mysql://"); ok {
		kind = "mysql"
		host, name, _ := strings.Cut(rest, "/")
		addr = strings.Replace(host, "@", "@tcp(", 1) + ")/" + name
	}
	var err error
	l.db, err = sql.Open(kind, addr)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { l.db.Close() }) //nolint:errcheck // only read
}

// ask reads one number from the store.
func (l *lab) ask(query string, args ...any) (n int) {
	l.t.Helper()
	if err := l.db.QueryRow(query, args...).Scan(&n); err != nil {
		l.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// quicken forgets that the rate was halved and that partitions rest: of the faults
// one in fifty is a 429 or asks to stay away, which does that again and again, and
// what is tried here is not the pace. Requests stay below the limit, since
// a gate without a memory begins with one permit.
func (l *lab) quicken() {
	l.t.Helper()
	for _, table := range []string{"ing_rate_gate", "ing_breaker"} {
		if _, err := l.db.Exec(`DELETE FROM ` + table); err != nil {
			l.t.Fatalf("reset %s: %v", table, err)
		}
	}
}

// finish runs until nothing is left, and returns the last report.
func (l *lab) finish() report {
	l.t.Helper()
	for range 20 {
		l.quicken()
		p := l.start()
		for end := time.Now().Add(patience); !p.ended(); {
			if time.Now().After(end) {
				l.t.Fatalf("the harvest does not end\n%s", tail(p.err.String()))
			}
			select {
			case <-p.done:
			case <-time.After(2 * time.Second):
				l.quicken()
			}
		}
		if p.code() != 0 {
			l.t.Fatalf("the last harvest ended with %d\n%s\n%s", p.code(), p.out.String(), tail(p.err.String()))
		}
		if r := l.report(p); r.Noop {
			return r
		}
	}
	l.t.Fatal("always something left to do")
	return report{}
}

// tail is the end of what a process said, or all from where it broke.
func tail(s string) string {
	for _, word := range []string{"panic: ", "fatal error: ", "SIGSEGV"} {
		if at := strings.Index(s, word); at >= 0 {
			return s[at:min(len(s), at+8000)]
		}
	}
	return s[max(0, len(s)-3000):]
}

// row is a record as both sides print it.
type row struct {
	ID        string    `json:"id"`
	UpdatedAt time.Time `json:"updated_at"`
	SHA       string    `json:"raw_sha256"`
	Deleted   bool      `json:"deleted"`
}

// exact holds the export against the truth up to the watermark, of which there are
// at least so many records, and asks for the integrity check.
func (l *lab) exact(w time.Time, least int) {
	l.t.Helper()
	l.equal(w, least)
	if out, err := l.command("verify").CombinedOutput(); err != nil {
		l.t.Errorf("verify: %v\n%s", err, out)
	}
}

func (l *lab) equal(w time.Time, least int) {
	l.t.Helper()
	out, err := l.command("export", "--source", l.source, "--out", "-").Output()
	if err != nil {
		l.t.Fatalf("export: %v", err)
	}
	have := map[string]row{}
	for line := range bytes.Lines(out) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			l.t.Fatalf("export %q: %v", line, err)
		}
		have[r.ID] = r
	}
	known := map[string]bool{}
	compared := 0
	wrong := 0
	l.get(http.MethodGet, "/_sim/truth/"+l.source, func(r io.Reader) error {
		d := json.NewDecoder(r)
		for {
			var want row
			if err := d.Decode(&want); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			known[want.ID] = true
			if want.Deleted || !want.UpdatedAt.Before(w) {
				continue
			}
			compared++
			got, ok := have[want.ID]
			if !ok || !got.UpdatedAt.Equal(want.UpdatedAt) || got.SHA != want.SHA {
				wrong++
				if wrong <= 5 {
					l.t.Errorf("%s: have %+v (%v), truth %+v", want.ID, got, ok, want)
				}
			}
		}
	})
	for id := range have {
		if !known[id] {
			l.t.Errorf("%s is exported and was never there", id)
		}
	}
	if wrong > 0 || compared < least {
		l.t.Errorf("%d of %d records differ", wrong, compared)
	}
}

// judge is the verdict at the end of a campaign: nothing lost, nothing twice,
// nothing stale, no limit broken, and no page fetched again without a reason.
func (l *lab) judge() {
	l.t.Helper()
	last := l.finish()
	l.exact(last.Watermark, records()*2/3)
	zero := func(what, query string) {
		if n := l.ask(query); n != 0 {
			l.t.Errorf("%d %s", n, what)
		}
	}
	zero("pages committed twice", `SELECT COUNT(*) FROM (SELECT 1 FROM ing_task_run_batch WHERE status_code='SUCCEEDED' GROUP BY task_id, walk_no, phase, ordinal HAVING COUNT(*)>1) d`)
	zero("pages committed under a fence that had moved on", `SELECT COUNT(*) FROM ing_task_run_batch b JOIN ing_task_run r ON r.task_id=b.task_id AND r.fence>b.fence AND r.started_at < b.committed_at WHERE b.status_code='SUCCEEDED'`)
	zero("tasks left open", `SELECT COUNT(*) FROM ing_task WHERE status_code NOT IN ('SUCCEEDED','PARTIAL') OR lease_owner IS NOT NULL`)
	zero("runs left open", `SELECT COUNT(*) FROM ing_task_run WHERE status_code='RUNNING'`)
	zero("poisoned tasks", `SELECT COUNT(*) FROM ing_task WHERE error_code='poison'`)

	var stats struct {
		Sources map[string]struct {
			Requests int
			Breaches struct{ Rate, Concurrency int }
			Repeated []struct {
				Request string
				Times   int
			}
			RepeatedOK int            `json:"repeated_ok"`
			Faults     map[string]int `json:"faults"`
		}
	}
	l.get(http.MethodGet, "/_sim/stats", func(r io.Reader) error { return json.NewDecoder(r).Decode(&stats) })
	s := stats.Sources[l.source]
	if s.Breaches.Rate+s.Breaches.Concurrency != 0 {
		l.t.Errorf("limits were broken: %+v", s.Breaches)
	}
	// A count is asked anew by every process that plans; it is no page.
	again := s.RepeatedOK
	for _, r := range s.Repeated {
		if strings.Contains(r.Request, "retmax=0") || strings.Contains(r.Request, "rows=0") {
			again -= r.Times - 1
		}
	}
	hits := (l.deed.kills + l.deed.zombies) * l.workers
	thrown := l.ask(`SELECT COUNT(*) FROM ing_task_run_batch b JOIN ing_task t ON t.id=b.task_id WHERE b.status_code='SUCCEEDED' AND (b.walk_no<t.walk_no OR t.status_code='PARTIAL')`)
	lost := l.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE error_code IN ('abandoned','outcome_unknown')`)
	pages := l.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`)
	if lost > hits {
		l.t.Errorf("%d pages were in flight at %d kills and stops of %d workers", lost, l.deed.kills+l.deed.zombies, l.workers)
	}
	// Each page that was in flight is fetched again, and with it perhaps the
	// one asked for while the page before it was made durable; a walk begun
	// again fetches what it had.
	if again > lost+hits+thrown {
		l.t.Errorf("%d pages were fetched again; in flight %d, walks thrown away %d", again, lost, thrown)
	}
	faults := 0
	for _, n := range s.Faults {
		faults += n
	}
	l.t.Logf("%s: %d kills, %d stops past the lease, %d fenced, %d starts, %d days ahead; %d pages committed, %d in flight when hit, %d fetched again, %d in walks thrown away; %d requests, %d faults, 0 breaches, 0 stale writes",
		l.source, l.deed.kills, l.deed.zombies, l.deed.fenced, l.deed.starts, 3*l.deed.advances, pages, lost, again, thrown, s.Requests, faults)
}

// empty is the address of a new store, migrated.
func empty(t *testing.T, e patratest.Engine) string {
	t.Helper()
	dsn := e.DSN(t)
	if err := patratest.Open(t, dsn, sqlstore.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	return dsn
}
