package executor_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// spoiler rewrites replies of the oracle while it is on.
type spoiler struct {
	http.RoundTripper
	on      bool
	rewrite func(body string, h http.Header) string
	asked   int
}

func (s *spoiler) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	res, err := s.RoundTripper.RoundTrip(r)
	if err != nil || !s.on || r.URL.Query().Get("only") == "count" {
		return res, err
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	text := s.rewrite(string(b), res.Header)
	res.Header.Del("Content-Length")
	res.ContentLength = -1
	res.Body = io.NopCloser(strings.NewReader(text))
	if before, ok := strings.CutSuffix(text, cutOff); ok {
		text = before
		res.ContentLength = int64(len(text)) + 100
		res.Body = io.NopCloser(io.MultiReader(strings.NewReader(text), cut{}))
	}
	return res, nil
}

// cutOff at the end of a reply stands for a connection that is lost there.
const cutOff = "\xff\xffcut"

type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestR84_OneItemIsPutAside: whatever is wrong inside of one item of sixty, the
// other 59 are stored, the one is in quarantine as it came, and nothing is asked
// for twice.
func TestR84_OneItemIsPutAside(t *testing.T) {
	t.Parallel()
	before := func(what string) func(string, http.Header) string {
		return func(body string, _ http.Header) string {
			return strings.Replace(body, `"title":"`, what+`"title":"`, 1)
		}
	}
	within := func(what string) func(string, http.Header) string {
		return func(body string, _ http.Header) string {
			return strings.Replace(body, `"title":"`, `"title":"`+what, 1)
		}
	}
	cases := map[string]struct {
		rewrite func(string, http.Header) string
		code    string
	}{
		"NUL":              {within("\x00"), "bad_text"},
		"line break":       {within("\n"), "bad_text"},
		"escape":           {within("\x1b[2J"), "bad_text"},
		"unknown escape":   {within(`\q`), "bad_text"},
		"half a character": {within(`\ud800`), "bad_text"},
		"bad UTF-8":        {within("\xff"), "bad_text"},
		"over 4 MiB":       {within(strings.Repeat("x", 4<<20+1)), "too_long"},
		"deep lists":       {before(`"x":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `,`), "too_long"},
		"deep objects":     {before(`"x":` + strings.Repeat(`{"x":`, 500) + "1" + strings.Repeat("}", 500) + `,`), "too_long"},
		"no time":          {func(b string, _ http.Header) string { return strings.Replace(b, `"updated":"`, `"updated":"x`, 1) }, "bad_date"},
		"list for a time": {func(b string, _ http.Header) string {
			return strings.Replace(b, `"updated":"`, `"updated":[],"u":"`, 1)
		}, "bad_date"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				// It is one record of them all that is so, whenever it is asked for.
				var one string
				spoilt := &spoiler{on: true, rewrite: func(body string, h http.Header) string {
					if _, rest, found := strings.Cut(body, `{"id":`); found && one == "" {
						one, _, _ = strings.Cut(rest, ",")
					}
					before, item, found := strings.Cut(body, `{"id":`+one+`,`)
					if !found {
						return body
					}
					return before + c.rewrite(`{"id":`+one+`,`+item, h)
				}}
				b := newBench(t, manners["offset-total"], setup{sim: sim.Config{Records: 60}, wrap: func(rt http.RoundTripper) http.RoundTripper {
					spoilt.RoundTripper = rt
					return spoilt
				}})
				rep := b.MustHarvest("generic")
				stored := b.ask(`SELECT COUNT(*) FROM ing_record`)
				aside := b.ask(`SELECT COUNT(*) FROM ing_quarantine`)
				if rep.Status != "COMPLETED" || stored != 59 || aside != 1 {
					t.Fatalf("%s with %d stored and %d put aside", rep.Status, stored, aside)
				}
				if code := b.text(`SELECT code FROM ing_quarantine`); code != c.code {
					t.Errorf("put aside for %s, want %s", code, c.code)
				}
				if n := b.ask(`SELECT LENGTH(raw) FROM ing_quarantine`); n == 0 {
					t.Error("nothing of the item is kept")
				}
				if spoilt.asked > 6 {
					t.Errorf("%d requests", spoilt.asked)
				}
				patratest.MustVerify(t, b.Node.Store)
			})
		})
	}
}

// TestR84_AFloodIsAnotherSchema: when more than a fifth of the items cannot be read
// that is no bad luck, and nothing of the page is stored.
func TestR84_AFloodIsAnotherSchema(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		spoilt := &spoiler{on: true, rewrite: func(body string, _ http.Header) string {
			return strings.ReplaceAll(body, `"title":"`, "\"title\":\"\x00")
		}}
		b := newBench(t, manners["offset-total"], setup{sim: sim.Config{Records: 60}, wrap: func(rt http.RoundTripper) http.RoundTripper {
			spoilt.RoundTripper = rt
			return spoilt
		}})
		_, _ = b.Harvest(t.Context(), "generic")
		if n := b.ask(`SELECT COUNT(*) FROM ing_record`) + b.ask(`SELECT COUNT(*) FROM ing_quarantine`) + b.ask(committed); n != 0 {
			t.Errorf("%d rows of such a page", n)
		}
		if code := b.text(`SELECT error_code FROM ing_task_run`); code != "schema_drift" {
			t.Errorf("ended for %s", code)
		}
	})
}

// unreadable are replies that no repetition mends.
var unreadable = map[string]func(body string, h http.Header) string{
	"UTF-16, little end first": func(b string, _ http.Header) string { return "\xff\xfe" + utf16Text(b, 0) },
	"UTF-16, big end first":    func(b string, _ http.Header) string { return "\xfe\xff" + utf16Text(b, 1) },
	"UTF-16 without a mark":    func(b string, _ http.Header) string { return utf16Text(b, 0) },
	"brotli":                   func(b string, h http.Header) string { h.Set("Content-Encoding", "br"); return b },
	"zstd":                     func(b string, h http.Header) string { h.Set("Content-Encoding", "zstd"); return b },
	"deflate": func(b string, h http.Header) string {
		h.Set("Content-Encoding", "deflate")
		var out bytes.Buffer
		w, _ := flate.NewWriter(&out, 1)
		_, _ = io.WriteString(w, b)
		_ = w.Close()
		return out.String()
	},
	"gzip twice": func(b string, h http.Header) string {
		h.Set("Content-Encoding", "gzip")
		return gzipped(gzipped(b))
	},
	"gzip that is not said": func(b string, _ http.Header) string { return gzipped(b) },
	"two documents":         func(b string, _ http.Header) string { return b + b },
	"text behind it":        func(b string, _ http.Header) string { return b + " <!-- 0.2 s -->" },
}

func utf16Text(s string, big int) string {
	var out strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		two := [2]byte{byte(u), byte(u >> 8)}
		out.WriteByte(two[big])
		out.WriteByte(two[1-big])
	}
	return out.String()
}

func gzipped(s string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return out.String()
}

// TestR84_WhatCannotBeReadIsNotWaitedFor: at the first contact with a source one
// such reply stops it; later, also for another process, it is a gap. Neither is
// asked for again, and nothing waits.
func TestR84_WhatCannotBeReadIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, rewrite := range unreadable {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := manners["token"]
				m.blind = true
				spoilt := &spoiler{on: true, rewrite: rewrite}
				between := func(rt http.RoundTripper) http.RoundTripper {
					spoilt.RoundTripper = rt
					return spoilt
				}
				b := newBench(t, m, setup{wrap: between, sim: sim.Config{Records: 40}})
				start := time.Now()
				rep, err := b.Harvest(t.Context(), "generic")
				if err == nil || !strings.Contains(err.Error(), "L4 unreadable") || spoilt.asked != 1 || time.Since(start) > time.Minute {
					t.Errorf("first contact: %d requests in %v: %+v, %v", spoilt.asked, time.Since(start), rep, err)
				}

				// A source that was read before.
				spoilt.on = false
				b = newBench(t, m, setup{wrap: between, sim: sim.Config{Records: 40}})
				b.exact()
				b.Sim.Advance(48 * time.Hour)
				time.Sleep(48 * time.Hour)
				b.again()
				spoilt.on, spoilt.asked = true, 0
				start = time.Now()
				rep, err = b.Harvest(t.Context(), "generic")
				level := b.text(`SELECT error FROM ing_task_run ORDER BY id DESC LIMIT 1`)
				if !strings.Contains(level, "L2 unreadable") || spoilt.asked > 3 || time.Since(start) > time.Minute {
					t.Errorf("later: %d requests in %v, ended for %q: %+v, %v", spoilt.asked, time.Since(start), level, rep, err)
				}
			})
		})
	}
}

