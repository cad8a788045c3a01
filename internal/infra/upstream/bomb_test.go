package upstream

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/decode"
)

// bombs are replies that are meant to hurt. Each writes itself to a connection
// until it is done or nobody listens any more.
var bombs = map[string]struct {
	xml   bool
	code  string // of the fault
	level harvest.Level
	serve http.HandlerFunc
}{
	"gzip bomb of 1 GiB":           {false, "reply_too_large", harvest.Rejected, packed(1<<30, blanks)},
	"gzip bomb in XML":             {true, "reply_too_large", harvest.Rejected, packed(1<<30, blanks)},
	"gzip, just below the ratio":   {false, "reply_too_large", harvest.Rejected, packed(1<<30, poorly)},
	"gzip in gzip":                 {false, "unreadable", harvest.Rejected, packedTwice(1 << 30)},
	"gzip bomb behind an error":    {false, "http_400", harvest.Rejected, failed(packed(1<<30, blanks))},
	"1 GiB unpacked":               {false, "reply_too_large", harvest.Rejected, plain("", strings.Repeat(" ", 1<<16), 1<<14, "")},
	"1 GiB announced":              {false, "reply_too_large", harvest.Rejected, announced(1 << 30)},
	"1 GiB behind an error":        {false, "http_400", harvest.Rejected, failed(plain("", strings.Repeat("x", 1<<16), 1<<14, ""))},
	"10 million lists":             {false, "reply_too_large", harvest.Rejected, plain("", strings.Repeat("[", 1000), 10_000, "")},
	"10 million lists, closed":     {false, "", "", nest(`{"items":`, "[", "]", "}")},
	"6 million objects":            {false, "reply_too_large", harvest.Rejected, plain(`{"items":[`, strings.Repeat(`{"a":`, 500), 12_000, "")},
	"10 million elements":          {true, "reply_too_large", harvest.Rejected, plain("<PubmedArticleSet>", strings.Repeat("<a>", 1000), 10_000, "")},
	"4 million elements, closed":   {true, "reply_too_large", harvest.Rejected, nest("<PubmedArticleSet>", "<a>", "</a>", "</PubmedArticleSet>")},
	"billion laughs":               {true, "reply_too_large", harvest.Rejected, plain(laughs, "", 0, "")},
	"quadratic blowup":             {true, "reply_too_large", harvest.Rejected, plain(`<!DOCTYPE x [<!ENTITY a "`+strings.Repeat("a", 1<<16)+`">]><x>`, strings.Repeat("&a;", 1<<16), 1, "</x>")},
	"entity of another file":       {true, "reply_too_large", harvest.Rejected, plain(`<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>`, "", 0, "")},
	"one string of 31 MiB":         {false, "", "", plain(`{"items":["`, strings.Repeat("x", 1<<20), 31, `"]}`)},
	"one escaped string of 31 MiB": {false, "", "", plain(`{"items":["`, strings.Repeat(`\u0041\n`, 1<<17), 31, `"]}`)},
	"one key of 31 MiB":            {false, "reply_too_large", harvest.Rejected, plain(`{"`, strings.Repeat("x", 1<<20), 31, `":1}`)},
	"one number of 31 MiB":         {false, "", "", plain(`{"items":[`, strings.Repeat("1", 1<<20), 31, `]}`)},
	"one text of 31 MiB":           {true, "reply_too_large", harvest.Rejected, plain("<PubmedArticleSet>", strings.Repeat("x", 1<<20), 31, "</PubmedArticleSet>")},
	"one attribute of 31 MiB":      {true, "reply_too_large", harvest.Rejected, plain(`<PubmedArticleSet a="`, strings.Repeat("x", 1<<20), 31, `"/>`)},
	"one comment of 31 MiB":        {true, "", "", plain(`<PubmedArticleSet><!--`, strings.Repeat("x", 1<<20), 31, `--></PubmedArticleSet>`)},
	"ten million items":            {false, "reply_too_large", harvest.Rejected, plain(`{"items":[{}`, strings.Repeat(",{}", 1000), 10_000, `]}`)},
	"the key a million times":      {false, "", "", plain(`{"items":[],"x":"`, strings.Repeat(bombKey+" ", 1000), 200, `"}`)},
	"the key after 31 MiB":         {false, "", "", plain(`{"items":[],"x":[1`, strings.Repeat(",1", 1<<19), 31, `,"`+bombKey+`"]}`)},
	"7 strings of 4 MiB":           {false, "", "", plain(`{"items":[{"id":"0"}`, `,{"id":"1","t":"`+strings.Repeat("x", 4*mib-100)+`"}`, 7, `]}`)},
	"25,000 ordinary items":        {false, "", "", plain(`{"items":[{"id":"0"}`, `,{"id":"1","t":"`+strings.Repeat("word ", 180)+`"}`, 25_000, `]}`)},
	"30,000 deep items":            {false, "", "", plain(`{"items":[{"id":"0"}`, `,{"id":"1","t":`+strings.Repeat(`{"a":`, 100)+"1"+strings.Repeat("}", 100)+`}`, 30_000, `]}`)},
	"22 MB of attributes":          {true, "", "", plain("<PubmedArticleSet>", "<PubmedArticle><PMID>1</PMID><t"+strings.Repeat(` a="`+strings.Repeat("v", 40)+`"`, 100)+"/></PubmedArticle>", 4_800, "</PubmedArticleSet>")},
	"400 gzip members":             {false, "reply_too_large", harvest.Rejected, members(400)},
	"header of 1 GiB":              {false, "reply_too_large", harvest.Rejected, headers("X-Big: " + strings.Repeat("x", 1<<16))},
	"a million headers":            {false, "reply_too_large", harvest.Rejected, headers("X-%d: y")},
	"status line of 1 GiB":         {false, "reply_too_large", harvest.Rejected, statusLine},
}

