package upstream

import (
	"bufio"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// hostileBody is a reply that is meant to hurt, in a size that costs a test little:
// the source's limit on bodies is 1 MiB here.
type hostileBody struct {
	xml   bool
	want  string // level and code of the fault, empty for a page
	serve http.HandlerFunc
}

const (
	smallReply = 1 << 20
	page1      = `{"items":[{"id":"1"}`
)

// text is a reply of JSON or XML.
func text(parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Join(parts, "")) }
}

// headed is a reply with a header in front.
func headed(name, value, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(name, value)
		_, _ = io.WriteString(w, body)
	}
}

// onWire writes a whole reply, status line and all, and closes the connection.
func onWire(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		raw(w, func(out *bufio.Writer) error {
			_, err := out.WriteString(s)
			return err
		})
	}
}

// endless writes piece again and again until nobody listens any more.
func endless(before, piece string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, before)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
			if pause > 0 {
				_ = http.NewResponseController(w).Flush()
				time.Sleep(pause)
			}
		}
	}
}

func gz(s string) string {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = io.WriteString(z, s)
	_ = z.Close()
	return out.String()
}

func deflated(s string) string {
	var out bytes.Buffer
	z, _ := flate.NewWriter(&out, 5)
	_, _ = io.WriteString(z, s)
	_ = z.Close()
	return out.String()
}

