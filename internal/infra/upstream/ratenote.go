package upstream

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// atOnce is up to how long a permit may take to be had for it to count as had at once:
// the store has to be asked in any case.
const atOnce = 50 * time.Millisecond

// notePass writes down what the gate said of a request.
func (a *attempt) notePass(pass pace.Pass, cost int, err error) {
	t := &a.answer.Traffic.Gate
	note := &harvest.RateNote{
		Key: a.rate().Key, Cost: max(cost, 1), WaitMs: pass.Waited.Milliseconds(), Decision: harvest.GateAllowed,
		PerSecond: pass.PerSecond, Burst: pass.Burst, CooldownUntil: pass.CooldownUntil,
	}
	f, _ := harvest.FaultOf(err)
	switch {
	case err != nil:
		note.Decision = harvest.GateRejected
	case pass.Waited > atOnce:
		note.Decision = harvest.GateWaited
	}
	switch f.Code {
	case harvest.CodeQuotaKept:
		t.QuotaSoft++
	case harvest.CodeQuota:
		t.QuotaHard++
	}
	if err == nil {
		t.Permits += int64(max(cost, 1))
	}
	a.answer.Rate = note
}

// noteReport writes down what the reply said of the provider's limits.
func (a *attempt) noteReport(got received, b toldBudget, lowered bool, o pace.Outcome, at time.Time) {
	t := &a.answer.Traffic.Gate
	if lowered {
		t.Demoted++
	}
	if o.RetryAfter > 0 {
		t.RetryAfter++
		t.RetryAfterMs += o.RetryAfter.Milliseconds()
	}
	if b.resetIn > 0 && a.answer.Rate != nil {
		a.answer.Rate.Quota = &harvest.QuotaNote{
			Remaining: int64(b.left), Limit: limitHeader(got.header, a.rate().Budget), WindowReset: at.Add(b.resetIn).UTC().Truncate(time.Second),
		}
	}
}

// limitHeader reads the whole budget from the header beside the one with what is left of
// it, 0 if there is none.
func limitHeader(h http.Header, b *source.BudgetConfig) int64 {
	stem, found := cutSuffixFold(b.Remaining, "remaining")
	if !found {
		return 0
	}
	text, _, _ := strings.Cut(h.Get(stem+"Limit"), ";")
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