const (
	bombKey = "c4nary-key-000001"
	mib     = 1 << 20
	// most is how far the memory of a process may grow over any of them (R50).
	most = 64 * mib
)

func blanks(n int) []byte { return []byte(strings.Repeat(" ", n)) }

// poorly packs to about a hundredth.
func poorly(n int) []byte {
	b := blanks(n)
	for i, x := 0, uint32(1); i < n; i += 128 {
		x = x*1664525 + 1013904223
		b[i] = '!' + byte(x>>26)
	}
	return b
}

func packed(size int, of func(int) []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		piece := of(mib)
		for n := 0; n < size; n += len(piece) {
			if _, err := z.Write(piece); err != nil {
				return
			}
		}
		z.Close()
	}
}

// members packs 150 KB again and again, each by itself.
func members(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		for range n {
			z := gzip.NewWriter(w)
			if _, err := z.Write(poorly(150_000)); err != nil {
				return
			}
			z.Close()
		}
	}
}

func packedTwice(size int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		inner := httptest.NewRecorder()
		packed(size/16, blanks)(inner, r)
		z.Write(inner.Body.Bytes())
		z.Close()
	}
}

func failed(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h(&withStatus{ResponseWriter: w, code: http.StatusBadRequest}, r)
	}
}

type withStatus struct {
	http.ResponseWriter
	code int
	once bool
}

func (w *withStatus) Write(b []byte) (int, error) {
	if !w.once {
		w.once = true
		w.WriteHeader(w.code)
	}
	return w.ResponseWriter.Write(b)
}

func plain(before, piece string, times int, after string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		out := bufio.NewWriterSize(w, 1<<16)
		out.WriteString(before)
		for range times {
			if _, err := out.WriteString(piece); err != nil {
				return
			}
		}
		out.WriteString(after)
		out.Flush()
	}
}

func nest(before, open, end, after string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n := 10_000
		if len(open) > 1 { // both tags within what is read at all
			n = 4_000
		}
		plain(before, strings.Repeat(open, 1000), n, "")(w, r)
		plain("", strings.Repeat(end, 1000), n, after)(w, r)
	}
}

func announced(size int64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		io.WriteString(w, "{")
	}
}

const laughs = `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol1 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">
<!ENTITY lol2 "&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;"><!ENTITY lol3 "&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;">
<!ENTITY lol4 "&lol3;&lol3;&lol3;&lol3;&lol3;&lol3;&lol3;&lol3;&lol3;&lol3;"><!ENTITY lol5 "&lol4;&lol4;&lol4;&lol4;&lol4;&lol4;&lol4;&lol4;&lol4;&lol4;">
<!ENTITY lol6 "&lol5;&lol5;&lol5;&lol5;&lol5;&lol5;&lol5;&lol5;&lol5;&lol5;"><!ENTITY lol7 "&lol6;&lol6;&lol6;&lol6;&lol6;&lol6;&lol6;&lol6;&lol6;&lol6;">
<!ENTITY lol8 "&lol7;&lol7;&lol7;&lol7;&lol7;&lol7;&lol7;&lol7;&lol7;&lol7;"><!ENTITY lol9 "&lol8;&lol8;&lol8;&lol8;&lol8;&lol8;&lol8;&lol8;&lol8;&lol8;">
]><PubmedArticleSet><PubmedArticle>&lol9;</PubmedArticle></PubmedArticleSet>`

// raw takes the connection over.
func raw(w http.ResponseWriter, write func(*bufio.Writer) error) {
	c, out, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if write(out.Writer) == nil {
		out.Flush()
	}
}

func headers(line string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		raw(w, func(out *bufio.Writer) error {
			out.WriteString("HTTP/1.1 200 OK\r\n")
			for i := range mib {
				text := line
				if strings.Contains(line, "%d") {
					text = fmt.Sprintf(line, i)
				}
				if _, err := out.WriteString(text + "\r\n"); err != nil {
					return err
				}
			}
			_, err := out.WriteString("\r\n" + `{"items":[]}`)
			return err
		})
	}
}

