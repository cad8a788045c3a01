package executor

import (
	"context"
	"errors"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// askedPage is a page that was asked for and is not stored yet.
type askedPage struct {
	step
	replied <-chan reply
	giveUp  context.CancelCauseFunc
}

// stepsToAsk are the steps to ask for once the page in hand is stored, from following
// on, the step after it. Those of ahead are asked for already.
func (s *session) stepsToAsk(following *step, ahead []askedPage) []step {
	if len(ahead) > 0 {
		following = s.detailStepAfter(ahead[len(ahead)-1].step)
	}
	if following == nil {
		return nil
	}
	if following.phase == harvest.PhaseSearch {
		return []step{*following}
	}
	var out []step
	for following != nil && len(ahead)+len(out) < max(1, s.spec.Batching.Parallel) {
		out = append(out, *following)
		following = s.detailStepAfter(*following)
	}
	return out
}

// errBeside is why a page is given up that nothing is wrong with.
var errBeside = errors.New("a page before it was not stored")

// giveUpBeside gives up the pages that were asked for beside one that is not stored. It
// returns the error of that page with what was asked for them: whoever goes on begins
// with that page, and asks for these again.
func (s *session) giveUpBeside(why error, pages []askedPage) error {
	if len(pages) == 0 {
		return why
	}
	var beside []harvest.FailedPage
	for i, r := range s.forget(pages) {
		beside = append(beside, *s.failed(pages[i].step, r, evidence(r.ans), errBeside))
	}
	page := harvest.FailedPageOf(why)
	if page != nil {
		page.Beside = beside
	}
	return why
}

// forget ends the requests for pages that nobody waits for any more, and gives back the
// memory of those that have come. It returns what came of each.
func (s *session) forget(pages []askedPage) []reply {
	for _, p := range pages {
		p.giveUp(errBeside)
	}
	replies := make([]reply, len(pages))
	for i, p := range pages {
		replies[i] = <-p.replied
		if free := replies[i].ans.Done; free != nil {
			free()
		}
	}
	return replies
}

// ask sends the request for st beside whatever goes on here.
func (s *session) ask(ctx context.Context, st step) askedPage {
	replied := make(chan reply, 1)
	begun := time.Now()
	ctx, giveUp := context.WithCancelCause(ctx)
	ctx, span := s.beginPageSpan(ctx, st)
	go func() {
		defer giveUp(nil)
		var r reply
		if st.phase == harvest.PhaseDetail {
			r = s.askDetails(ctx, st)
		} else {
			r.ans, r.err = s.askUpstream(ctx, s.callFor(st))
		}
		r.begun = begun
		r.span = span
		replied <- r
	}()
	return askedPage{step: st, replied: replied, giveUp: giveUp}
}
