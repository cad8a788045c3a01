package source

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// SliceRequest is how a span of this source is cut. Whoever cuts adds what it
// knows of the records.
func (s *Spec) SliceRequest(of harvest.Span, cal harvest.Calendar) harvest.SliceRequest {
	win := s.Window
	r := harvest.SliceRequest{
		Span: of, Calendar: cal, Step: win.Step.D(), MinStep: win.MinStep.D(), Target: win.Target, Cap: s.Paging.MaxItems, Split: win.Split,
		Budget: win.Budget, Pages: win.Pages, PageSize: s.Paging.Size,
	}
	r.Key = win.Key
	if s.Paging.NewestFirst { // each slice of it is read from the newest record on: one is enough
		r.Step = 0
		r.Target = 0
		r.Cap = 0
		return r
	}
	if s.Paging.Stateful {
		r.Target = s.restartable(win.Target)
		r.Most = r.Target + r.Target/10
		r.Fan = statefulFan
	}
	return r
}

const (
	// restartTime is what it may cost at most, at the rate allowed, to begin the
	// walk of a slice again because the server's place in it was lost.
	restartTime = time.Minute
	// statefulFan makes up for the smaller slices of such sources by fewer counts:
	// cut by halves each slice costs two, cut by sixteen 1.07.
	statefulFan = 16
)

// restartable is the target of slices that are begun again as a whole.
func (s *Spec) restartable(target int64) int64 {
	if s.Rate.QPS <= 0 {
		return target
	}
	pages := max(2, int64(s.Rate.QPS*restartTime.Seconds()))
	most := pages * int64(max(1, s.Paging.Size)) * 9 / 10 // it may hold a tenth more
	if target == 0 {
		return most
	}
	return min(target, most)
}

// Pages is how many pages so many records fill.
func (s *Spec) Pages(records int64) int64 {
	size := int64(cmp.Or(s.Paging.Size, 1))
	return max(1, (records+size-1)/size)
}

// Requests is how many requests the walk of a slice takes at least.
func (s *Spec) Requests(records int64) int64 {
	pages := s.Pages(records)
	if s.TwoPhase() {
		ids := int64(max(1, s.Batching.IDs))
		pages += (records + ids - 1) / ids
	}
	return pages
}

// Forecast is what a plan would come to.
type Forecast struct {
	Slices int
	// Requests of the walks, and of the counting before.
	Requests int64
}

// Forecast cuts a window as a plan would, if its records lay evenly in it. It
// asks nobody.
func (s *Spec) Forecast(w harvest.Window, records int64) (Forecast, error) {
	code := cmp.Or(s.Window.Strategy, harvest.StrategyTime)
	strategy := harvest.Strategies()[code]
	if strategy == nil {
		return Forecast{}, fmt.Errorf("strategy %q is not known", code)
	}
	cal, err := s.Window.Calendar()
	if err != nil {
		return Forecast{}, err
	}
	asked := 0
	req := s.SliceRequest(w.Span(), cal)
	req.Estimate = func(_ context.Context, p harvest.Part) (harvest.Estimate, error) {
		e := harvest.Estimate{Known: p.Range.Whole(), By: harvest.ByFirstPage}
		e.Records = int64(math.Ceil(float64(records) * p.Window().Duration().Seconds() / w.Duration().Seconds()))
		switch {
		case s.Count != nil:
			e.By = harvest.ByCount
			asked++
		case p.Span == req.Span: // its first page is asked for, for the clock and a total
			asked = 1
			if s.Paging.TotalExact {
				e.By = harvest.ByCount
			}
		}
		return e, nil
	}
	var out Forecast
	err = strategy.Slice(context.Background(), req, func(slice harvest.SliceSpec) {
		out.Slices++
		out.Requests += s.Requests(slice.Hints.ExpectedRecords)
	})
	if err != nil {
		return Forecast{}, err
	}
	out.Requests += int64(asked)
	return out, nil
}
