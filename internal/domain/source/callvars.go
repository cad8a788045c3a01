package source

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/template"
)

// CallVars is all that the template of a request can see.
type CallVars struct {
	Window windowVars `expr:"window"`
	Range  rangeVars  `expr:"range"`
	// Bucket of so many Buckets of the ids is wanted; 0 of 1 is all.
	Bucket  int64    `expr:"bucket"`
	Buckets int64    `expr:"buckets"`
	Page    pageVars `expr:"page"`
	IDs     []string `expr:"ids"`
	// Vars are the instance's own values, such as whom to write to.
	Vars map[string]string `expr:"vars"`
	// Query is the selection in the source's words, by standard key.
	Query map[string]string `expr:"query"`

	// repeated are the keys of Query that have several values.
	repeated map[string][]string
}

type windowVars struct {
	From template.Instant `expr:"from"`
	To   template.Instant `expr:"to"`
	// Last is the upper bound as sent: To, less a grain if the source's bound
	// includes itself (R12).
	Last template.Instant `expr:"last"`
}

type rangeVars struct {
	// On: only a part of the ids is wanted, those from From to Last.
	On   bool  `expr:"on"`
	From int64 `expr:"from"`
	Last int64 `expr:"last"`
}

type pageVars struct {
	Size   int    `expr:"size"`
	Offset int64  `expr:"offset"`
	No     int    `expr:"no"`
	Token  string `expr:"token"`
	// After and AfterID are of the last record of the page before, of KEYSET; on the
	// first page the beginning of the window, and nothing.
	After   template.Instant  `expr:"after"`
	AfterID string            `expr:"afterId"`
	First   bool              `expr:"first"`
	Held    map[string]string `expr:"held"`
}

// NewCallVars binds the variables for one call.
func NewCallVars(spec *Spec, cal harvest.Calendar, call Call) *CallVars {
	zone, window := cal.Zone, cal.Grains(call.Window)
	last := window.To
	if spec.Window.Closed() {
		last = cal.Step(last, -1)
	}
	p := call.Position
	wanted := map[string]string{}
	var repeated map[string][]string
	if spec.Query != nil {
		wanted = spec.Query.Values
		repeated = spec.Query.Repeated
	}
	bucket, buckets := call.Range.Bucket()
	return &CallVars{
		Window: windowVars{
			From: template.At(window.From.In(zone)),
			To:   template.At(window.To.In(zone)),
			Last: template.At(last.In(zone)),
		},
		Range:   newRangeVars(spec, call.Range),
		Bucket:  bucket,
		Buckets: buckets,
		Page: pageVars{
			Size:    cmp.Or(call.PageSize, spec.Paging.Size),
			Offset:  p.Offset,
			No:      spec.Paging.PageBase + p.Page,
			Token:   p.Token,
			After:   template.At(afterOf(spec, window, p).In(zone)),
			AfterID: afterID(spec, p),
			First:   p.Pages == 0 && p.Offset == 0 && p.Page == 0 && p.Token == "" && p.URL == "",
			Held:    p.Held,
		},
		IDs:      call.IDs,
		Vars:     spec.Vars,
		Query:    wanted,
		repeated: repeated,
	}
}

// afterOf is the date after which a page begins that is asked for by date and id.
func afterOf(spec *Spec, window harvest.Window, p harvest.Position) time.Time {
	if spec.Paging.Type == harvest.PageKeyset && p.LastID != "" {
		return p.At
	}
	return window.From
}

// afterID is the id after which such a page begins.
func afterID(spec *Spec, p harvest.Position) string {
	if spec.Paging.Type != harvest.PageKeyset {
		return ""
	}
	return p.LastID
}

// Each are the variables for each time that a parameter with this template is sent:
// once, or for a template that reads a key of several values once for each.
func (v *CallVars) Each(t *template.Template) []*CallVars {
	for key, values := range v.repeated {
		if !t.Uses("query." + key) {
			continue
		}
		var each []*CallVars
		for _, value := range values {
			one := *v
			one.Query = maps.Clone(v.Query)
			if one.Query == nil {
				one.Query = map[string]string{}
			}
			one.Query[key] = value
			each = append(each, &one)
		}
		return each
	}
	return []*CallVars{v}
}

func newRangeVars(spec *Spec, r harvest.Range) rangeVars {
	out := rangeVars{On: !r.Whole() && r.Key != harvest.RangePage && r.Of == 0, From: r.From, Last: r.To - 1}
	if r.To == 0 && spec.Window.Split != nil {
		out.Last = spec.Window.Split.Max
	}
	return out
}

// The variables of a request's templates. In a body there may be places for
// secrets, which are put in when the request is sent.
var (
	requestVars = template.NewVars(CallVars{})
	bodyVars    = requestVars.WithBlanks("secret")
)

// ParseTemplate reads the template of a path, a parameter or a header.
func ParseTemplate(text string) (*template.Template, error) { return requestVars.Parse(text) }

// ParseBody reads the template of a body, where ${secret.NAME} is the place of a
// secret.
func ParseBody(text string) (*template.Template, error) {
	if strings.Contains(text, "\x00") {
		return nil, template.ErrControl // which marks such a place in what is rendered
	}
	return bodyVars.Parse(text)
}

// instanceVars are the instance's own values that templates read as vars.NAME.
var instanceVars = []string{"contact", "tool"}

// readNames are the variables that some templates read.
type readNames []string

func (n readNames) uses(name string) bool { return slices.Contains(n, name) }
