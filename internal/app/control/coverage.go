package control

import (
	"context"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Interval of a namespace's coverage.
type Interval struct {
	From   harvest.Mark `json:"from"`
	To     harvest.Mark `json:"to"`
	Reason string       `json:"reason,omitempty"`
	// Ranges are those of the Parts slices that share the window which are meant,
	// such as bucket 3 of 8; none if it is one slice, or all of them.
	Ranges []string `json:"ranges,omitempty"`
	Parts  int      `json:"parts,omitempty"`
}

// Coverage is what of a namespace is proven complete, and what is not.
type Coverage struct {
	Operation harvest.Operation `json:"operation"`
	Namespace string            `json:"namespace"`
	Query     string            `json:"query,omitempty"` // the selection in the text form, empty for everything
	CursorKey string            `json:"cursor_key"`
	Direction harvest.Direction `json:"direction"`
	Init      harvest.Mark      `json:"init"`
	Watermark harvest.Mark      `json:"watermark"`
	Proven    []Interval        `json:"proven"`
	Open      []Interval        `json:"open"`
	Failed    []Interval        `json:"failed"`
	Missing   []Interval        `json:"missing"`
	// LookedTo is where the look ended, if so many slices lie beyond the watermark that
	// not all were looked at.
	LookedTo *harvest.Mark `json:"looked_to,omitempty"`
	// How much of a HARVEST comes late; nil for other operations.
	*LateRate
}

// LateRate is the share of versions that come late, over 7 days: null with a
// reason where it is not known.
type LateRate struct {
	Rate   *float64 `json:"late_rate"`
	Reason string   `json:"late_rate_reason,omitempty"`
	// Cut: so many pages came in that time that only the newest were looked at.
	Cut bool `json:"late_rate_cut,omitzero"`
}

// CoverageList is the coverage of a source, one entry per namespace.
type CoverageList struct {
	Namespaces []Coverage `json:"namespaces"`
	Source     string     `json:"source"`
	// More: the source has more namespaces than are shown.
	More bool `json:"more,omitzero"`
}

// MostNamespaces is how many namespaces of a source are shown.
const MostNamespaces = 100

// Coverage shows which windows of a source are proven complete. A source of which
// something was planned once is shown also if it is described nowhere any more.
func (c *Control) Coverage(ctx context.Context, code string) (CoverageList, error) {
	all, err := c.store.Coverage(ctx, code)
	if err != nil {
		return CoverageList{}, err
	}
	if len(all) == 0 {
		err = c.known(ctx, code)
	}
	out := CoverageList{Namespaces: all, Source: code}
	if len(all) > MostNamespaces {
		out.Namespaces = all[:MostNamespaces]
		out.More = true
	}
	return out, err
}
