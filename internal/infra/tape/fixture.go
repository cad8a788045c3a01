package tape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/papertrace/patra/internal/app/sourcecheck"
)

// head is the file that names the others.
const head = "check.json"

// saved is an exchange in its file.
type saved struct {
	sourcecheck.Exchange
	BodyFile string `json:"body"`
}

// Fixtures are checks that were kept, each in a folder.
type Fixtures struct{}

// Claim makes dir ready to be saved to, before anything is asked: it must be
// new or empty.
func (Fixtures) Claim(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("save: %w", err)
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	if len(names) > 0 {
		return fmt.Errorf("save: folder %s is not empty: %w", dir, fs.ErrExist)
	}
	return nil
}

// Save writes a fixture: for every exchange a file with request, status and
// headers and one with the reply's body. Requests for tokens are left out.
func (Fixtures) Save(dir string, f sourcecheck.Fixture, exchanges []sourcecheck.Exchange) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	defer root.Close() //nolint:errcheck // every file was closed by itself
	write := func(name string, v any) error {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false) // people read it
		enc.SetIndent("", "  ")
		if err := enc.Encode(v); err != nil {
			return fmt.Errorf("save %s: %w", name, err)
		}
		if err := root.WriteFile(name, b.Bytes(), 0o600); err != nil {
			return fmt.Errorf("save: %w", err)
		}
		return nil
	}
	f.Version, f.Files = 1, []string{}
	for _, e := range exchanges {
		if e.Label == "token" {
			continue
		}
		stem := fmt.Sprintf("%02d-%s", len(f.Files)+1, e.Label)
		s := saved{Exchange: e, BodyFile: stem + extension(e.Header.Get("Content-Type"))}
		if err := root.WriteFile(s.BodyFile, e.Body, 0o600); err != nil {
			return fmt.Errorf("save: %w", err)
		}
		if err := write(stem+".request.json", s); err != nil {
			return err
		}
		f.Files = append(f.Files, stem+".request.json")
	}
	return write(head, f)
}

func extension(kind string) string {
	switch {
	case strings.Contains(kind, "json"):
		return ".json"
	case strings.Contains(kind, "xml"):
		return ".xml"
	}
	return ".txt"
}

// Load reads a fixture. Its names lead nowhere but into dir.
func (Fixtures) Load(dir string) (*sourcecheck.Fixture, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("fixture: %w", err)
	}
	defer root.Close() //nolint:errcheck // it was only read
	read := func(name string, v any) error {
		b, err := root.ReadFile(name)
		if err != nil {
			return fmt.Errorf("fixture %s: %w", filepath.Join(dir, name), err)
		}
		if err := json.Unmarshal(b, v); err != nil {
			return fmt.Errorf("fixture %s: %w", filepath.Join(dir, name), err)
		}
		return nil
	}
	f := new(sourcecheck.Fixture)
	if err := read(head, f); err != nil {
		return nil, err
	}
	if f.Version != 1 {
		return nil, fmt.Errorf("fixture %s: version %d is not known to this patra", dir, f.Version)
	}
	for _, name := range f.Files {
		var s saved
		if err := read(name, &s); err != nil {
			return nil, err
		}
		s.Body, err = root.ReadFile(s.BodyFile)
		if err != nil {
			return nil, fmt.Errorf("fixture %s: %w", filepath.Join(dir, s.BodyFile), err)
		}
		f.Exchanges = append(f.Exchanges, s.Exchange)
	}
	return f, nil
}

// Player is a transport that answers from a fixture.
type Player struct {
	mask Mask

	mu    sync.Mutex
	left  []sourcecheck.Exchange // guarded by mu
	asked []sourcecheck.Exchange // guarded by mu
}

// NewPlayer plays what a fixture has kept; nil has no replies.
func NewPlayer(f *sourcecheck.Fixture, mask Mask) *Player {
	p := &Player{mask: mask}
	if f != nil {
		p.left = slices.Clone(f.Exchanges)
	}
	return p
}

var errEmpty = errors.New("the fixture has no such reply")

// RoundTrip implements http.RoundTripper: the next reply to a request of the
// same kind.
func (p *Player) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	kind, at := label(req.Header), p.mask.address(req.URL.String())
	i := slices.IndexFunc(p.left, func(e sourcecheck.Exchange) bool { return e.Label == kind })
	if i < 0 {
		p.asked = append(p.asked, sourcecheck.Exchange{
			Label: kind, Method: req.Method, URL: at, Failure: sourcecheck.FailFixture, Error: fmt.Sprintf("the fixture has no further %s reply", kind),
		})
		return nil, errEmpty
	}
	e := p.left[i]
	p.left = slices.Delete(p.left, i, i+1)
	if e.Method != req.Method || unkeyed(e.URL) != unkeyed(at) {
		e.Differs = fmt.Sprintf("%s %s was saved, %s %s would be sent", e.Method, e.URL, req.Method, at)
	}
	p.asked = append(p.asked, e)
	if e.Failure != "" {
		return nil, errors.New(e.Error)
	}
	h := e.Header.Clone()
	h.Del("Content-Encoding")
	h.Set("Content-Length", strconv.Itoa(len(e.Body)))
	return &http.Response{
		StatusCode: e.Status, Status: fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(e.Body)), ContentLength: int64(len(e.Body)), Request: req,
	}, nil
}

// unkeyed is a masked address without what was masked in it: a credential goes
// with one request and not with the other.
func unkeyed(s string) string {
	front, query, _ := strings.Cut(s, "?")
	pairs := slices.DeleteFunc(strings.Split(query, "&"), func(p string) bool { return strings.HasSuffix(p, "="+masked) })
	return front + "?" + strings.Join(pairs, "&")
}

// Exchanges implements sourcecheck.Wire.
func (p *Player) Exchanges() []sourcecheck.Exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}
