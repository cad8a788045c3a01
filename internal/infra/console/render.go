package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

//go:embed assets templates words
var files embed.FS

// look is how pages are written in one language.
type look struct {
	language  string
	words     words
	templates *template.Template
}

func loadLooks() (map[string]*look, error) {
	out := map[string]*look{}
	for language := range languages {
		w, err := readWords(language)
		if err != nil {
			return nil, err
		}
		t, err := template.New("").Funcs(template.FuncMap{
			"t": w.say, "stamp": stamp, "ago": func(t time.Time, now time.Time) string { return ago(w, t, now) }, "iso": iso, "dict": dict, "short": short, "prose": prose,
		}).ParseFS(files, "templates/*.html")
		if err != nil {
			return nil, err
		}
		out[language] = &look{language: language, words: w, templates: t}
	}
	return out, nil
}

// iso is an instant as programs read it.
func iso(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// stamp is an instant as people read it, always in UTC.
func stamp(t time.Time) string {
	t = t.UTC()
	if t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 {
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02 15:04:05Z")
}

// ago says how long something is over, or how long it will be until it is, in one
// unit.
func ago(w words, t, now time.Time) string {
	d := now.Sub(t)
	if d < 0 {
		return w.say("time.in", length(w, -d))
	}
	return w.say("time.ago", length(w, d))
}

// length is a span of time in one unit that a person counts in.
func length(w words, d time.Duration) string {
	switch {
	case d < time.Minute:
		return w.say("time.seconds", int(d/time.Second))
	case d < time.Hour:
		return w.say("time.minutes", int(d/time.Minute))
	case d < 48*time.Hour:
		return w.say("time.hours", int(d/time.Hour))
	default:
		return w.say("time.days", int(d/(24*time.Hour)))
	}
}

// shell is what stands around every page.
type shell struct {
	*view
	V        *visit
	Now      time.Time
	Lang     string
	Theme    string
	Base     string
	Assets   string // where the files of this build are
	Rail     []tab
	Instance string
	Version  string
	Demo     bool
	Here     string
	FormMark string
	Fragment bool
}

// short reports whether a text is to stay on one line: it is of few letters, or a window.
func short(text string) bool {
	most := 32
	if strings.HasPrefix(text, "[") {
		most = 60
	}
	return utf8.RuneCountInString(text) <= most
}

// prose is a text with the commands in it told apart: they stand between backticks.
func prose(text string) []passage {
	var out []passage
	for i, part := range strings.Split(text, "`") {
		kind := ""
		if i%2 == 1 {
			kind = "code"
		}
		if part != "" {
			out = append(out, passage{part, kind})
		}
	}
	return out
}

// JSON is the address of the document of the page.
func (s *shell) JSON() string {
	path, query, asked := strings.Cut(s.Here, "?")
	if strings.HasSuffix(path, "/") {
		path += "index"
	}
	path += ".json"
	if asked {
		path += "?" + query
	}
	return path
}

// dict gives a template several values under their names.
func dict(pairs ...any) (map[string]any, error) {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, is := pairs[i].(string)
		if !is {
			return nil, fmt.Errorf("%v is no name", pairs[i])
		}
		out[name] = pairs[i+1]
	}
	return out, nil
}

// formMark stands in a rendered page for the token of the browser it is sent to, so
// that one rendering serves all.
const formMark = "patra-form-token-goes-here"

// render writes a page, or only what is inside of its frame.
func (c *Console) render(v *visit, p *view, rail []tab, fragment bool) ([]byte, error) {
	s := shell{
		view: p, V: v, Now: v.now, Lang: v.look.language, Theme: v.theme, Base: c.base, Assets: c.base + "/assets/" + assetStamp(),
		Rail: rail, Instance: c.instance, Version: c.build.Version, Demo: c.demo != nil, Here: v.here(), FormMark: formMark, Fragment: fragment,
	}
	name := "page"
	if fragment {
		name = "main"
	}
	var b bytes.Buffer
	if err := v.look.templates.ExecuteTemplate(&b, name, &s); err != nil {
		return nil, fmt.Errorf("render %s: %w", v.URL.Path, err)
	}
	return b.Bytes(), nil
}

// send sends a rendered page.
func send(w http.ResponseWriter, v *visit, status int, html []byte) {
	html = bytes.ReplaceAll(html, []byte(formMark), []byte(template.HTMLEscapeString(v.csrf)))
	sendBytes(w, v.Request, status, "text/html; charset=utf-8", html)
}

// sendBytes sends bytes, packed if the browser takes that.
func sendBytes(w http.ResponseWriter, r *http.Request, status int, kind string, b []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Add("Vary", "Accept-Encoding")
	if len(b) > 1<<10 && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(b) //nolint:errcheck // memory takes it
		z.Close()  //nolint:errcheck // memory takes it
		b = packed.Bytes()
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(b) //nolint:errcheck // whoever asked is gone
	}
}

// assetStamp is a word that changes with the files, so that browsers keep them.
var assetStamp = sync.OnceValue(func() string {
	h := sha256.New()
	err := fs.WalkDir(files, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := files.ReadFile(name)
		h.Write(b)
		return err
	})
	if err != nil { // they are in the binary
		panic(err)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
})

var assetKinds = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// asset serves a file of the build.
func (c *Console) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind := assetKinds[path.Ext(name)]
	b, err := files.ReadFile("assets/" + name)
	if err != nil || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	sendBytes(w, r, http.StatusOK, kind, b)
}
