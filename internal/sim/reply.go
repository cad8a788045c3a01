package sim

import (
	"bytes"
	"compress/gzip"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// reply is an answer: a head and a tail around rows that are written out after
// the lock has been given up.
type reply struct {
	status  int
	header  map[string]string
	kind    string // content type
	head    []byte
	rows    []row
	between string
	write   func(b []byte, r *row) []byte
	tail    string
	records int
	failed  bool // 200 in name only
	gzip    bool // compress for those who ask, even if others are not
}

func (r *reply) set(name, value string) {
	if r.header == nil {
		r.header = map[string]string{}
	}
	r.header[name] = value
}

func (r *reply) body(b []byte) []byte {
	b = append(b, r.head...)
	for k := range r.rows {
		if k > 0 {
			b = append(b, r.between...)
		}
		b = r.write(b, &r.rows[k])
	}
	return append(b, r.tail...)
}

var bodies = sync.Pool{New: func() any { return new([]byte) }}

// send writes an answer, or as much of it as the fault lets through, and returns
// the number of body bytes and whether it was all there. It does not come back
// from a dropped connection that cannot be hijacked: http.ErrAbortHandler is what
// drops it, and the caller's deferred work still runs.
func (s *Sim) send(w http.ResponseWriter, q *request, rep *reply, done func(sent int, whole bool)) {
	if q.fault == ResetBeforeHeader || q.fault == ServedLost {
		done(0, false)
		drop(w)
		return
	}
	buf := bodies.Get().(*[]byte)
	defer bodies.Put(buf)
	body := rep.body((*buf)[:0])
	*buf = body
	switch q.fault {
	case BadJSON:
		body = body[:len(body)*6/10]
		rep.failed = true
	case InvalidUTF8:
		body = spoilUTF8(body)
		rep.failed = true
	}
	h := w.Header()
	for name, value := range rep.header {
		h.Set(name, value)
	}
	if rep.kind != "" {
		h.Set("Content-Type", rep.kind)
	} else {
		h["Content-Type"] = nil
	}
	h.Set("Date", s.date())
	if (s.cfg.Gzip || rep.gzip) && len(body) > 0 && strings.Contains(q.http.Header.Get("Accept-Encoding"), "gzip") {
		var z bytes.Buffer
		zw, _ := gzip.NewWriterLevel(&z, gzip.BestSpeed)
		zw.Write(body)
		zw.Close()
		h.Set("Content-Encoding", "gzip")
		body = z.Bytes()
	}
	cut := q.fault == ResetMidBody || q.fault == TruncatedBody
	if !cut || q.number%2 == 0 { // else chunked
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	if cut {
		done(len(body)/2, false)
		w.WriteHeader(rep.status)
		w.Write(body[:len(body)/2])
		http.NewResponseController(w).Flush()
		if q.fault == ResetMidBody {
			drop(w)
			return
		}
		panic(http.ErrAbortHandler)
	}
	// The books are closed before the first byte leaves: a client that has read the
	// whole answer may ask again before this handler returns, and must not be taken
	// for a second one at the same time.
	done(len(body), true)
	w.WriteHeader(rep.status)
	w.Write(body)
}

// drop cuts the connection, with a reset where that can be had.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

// spoilUTF8 puts a byte that is never valid into the middle of a word.
func spoilUTF8(body []byte) []byte {
	for k := len(body) / 2; k > 0 && k+2 < len(body); k++ {
		if isLetter(body[k-1]) && isLetter(body[k]) && isLetter(body[k+1]) {
			body[k] = 0xff
			return body
		}
	}
	return append(body, 0xff)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// lower is strings.ToLower for ASCII.
func lower(s string) string {
	for k := range len(s) {
		if s[k] >= 'A' && s[k] <= 'Z' {
			return strings.ToLower(s)
		}
	}
	return s
}
