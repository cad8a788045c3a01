package proctest

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

const mib = 1 << 20

// mostGrowth is how far the memory of a process may grow over any page that is
// within the limits, or beyond them (R50).
const mostGrowth = 64 * mib

// fatPack is a source of which every day is a slice of one page.
const fatPack = `source: fat
name: Fat
baseUrl: %s
zone: UTC
recordType: item
identity: TEXT
http: {allowHttp: true, allowPrivate: true}
retry: {maxAttempts: 1, base: 10ms, max: 20ms}
rateLimit: {limit: 1000, window: 1s, qps: 900, burst: 1, concurrency: 8}
window: {key: day, filters: {from: day, to: day}, precision: DAY, bound: OPEN, updatedAt: WINDOW, baseline: %dd, step: 1d, minStep: 1d, target: 1}
pagination: {type: OFFSET, pageSize: 100000, order: id, total: EXACT, end: TOTAL}
endpoints:
  items:
    usage: SEARCH
    path: /items
    format: %s
    query: {from: "${date(window.from, '2006-01-02')}", to: "${date(window.to, '2006-01-02')}", offset: "${page.offset}"}
    response: {items: "%s", id: id, total: "%s"}
  count:
    usage: COUNT
    path: /count
    format: JSON
    query: {from: "${date(window.from, '2006-01-02')}", to: "${date(window.to, '2006-01-02')}"}
    response: {root: total, total: total}
mapping: {fields: {title: title, abstract: abstract}}
`

// fatPage is a kind of large page: items that end in a text, numbered.
type fatPage struct {
	xml   bool
	items int
	text  string // of an item, behind its id; %d is its number
	pack  bool   // sent as one gzip member for each item
	code  int    // the exit code of the harvest
}

var fatPages = map[string]fatPage{
	"30,000 items of 1 KiB":      {items: 30_000, text: `"title":"On %d","abstract":"` + noise(900) + `"`},
	"7 items with 4 MiB strings": {items: 7, text: `"title":"On %d","abstract":"` + dull(4*mib-100) + `"`},
	"one string of 30 MiB":       {items: 1, text: `"title":"On %d","abstract":"` + dull(30*mib) + `"`},
	"400 gzip members, 61 MB":    {items: 400, text: `"title":"On %d","abstract":"` + dull(150_000) + `"`, pack: true, code: 6},
	"200 gzip members, 30 MB":    {items: 200, text: `"title":"On %d","abstract":"` + dull(150_000) + `"`, pack: true},
	"22 MB of XML attributes":    {xml: true, items: 4_800, text: "<title>On %d</title><t" + strings.Repeat(` a="`+strings.Repeat("v", 40)+`"`, 100) + "/>"},
}

// dull is a text that packs to about a hundredth.
func dull(n int) string {
	b := []byte(strings.Repeat(" ", n))
	for i, x := 0, uint32(1); i < n; i += 128 {
		x = x*1664525 + 1013904223
		b[i] = 'a' + byte(x>>28)
	}
	return string(b)
}

// noise is a text that packs badly.
func noise(n int) string {
	var b strings.Builder
	const letters = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,"
	for x := uint64(88172645463325252); b.Len() < n; {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b.WriteByte(letters[x>>33%uint64(len(letters))])
	}
	return b.String()
}

// write sends the page of a day.
func (p fatPage) write(w http.ResponseWriter, day string) {
	var to io.Writer = w
	var z *gzip.Writer
	if p.pack {
		w.Header().Set("Content-Encoding", "gzip")
		z = gzip.NewWriter(w)
		to = z
	}
	out := bufio.NewWriterSize(to, 1<<16)
	head := fmt.Sprintf(`{"total":%d,"items":[`, p.items)
	end := "]}"
	if p.xml {
		head = fmt.Sprintf("<r><total>%d</total>", p.items)
		end = "</r>"
	}
	out.WriteString(head)
	for i := range p.items {
		text := strings.Replace(p.text, "%d", fmt.Sprint(i), 1)
		switch {
		case p.xml:
			fmt.Fprintf(out, "<i><id>%s-%d</id>%s</i>", day, i, text)
		case i > 0:
			out.WriteByte(',')
			fallthrough
		default:
			fmt.Fprintf(out, `{"id":"%s-%d",%s}`, day, i, text)
		}
		if z != nil {
			out.Flush()
			z.Close() //nolint:errcheck // nobody reads on
			z.Reset(w)
		}
		if out.Flush() != nil {
			return
		}
	}
	out.WriteString(end)
	out.Flush()
	if z != nil {
		z.Close() //nolint:errcheck // nobody reads on
	}
}

