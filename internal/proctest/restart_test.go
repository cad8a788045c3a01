package proctest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/sources"
)

// The campaign plays Crossref a few times as fast and with pages a fiftieth as
// large. A slice has as many pages as the pack gives it.
const (
	restartRows   = 20
	restartRate   = 30
	restartLimit  = 45
	shippedRows   = 1000
	otherTarget   = 20_000 // of the pack that the other binary came with
	restartRounds = 2
)

// shippedTarget is how many records a slice of Crossref may hold.
func shippedTarget(t *testing.T) int {
	t.Helper()
	b, err := sources.FS.ReadFile("crossref.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^  target: (\d+)$`).FindSubmatch(b)
	if m == nil {
		t.Fatal("the pack has no target")
	}
	n := 0
	if _, err := fmt.Sscan(string(m[1]), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// restartPack is Crossref's pack with a page size and a rate for the campaign, and
// slices of as many pages as of a target in the shipped one.
func restartPack(t *testing.T, target int) string {
	t.Helper()
	b, err := sources.FS.ReadFile("crossref.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for pattern, with := range map[string]string{
		`  target: \d+\n`:      fmt.Sprintf("  target: %d\n", target*restartRows/shippedRows),
		`  pageSize: 1000\n`:   fmt.Sprintf("  pageSize: %d\n", restartRows),
		`  qps: [0-9.]+\n`:     fmt.Sprintf("  qps: %d\n", restartRate),
		`  limit: \d+\n`:       fmt.Sprintf("  limit: %d\n", restartLimit),
		`  base: 1s\n`:         "  base: 50ms\n",
		`  concurrency: 1\n`:   "  concurrency: 1\n",
		`  limitHeaders: .*\n`: "",
	} {
		re := regexp.MustCompile(`(?m)^` + pattern)
		if n := len(re.FindAllString(text, -1)); n != 1 {
			t.Fatalf("the pack has %q %d times", pattern, n)
		}
		text = re.ReplaceAllString(text, with)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "crossref.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// restarts is what a campaign came to.
type restarts struct {
	kills    int
	served   int // records, over all walks
	requests int
	took     time.Duration
}

// restartCampaign harvests n records with one process after another, each killed
// after as many pages as the dice say, and with the last one to the end.
func restartCampaign(t *testing.T, bin string, target, n, kills int, seed uint64) restarts {
	t.Helper()
	// Its own binary makes the database: another may know another schema.
	l := newLab(t, "crossref", patratest.SQLite.DSN(t), seed, "--records", fmt.Sprint(n), "--limit-rps", fmt.Sprint(restartLimit), "--latency", "20ms")
	l.bin = bin
	l.packs = restartPack(t, target)
	l.workers = 4
	began := time.Now()
	// However the dice fall there is something left to do at the last kill.
	pages := n / restartRows / max(1, kills)
	for range kills {
		until := l.served() + restartRows*(5+l.dice.IntN(pages-10))
		p := l.start()
		for l.served() < until && !p.ended() {
			pause(5 * time.Millisecond)
		}
		if p.ended() {
			t.Fatalf("ended with %d before it could be killed: too few records\n%s", p.code(), tail(p.err.String()))
		}
		p.end()
		l.deed.kills++
	}
	p := l.start()
	<-p.done
	if p.code() != 0 {
		t.Fatalf("the last harvest ended with %d\n%s\n%s", p.code(), p.out.String(), tail(p.err.String()))
	}
	out := restarts{kills: kills, took: time.Since(began), served: l.served(), requests: l.stats().Requests}
	l.exact(l.report(p).Watermark, n*9/10)
	return out
}

type servedStats struct {
	Requests      int
	RecordsServed int `json:"records_served"`
	Breaches      struct{ Rate, Concurrency int }
}

func (l *lab) stats() servedStats {
	l.t.Helper()
	var s struct{ Sources map[string]servedStats }
	l.get(http.MethodGet, "/_sim/stats", func(r io.Reader) error { return json.NewDecoder(r).Decode(&s) })
	return s.Sources[l.source]
}

// served is how many records the source has served.
func (l *lab) served() int { return l.stats().RecordsServed }

// TestProcess_AKillCostsOneSliceAtMost: Crossref holds the place of a walk, so one
// that dies is begun again. However many workers there are, a kill costs no more
// than what one slice holds, since no more walks are begun than requests may be in
// flight. With PATRA_OTHER_BINARY the same is done to another patra, whose walks
// must lose at least four times as much, for hardly fewer requests.
func TestProcess_AKillCostsOneSliceAtMost(t *testing.T) {
	t.Parallel()
	target := shippedTarget(t)
	slice := target * restartRows / shippedRows
	other := os.Getenv("PATRA_OTHER_BINARY")
	n := 2400
	kills := 3
	rounds := 1
	if other != "" {
		// A 1600th of Crossref's month, which halves into slices alike.
		n = 18_750
		kills = 7
		rounds = restartRounds
	}
	var mine, theirs, whole, theirWhole restarts
	sum := func(to *restarts, r restarts) {
		to.kills += r.kills
		to.served += r.served
		to.requests += r.requests
		to.took += r.took
	}
	for i := range rounds {
		seed := uint64(500 + i)
		if other != "" {
			sum(&theirWhole, restartCampaign(t, other, otherTarget, n, 0, seed))
			sum(&theirs, restartCampaign(t, other, otherTarget, n, kills, seed))
		}
		sum(&whole, restartCampaign(t, binary, target, n, 0, seed))
		sum(&mine, restartCampaign(t, binary, target, n, kills, seed))
	}
	again := (mine.served - whole.served) / mine.kills
	t.Logf("%d kills: %d records fetched again per kill, a slice holds %d; without kills %d requests in %s",
		mine.kills, again, slice, whole.requests, whole.took.Round(time.Millisecond))
	if most := slice + slice/10 + 2*restartRows; again > most {
		t.Errorf("a kill cost %d records, a slice holds %d", again, slice)
	}
	if other == "" {
		return
	}
	theirAgain := (theirs.served - theirWhole.served) / theirs.kills
	t.Logf("the other, %d kills: %d records fetched again per kill; without kills %d requests in %s",
		theirs.kills, theirAgain, theirWhole.requests, theirWhole.took.Round(time.Millisecond))
	if theirAgain < 4*again {
		t.Errorf("a kill cost %d records, of the other %d: less than four times as much", again, theirAgain)
	}
	// Where the rate is kept, requests are time; the clock also tells what else this
	// machine had to do. With so few records a slice the counts weigh more than at
	// Crossref's size, where there are fewer requests than before.
	if whole.requests > theirWhole.requests*110/100 {
		t.Errorf("without kills it took %d requests, the other %d", whole.requests, theirWhole.requests)
	}
	if strings.TrimSpace(other) == binary {
		t.Error("compared with itself")
	}
}