// hostileBodies are 48 kinds and more.
func hostileBodies() map[string]hostileBody {
	const tooLarge, broken, never = "L2 reply_too_large", "L1 bad_reply", "L2 unreadable"
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	members := func(s string, n int) string { return many(gz(s), n) }
	return map[string]hostileBody{
		// Packed.
		"gzip of 8 MiB of blanks":  {false, tooLarge, headed("Content-Encoding", "gzip", gz(many(" ", 8<<20)))},
		"gzip just over the limit": {false, tooLarge, headed("Content-Encoding", "gzip", gz(`{"items":[],"x":"`+many("x", smallReply)+`"}`))},
		"gzip of many members":     {false, tooLarge, headed("Content-Encoding", "gzip", members(many("0123456789abcdef ", 1000), 100))},
		"gzip in gzip":             {false, never, headed("Content-Encoding", "gzip", gz(gz(page1+"]}")))},
		"gzip cut in the middle":   {false, broken, headed("Content-Encoding", "gzip", gz(page1 + many(`,{"id":"2"}`, 99) + "]}")[:30])},
		"gzip with a bad sum":      {false, broken, headed("Content-Encoding", "gzip", strings.TrimSuffix(gz(page1+"]}"), gz(page1 + "]}")[len(gz(page1+"]}"))-8:])+"12345678")},
		"gzip that is none":        {false, broken, headed("Content-Encoding", "gzip", page1+"]}")},
		"gzip not said":            {false, never, text(gz(page1 + "]}"))},
		"deflate":                  {false, never, headed("Content-Encoding", "deflate", deflated(page1+"]}"))},
		"brotli":                   {false, never, headed("Content-Encoding", "br", "\x0b\x02\x80{}\x03")},
		"zstd":                     {false, never, headed("Content-Encoding", "zstd", "\x28\xb5\x2f\xfd")},
		"two packings":             {false, never, headed("Content-Encoding", "gzip, gzip", gz(gz(page1+"]}")))},
		"endless empty gzip members": {false, "L1 timeout", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			endless("", gz(""), 0)(w, r)
		}},
		"endless blanks, not packed":  {false, tooLarge, endless(`{"items":[],"x":`, many(" ", 1<<14), 0)},
		"more announced than allowed": {false, tooLarge, announced(1 << 40)},
		// Lengths and connections.
		"cut in the middle":     {false, broken, onWire("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + page1)},
		"negative length":       {false, "L1 network", onWire("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}")},
		"two lengths":           {false, "L1 network", onWire("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 4\r\n\r\n{}{}")},
		"bad chunk":             {false, broken, onWire("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n")},
		"chunks that never end": {false, tooLarge, endless(`{"items":[`, many(`{"id":"1"},`, 1000), 0)},
		"no status line":        {false, "L1 network", onWire("hello\r\n\r\n")},
		"nothing at all":        {false, "L1 network", onWire("")},
		"one byte at a time":    {false, "L1 timeout", endless(`{"items":[`, " ", 100*time.Millisecond)},
		"nothing after the head": {false, "L1 timeout", func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}},
		"header of 1 MiB":       {false, tooLarge, onWire("HTTP/1.1 200 OK\r\nX: " + many("x", 1<<20) + "\r\n\r\n{}")},
		"ten thousand headers":  {false, tooLarge, onWire("HTTP/1.1 200 OK\r\n" + many("X-Some-Header: some value of it\r\n", 10_000) + "\r\n{}")},
		"informational first":   {false, "", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); _, _ = io.WriteString(w, page1+"]}") }},
		"header with a control": {false, "L1 network", onWire("HTTP/1.1 200 OK\r\nX\x01Y: 1\r\n\r\n{}")},
		// JSON.
		"nothing":                   {false, broken, text("")},
		"blanks":                    {false, broken, text(many(" ", 1000))},
		"UTF-16":                    {false, never, text("\xff\xfe{\x00}\x00")},
		"two documents":             {false, never, text(page1+"]}", page1+"]}")},
		"text behind":               {false, never, text(page1+"]}", "\n-- took 3 ms")},
		"lists, unclosed":           {false, tooLarge, text(`{"items":`, many("[", 100_000))},
		"lists around the items":    {false, tooLarge, text(`{"x":`, many("[", 1000), many("]", 1000), `,"items":[]}`)},
		"lists inside of an item":   {false, "", text(`{"items":[{"id":"1","x":`, many("[", 1000), many("]", 1000), `}]}`)},
		"objects inside of an item": {false, "", text(`{"items":[{"id":"1","x":`, many(`{"a":`, 1000), "1", many("}", 1000), `}]}`)},
		"NUL in an item":            {false, "", text("{\"items\":[{\"id\":\"1\",\"t\":\"a\x00\"}]}")},
		"NUL around the items":      {false, broken, text("{\"x\":\"\x00\",\"items\":[]}")},
		"escape sequences":          {false, "", text("{\"items\":[{\"id\":\"1\x1b[2J\"}]}")},
		"number of 500 KiB":         {false, "", text(`{"items":[`, many("1", 500<<10), `]}`)},
		"one key 50,000 times":      {false, "", text(`{"items":[{"id":"1"`, many(`,"k":1`, 50_000), `}]}`)},
		"40,000 items":              {false, tooLarge, text(`{"items":[{}`, many(`,{}`, 40_000), `]}`)},
		"items that are no list":    {false, "L4 schema_drift", text(`{"items":{"id":"1"}}`)},
		"HTML":                      {false, "L4 unexpected_html", headed("Content-Type", "text/html", "<html><body>Please log in</body></html>")},
		"a page of the XML's":       {false, broken, text("<PubmedArticleSet></PubmedArticleSet>")},
		// XML.
		"billion laughs":         {true, tooLarge, text(laughs)},
		"quadratic blowup":       {true, tooLarge, text(`<!DOCTYPE x [<!ENTITY a "`, many("a", 10_000), `">]><x>`, many("&a;", 10_000), "</x>")},
		"entity of a file":       {true, tooLarge, text(`<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>`)},
		"entity of another host": {true, tooLarge, text(`<!DOCTYPE x [<!ENTITY % a SYSTEM "EVIL"> %a;]><PubmedArticleSet/>`)},
		"DTD of another host":    {true, "", text(`<!DOCTYPE PubmedArticleSet SYSTEM "EVIL"><PubmedArticleSet/>`)},
		"style of another host":  {true, "", text(`<?xml-stylesheet href="EVIL"?><PubmedArticleSet/>`)},
		"include":                {true, "", text(`<PubmedArticleSet xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="EVIL"/></PubmedArticleSet>`)},
		"elements, unclosed":     {true, tooLarge, text("<PubmedArticleSet>", many("<a>", 100_000))},
		"elements in an item":    {true, "", text("<PubmedArticleSet><PubmedArticle><PMID>1</PMID>", many("<a>", 1000), many("</a>", 1000), "</PubmedArticle></PubmedArticleSet>")},
		"300 namespaces": {true, "", text("<PubmedArticleSet", func() (s string) {
			for i := range 300 {
				s += fmt.Sprintf(" xmlns:n%d='u%d'", i, i)
			}
			return s
		}(), "/>")},
		"10,000 attributes":        {true, "", text("<PubmedArticleSet", many(" a='1'", 10_000), "/>")},
		"open CDATA":               {true, broken, text("<PubmedArticleSet><![CDATA[", many("x", 1000))},
		"open comment":             {true, broken, text("<PubmedArticleSet><!--", many("x", 1000))},
		"unknown entities":         {true, broken, text("<PubmedArticleSet>", many("&nbsp;", 1000), "</PubmedArticleSet>")},
		"two roots":                {true, never, text("<PubmedArticleSet/><PubmedArticleSet/>")},
		"Latin-1":                  {true, never, text("<?xml version='1.0' encoding='ISO-8859-1'?><PubmedArticleSet>\xe9</PubmedArticleSet>")},
		"characters that are none": {true, "", text("<PubmedArticleSet><PubmedArticle><PMID>1</PMID><t>&#0;&#xD800;</t></PubmedArticle></PubmedArticleSet>")},
	}
}