func statusLine(w http.ResponseWriter, _ *http.Request) {
	raw(w, func(out *bufio.Writer) error {
		out.WriteString("HTTP/1.1 200 ")
		for range 1 << 14 {
			if _, err := out.WriteString(strings.Repeat("x", 1<<16)); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestR50_BombsDoNotGrowTheProcess sends each bomb over HTTP to a process of its
// own, which asks with the real client and the real decoders: it lives, says
// what is documented, and its memory has not grown by 64 MiB at its highest.
func TestR50_BombsDoNotGrowTheProcess(t *testing.T) {
	if at := os.Getenv("PATRA_TEST_BOMB"); at != "" {
		standTheBomb(t, at)
		return
	}
	if testing.Short() {
		t.Skip("left out under -short: 34 processes that are fed bombs; make test runs it")
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skipf("peak memory cannot be read on this system: %v", err)
	}
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range bombs {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = r.ParseForm()
				if r.Form.Get("warm") != "" {
					if b.xml {
						io.WriteString(w, "<PubmedArticleSet></PubmedArticleSet>")
					} else {
						io.WriteString(w, `{"items":[]}`)
					}
					return
				}
				asked.Add(1)
				b.serve(w, r)
			}))
			srv.Config.ConnState = func(c net.Conn, s http.ConnState) {
				if s == http.StateNew {
					_ = c.SetDeadline(time.Now().Add(30 * time.Second))
				}
			}
			defer srv.Close()
			cmd := exec.CommandContext(t.Context(), me, "-test.run=^TestR50_BombsDoNotGrowTheProcess$", "-test.v")
			cmd.Env = append(os.Environ(), "PATRA_TEST_BOMB="+srv.URL, fmt.Sprint("PATRA_TEST_XML=", b.xml))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("the process died: %v\n%s", err, tail(out))
			}
			_, line, _ := strings.Cut(string(out), "BOMB ")
			line, _, _ = strings.Cut(line, "\n")
			var got stood
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatalf("%v in %s", err, tail(out))
			}
			t.Logf("grew by %.1f MiB from %.1f MiB, in %v: %s %s", float64(got.After-got.Before)/mib, float64(got.Before)/mib, got.Took.Round(time.Millisecond), got.Level, got.Code)
			if got.Code != b.code || got.Level != b.level {
				t.Errorf("%s %s, want %s %s: %s", got.Level, got.Code, b.level, b.code, got.Error)
			}
			if grew := got.After - got.Before; grew >= most {
				t.Errorf("grew by %d MiB", grew/mib)
			}
			if asked.Load() == 0 || b.level == harvest.Rejected && asked.Load() != 1 {
				t.Errorf("asked %d times", asked.Load())
			}
		})
	}
}

func tail(b []byte) string { return string(b[max(0, len(b)-4000):]) }

// stood is what a process tells of its bomb.
type stood struct {
	Before, After int64 // memory in use, and the most of it since
	Took          time.Duration
	Code          string
	Level         harvest.Level
	Error         string
}

// decoders are the real ones, which node introduces to the client.
type decoders struct{}

func (decoders) For(spec *source.Spec, p source.Purpose) (Decoder, error) {
	cal, err := spec.Window.Calendar()
	if err != nil {
		return nil, err
	}
	return decode.Compile(spec.Endpoint(p), spec.ID, &spec.Mapping, cal)
}

// standTheBomb is the child: a good question, then the bad one.
func standTheBomb(t *testing.T, at string) {
	spec := authSpec(auths["key in header"])
	spec.Retry = source.Retry{Attempts: 2, Base: source.Duration(time.Millisecond), Max: source.Duration(time.Millisecond)}
	spec.Search = source.Endpoint{
		Path: "/works", Format: source.FormatJSON, Query: map[string]string{"warm": "${page.token}"},
		Response: source.Response{Items: []string{"items"}, ID: []source.Pick{{Path: "id"}}},
	}
	if os.Getenv("PATRA_TEST_XML") == "true" {
		spec.Search.Format = source.FormatXML
		spec.Search.Response = source.Response{Items: []string{"PubmedArticleSet/PubmedArticle"}, ID: []source.Pick{{Path: "PMID"}}}
	}
	c := newClient(Config{Credentials: &pool{keys: []string{bombKey}}}, new(free), decoders{})
	defer c.Close()
	ask := func(token string) error {
		_, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, BaseURL: source.WithCredentials(at), Position: harvest.Position{Token: token}})
		return err
	}
	if err := ask("warm"); err != nil {
		t.Fatal(err)
	}
	debug.FreeOSMemory()
	var got stood
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // measure the most anew, if we may
	got.Before = memory(t, "VmRSS")
	start := time.Now()
	err := ask("")
	got.Took, got.After = time.Since(start), memory(t, "VmHWM")
	if err != nil {
		f := mustFault(t, err)
		got.Code = string(f.Code)
		got.Level = f.Level
		got.Error = err.Error()
	}
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\nBOMB %s\n", b)
}

// memory reads a line of the process's own account, in bytes: VmRSS is what it
// has in use, VmHWM the most it has had.
func memory(t *testing.T, line string) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), line+":")
	var kib int64
	if _, err := fmt.Sscan(text, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
