package source

import (
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/template"
)

// placedPart is a part of a template and where in the description that stands.
type placedPart struct {
	path string
	template.Part
}

// finest is the last unit that a precision tells.
var finest = map[harvest.Precision]template.Unit{
	harvest.PrecisionDay:    template.Day,
	harvest.PrecisionSecond: template.Second,
	harvest.PrecisionMilli:  template.Millisecond,
	harvest.PrecisionMicro:  template.Microsecond,
}

// layoutFor is how an instant of that precision may be written.
var layoutFor = map[harvest.Precision]string{
	harvest.PrecisionDay:    "2006-01-02",
	harvest.PrecisionSecond: "2006-01-02T15:04:05",
	harvest.PrecisionMilli:  "2006-01-02T15:04:05.000",
	harvest.PrecisionMicro:  "2006-01-02T15:04:05.000000",
}

// layouts checks that requests tell the bounds of the window as finely as the slices are
// cut: of a bound that is sent more coarsely, a part of the slice is never asked for.
func (c *compiler) layouts() {
	for _, usage := range []Usage{UsageSearch, UsageCount} {
		for _, bound := range []string{"window.from", "window.to", "window.last", "page.after"} {
			c.layoutsOf(usage, bound)
		}
	}
}

// layoutsOf checks how the requests of an endpoint write one bound. The layouts are taken
// together, for a date and a time may be parameters of their own. Where it is also
// written in another way than by a layout nothing is said.
func (c *compiler) layoutsOf(usage Usage, bound string) {
	reads, dated := 0, 0
	at := ""
	var layouts []string
	for _, part := range c.parts[usage] {
		reads += count(part.Names, bound)
		for _, date := range part.Dates {
			n := count(date.Names, bound)
			if n == 0 {
				continue
			}
			dated += n
			at = part.path
			layouts = append(layouts, date.Layout)
		}
	}
	if dated == 0 || reads > dated {
		return
	}
	precision := c.spec.Window.Precision
	needed := template.Units[:slices.Index(template.Units, finest[precision])+1]
	told := strings.Join(layouts, " ")
	for _, unit := range needed {
		if !template.Tells(told, unit) {
			c.fail(at, "layout '%s' of ${%s} tells no %s, but window.precision is %s, so that a part of the window is never asked for: use a layout such as '%s', or the precision that the endpoint takes",
				layouts[len(layouts)-1], bound, unit, precision, layoutFor[precision])
			return
		}
	}
}

// count is how often one is in the list.
func count(list []string, one string) (n int) {
	for _, s := range list {
		if s == one {
			n++
		}
	}
	return n
}
