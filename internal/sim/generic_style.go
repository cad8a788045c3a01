package sim

import (
	"errors"
	"fmt"
	"slices"
)

// GenericStyle is how the generic source behaves. Each field can also be given
// with a request, as the parameter in brackets.
type GenericStyle struct {
	Paging  string `json:"style"`   // [style] offset (default), page, token, token-repeat-end, token-constant, url, scroll, empty-with-token, hasmore, time
	Bounds  string `json:"bounds"`  // [bounds] half-open (default): from <= updated < to; closed: to is included
	Order   string `json:"order"`   // [order] asc by (updated, id) (default), desc, none: another order at every call
	Total   string `json:"total"`   // [total] exact (default), absent, wrong
	Base    int    `json:"base"`    // [base] number of the first page: 0 (default) or 1
	Most    int    `json:"most"`    // largest page; default 1,000
	Undated bool   `json:"undated"` // items do not say when they were updated; changes the items' bytes
}

var (
	pagings = []string{"offset", "page", "token", "token-repeat-end", "token-constant", "url", "scroll", "empty-with-token", "hasmore", "time"}
	bounds  = []string{"half-open", "closed"}
	orders  = []string{"asc", "desc", "none"}
	totals  = []string{"exact", "absent", "wrong"}
)

func (g GenericStyle) withDefaults() GenericStyle {
	pick := func(s *string, first string) {
		if *s == "" {
			*s = first
		}
	}
	pick(&g.Paging, pagings[0])
	pick(&g.Bounds, bounds[0])
	pick(&g.Order, orders[0])
	pick(&g.Total, totals[0])
	if g.Most == 0 {
		g.Most = 1000
	}
	return g
}

func (g GenericStyle) validate() error {
	var errs []error
	check := func(name, value string, known []string) {
		if !slices.Contains(known, value) {
			errs = append(errs, fmt.Errorf("generic %s %q: must be one of %v", name, value, known))
		}
	}
	check("style", g.Paging, pagings)
	check("bounds", g.Bounds, bounds)
	check("order", g.Order, orders)
	check("total", g.Total, totals)
	if g.Base < 0 || g.Base > 1 {
		errs = append(errs, fmt.Errorf("generic base %d: must be 0 or 1", g.Base))
	}
	return errors.Join(errs...)
}

// SetGeneric changes the generic source's manners from now on.
func (s *Sim) SetGeneric(g GenericStyle) error {
	g = g.withDefaults()
	if err := g.validate(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if up, ok := s.upstreams[Generic].(*generic); ok {
		up.style.Store(&g)
	}
	return nil
}
