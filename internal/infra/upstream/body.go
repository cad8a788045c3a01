package upstream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// Limits on a body (R50).
const (
	defaultMaxBody = 32 << 20
	maxRatio       = 200
	// ratioFrom is where the ratio begins to count: below it a bomb is a
	// firecracker.
	ratioFrom = 1 << 20
	// firstBody is what is set aside for a body of which nothing is known.
	firstBody = 64 << 10
	// readStep is how much is read at a time.
	readStep = 256 << 10
	// errorBody is how much of a bad reply is read.
	errorBody = 64 << 10
)

var (
	errTooLong  = errors.New("reply is larger than allowed")
	errHugeHead = errors.New("reply's header is larger than allowed")
	errRatio    = errors.New("reply unpacks to far more than was sent")
	errEncoding = errors.New("reply is packed in a way that was not asked for")
)

var gzips sync.Pool // of *gzip.Reader

// readBody reads and unpacks the body of res, at most limit bytes of it. wire
// is the number of bytes received. tick is called on every bit of progress.
// The slice is fresh: what is decoded from it may point into it. With an error
// it holds what came before. grow is asked before that many bytes are kept, and may
// take its time.
func readBody(res *http.Response, limit int64, tick func(), grow func(size int64) error) (body []byte, wire int64, err error) {
	in := &counter{r: res.Body, tick: tick}
	var from io.Reader = in
	packed := false
	switch enc := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); enc {
	case "", "identity":
	case "gzip", "x-gzip":
		z, _ := gzips.Get().(*gzip.Reader)
		if z == nil {
			z = new(gzip.Reader)
		}
		defer gzips.Put(z)
		if err := z.Reset(in); err != nil {
			if errors.Is(err, io.EOF) && in.n == 0 {
				return nil, 0, nil // nothing, packed
			}
			return nil, in.n, fmt.Errorf("unpack: %w", err)
		}
		from, packed = z, true
	default:
		return nil, 0, fmt.Errorf("%q: %w", enc, errEncoding)
	}

	announced := int64(-1) // of what is unpacked
	if !packed {
		announced = res.ContentLength
	}
	if announced > limit {
		return nil, 0, errTooLong
	}
	var taken int64 // of the memory for bodies: what is written to, not what is set aside
	for {
		due := int64(len(body) + readStep)
		if announced >= int64(len(body)) {
			due = min(due, announced)
		}
		if due > taken {
			if taken > 0 { // the first part is not worth believing anybody
				taken = announced
			}
			taken = max(taken, due+3*readStep)
			if err := grow(taken); err != nil {
				return body, in.n, err
			}
		}
		if len(body) == cap(body) {
			body = grown(body, nextSize(len(body), announced, limit))
		}
		n, err := from.Read(body[len(body):min(cap(body), len(body)+readStep)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return body[:limit], in.n, errTooLong
		case packed && len(body) > ratioFrom && int64(len(body)) > maxRatio*in.n:
			return body, in.n, errRatio
		case err == io.EOF:
			return body, in.n, nil
		case err != nil:
			return body, in.n, err
		}
	}
}

// nextSize is how many bytes are set aside for a body of which so many have come:
// in few and large steps, so that little is left behind for the collector. They are
// the sizes by which memory is shared. What was announced is believed once as much
// has come as every body may have; the byte beyond it shows the end without growing.
func nextSize(came int, announced, limit int64) int64 {
	var size int64
	switch {
	case came == 0 && announced >= smallBody:
		size = smallBody
	case int64(came) <= announced:
		size = announced + 1
	case came < firstBody:
		size = firstBody
	case came < smallBody:
		size = min(4*int64(came), smallBody)
	case came < mediumBody/2:
		size = mediumBody / 2
	case came < mediumBody:
		size = mediumBody
	default:
		size = limit + 1
	}
	return min(size, limit+1)
}

// grown is body where there is room for so many bytes. Of what is fresh from the
// system only what is written to is there at all; append would have a reply of
// 32 MiB take 100. It must not be one make and copy either: the runtime clears
// what those leave free, and so touches it.
func grown(body []byte, size int64) []byte {
	return append(make([]byte, 0, size), body...)
}

// readHead reads what a bad reply has to say, whatever its state.
func readHead(res *http.Response, tick func()) (body []byte, wire int64) {
	short := *res
	short.ContentLength = -1
	short.Body = io.NopCloser(io.LimitReader(res.Body, errorBody))
	body, wire, _ = readBody(&short, errorBody*4, tick, func(int64) error { return nil })
	return body, wire
}

// counter counts what comes over the wire.
type counter struct {
	r    io.Reader
	n    int64
	tick func()
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.tick()
	return n, err
}