// TestR50_HostileBodies sends each kind over a socket to the real client with the
// real decoders: it ends within the source's timeouts with what is documented, no
// more is asked than that fault allows, nobody else is asked anything, and what is
// kept in memory afterwards has not grown.
func TestR50_HostileBodies(t *testing.T) {
	bodies := hostileBodies()
	if len(bodies) < 48 {
		t.Fatalf("only %d kinds", len(bodies))
	}
	var elsewhere atomic.Int32
	evil := listen(t)
	go serveRaw(evil, func(net.Conn) { elsewhere.Add(1) })
	c := newClient(Config{}, new(free), decoders{})
	defer c.Close()
	ask := func(xml bool, base string) (source.Answer, error) {
		spec := testSpec()
		spec.HTTP = source.HTTP{MaxBody: smallReply, TotalTimeout: source.Duration(2 * time.Second), ReadTimeout: source.Duration(500 * time.Millisecond), ConnectTimeout: source.Duration(2 * time.Second)}
		spec.HTTP.BaseURL = base
		spec.Retry = source.Retry{Attempts: 2, Base: source.Duration(time.Millisecond), Max: source.Duration(time.Millisecond)}
		spec.Search = source.Endpoint{Path: "/works", Format: source.FormatJSON, Response: source.Response{Items: []string{"items"}, ID: []source.Pick{{Path: "id"}}}}
		if xml {
			spec.Search.Format = source.FormatXML
			spec.Search.Response = source.Response{Items: []string{"PubmedArticleSet/PubmedArticle"}, ID: []source.Pick{{Path: "PMID"}}}
		}
		return c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, BaseURL: base})
	}
	good := httptest.NewServer(text(page1 + "]}"))
	defer good.Close()
	if _, err := ask(false, good.URL); err != nil { // the source has been read before
		t.Fatal(err)
	}
	before := inUse()
	for name, b := range bodies {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				b.serve(&pointing{ResponseWriter: w, evil: "http://" + evil.Addr().String() + "/x"}, r)
			}))
			defer srv.Close()
			defer srv.CloseClientConnections()
			start := time.Now()
			a, err := ask(b.xml, srv.URL)
			got := ""
			if err != nil {
				f := mustFault(t, err)
				got = string(f.Level) + " " + string(f.Code)
			}
			if got != b.want {
				t.Errorf("%q, want %q: %v", got, b.want, err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
			most := int32(2)
			if b.want == "" || strings.HasPrefix(b.want, string(harvest.Rejected)) {
				most = 1
			}
			if n := asked.Load(); n < 1 || n > most || a.Traffic.Sent != int(n) {
				t.Errorf("asked %d times, counted %d", n, a.Traffic.Sent)
			}
		})
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d connections to another host", n)
	}
	if grew := inUse() - before; grew > 16<<20 {
		t.Errorf("%d MiB are still in use", grew>>20)
	}
}

// pointing writes the address of the trap where a reply says EVIL.
type pointing struct {
	http.ResponseWriter
	evil string
}

func (p *pointing) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("EVIL")) {
		_, err := p.ResponseWriter.Write(bytes.ReplaceAll(b, []byte("EVIL"), []byte(p.evil)))
		return len(b), err
	}
	return p.ResponseWriter.Write(b)
}

// Unwrap leads to what can be flushed or taken over.
func (p *pointing) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Hijack implements http.Hijacker.
func (p *pointing) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(p.ResponseWriter).Hijack()
}

// inUse is the memory that something still refers to.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