// memoryOf reads a line of a process's account, in bytes: VmRSS is what it has in
// use, VmHWM the most it has had. 0: it has ended.
func memoryOf(pid int64, line string) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, text, _ := strings.Cut(string(b), line+":")
	var kib int64
	fmt.Sscan(text, &kib) //nolint:errcheck // 0 if it is not there
	return kib << 10
}

// peakOf waits for a process that was begun, and tells the most memory that it has had. What the
// system tells of one that has ended counts in the process that began it.
func peakOf(cmd *exec.Cmd) (most int64, err error) {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			return most, err
		case <-time.After(10 * time.Millisecond): // the peak so far, whenever it was
			most = max(most, memoryOf(int64(cmd.Process.Pid), "VmHWM"))
		}
	}
}

// TestR50_LargePagesDoNotGrowTheProcess harvests four slices with four workers, each
// slice a page at or beyond the limits, by a process of its own: from the first page
// to the end of the process its memory has not grown by 64 MiB, and all is stored.
func TestR50_LargePagesDoNotGrowTheProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("left out under -short: six processes with large pages; make test runs it")
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skipf("peak memory cannot be read on this system: %v", err)
	}
	for name, p := range fatPages {
		t.Run(name, func(t *testing.T) { p.harvest(t) })
	}
}

const fatDays = 4

func (p fatPage) harvest(t *testing.T) {
	var pid, base atomic.Int64
	var once sync.Once
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, to := r.FormValue("from"), r.FormValue("to")
		if r.URL.Path == "/count" {
			a, _ := time.Parse(time.DateOnly, from)
			b, _ := time.Parse(time.DateOnly, to)
			fmt.Fprintf(w, `{"total":%d}`, int(b.Sub(a).Hours()/24))
			return
		}
		once.Do(func() { base.Store(memoryOf(pid.Load(), "VmHWM")) })
		p.write(w, from)
	}))
	defer srv.Close()
	dir := t.TempDir()
	pack := fmt.Sprintf(fatPack, srv.URL, fatDays, "JSON", "items", "total")
	if p.xml {
		pack = fmt.Sprintf(fatPack, srv.URL, fatDays, "XML", "r/i", "r/total")
	}
	if err := os.WriteFile(filepath.Join(dir, "fat.yaml"), []byte(pack), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "harvest", "fat", "--sources", dir, "--workers", "4", "--progress", "none", "--contact", "test@example.org")
	cmd.Env = append(os.Environ(), "PATRA_DB=sqlite:"+filepath.Join(dir, "p.db"))
	var out lockedBuffer
	cmd.Stdout = &out
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid.Store(int64(cmd.Process.Pid))
	most, _ := peakOf(cmd) // how it ended is looked at below
	grew := most - base.Load()
	t.Logf("grew by %.1f MiB from %.1f MiB", float64(grew)/mib, float64(base.Load())/mib)
	if base.Load() == 0 || grew >= mostGrowth {
		t.Errorf("grew by %d MiB from %d MiB\n%s", grew/mib, base.Load()/mib, tail(out.String()))
	}
	if code := cmd.ProcessState.ExitCode(); code != p.code {
		t.Errorf("ended with %d, want %d\n%s", code, p.code, tail(out.String()))
	}
	if all := fmt.Sprintf("%d new", fatDays*p.items); p.items > 1 && p.code == 0 && !strings.Contains(out.String(), all) {
		t.Errorf("not %s:\n%s", all, tail(out.String()))
	}
}