// TestR84_ACutConnectionIsPassing: what is cut off is asked for again.
func TestR84_ACutConnectionIsPassing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		n := 0
		spoilt := &spoiler{on: true, rewrite: func(body string, _ http.Header) string {
			n++
			if n == 1 {
				return body[:len(body)/2] + cutOff
			}
			return body
		}}
		m := manners["token"]
		m.blind = true
		b := newBench(t, m, setup{sim: sim.Config{Records: 40}, wrap: func(rt http.RoundTripper) http.RoundTripper {
			spoilt.RoundTripper = rt
			return spoilt
		}})
		b.exact()
	})
}

// TestR84_ARestSaysWhy: the line about a partition that rests names code and cause.
func TestR84_ARestSaysWhy(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var lines logLines
		n := 0
		spoilt := &spoiler{on: true, rewrite: func(body string, _ http.Header) string {
			n++
			if n == 1 { // the planner's, or nothing would be planned
				return body
			}
			return `{"items":[}`
		}}
		m := manners["token"]
		m.blind = true
		b := newBench(t, m, setup{sim: sim.Config{Records: 40}, node: node.Config{Logger: slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelInfo}))}, wrap: func(rt http.RoundTripper) http.RoundTripper {
			spoilt.RoundTripper = rt
			return spoilt
		}})
		ctx, stop := contextWithStop()
		defer stop()
		time.AfterFunc(2*time.Hour, stop)
		_, _ = b.Harvest(ctx, "generic")
		rests, warnings := 0, 0
		for line := range strings.Lines(lines.String()) {
			if strings.Contains(line, "level=WARN") && strings.Contains(line, "code=bad_reply") && strings.Contains(line, "malformed at byte") {
				warnings++
			}
			if strings.Contains(line, "partition rests") {
				rests++
				if !strings.Contains(line, "code=bad_reply") || !strings.Contains(line, "cause=") || !strings.Contains(line, "malformed at byte") {
					t.Errorf("says %s", line)
				}
			}
		}
		if rests == 0 || warnings != 1 {
			t.Errorf("it rested %d times, of which people were warned %d times", rests, warnings)
		}
	})
}

type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
