package control

import (
	"context"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/replay"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// BatchView is a page with everything that is kept of it: what was asked, what came and
// what was done with it.
type BatchView struct {
	BatchItem
	Correlation string             `json:"correlation_id"` // as logs and the upstream know it
	Task        harvest.TaskID     `json:"task"`
	Slice       harvest.SliceID    `json:"slice"`
	Plan        harvest.PlanID     `json:"plan"`
	Instance    harvest.InstanceID `json:"schedule_instance,omitzero"`
	Source      string             `json:"source"`
	Operation   harvest.Operation  `json:"operation"`
	ExprHash    string             `json:"expr_hash,omitempty"`
	// Credential is the name of the key it went with, empty if it went without.
	Credential string `json:"credential,omitempty"`
	Walk       int    `json:"walk"`
	// Before and After are the positions of the walk, as they are stored.
	Before string `json:"before"`
	After  string `json:"after,omitempty"`
	// HasNext: more pages of the walk were to come. Proof is what proved the end.
	HasNext bool           `json:"has_next"`
	Proof   string         `json:"end_proof,omitempty"`
	Records harvest.Counts `json:"records"`
	// Asked are the ids of a page of details, BadIDs those that had none.
	Asked  int64  `json:"asked,omitzero"`
	BadIDs int64  `json:"bad_ids,omitzero"`
	Fresh  int64  `json:"fresh"`
	Late   *int64 `json:"late,omitempty"` // absent where nobody looked for late ones
	// ObservedMax is the newest update time on the page.
	ObservedMax   *Time             `json:"observed_max,omitempty"`
	Request       string            `json:"request,omitempty"`
	RequestSHA256 string            `json:"request_sha256,omitempty"`
	ReplySHA256   string            `json:"reply_sha256,omitempty"`
	Headers       map[string]string `json:"headers,omitempty"`
	// Sample is the beginning of the reply to a page that was not stored, without secrets.
	Sample   string `json:"sample,omitempty"`
	Means    string `json:"means,omitempty"` // what its code stands for
	NextStep string `json:"next_step"`
}

// Batch shows a page of a run.
func (c *Control) Batch(ctx context.Context, run harvest.RunID, no int64) (BatchView, error) {
	v, err := c.store.Batch(ctx, run, no)
	if err != nil {
		return v, c.orPageArchived(ctx, err, replay.Ref{Run: run, No: int(no)})
	}
	v.Correlation = fmt.Sprintf("ing-%d-%d", run, no)
	v.Request = c.clean(v.Request)
	v.Sample = c.clean(v.Sample)
	v.Error = c.clean(v.Error)
	v.NextStep = nothingToDo
	code := harvest.Code(v.Code)
	if m, known := code.Meaning(); known {
		v.Means = m.Means
	}
	if v.Status == string(harvest.BatchFailed) {
		v.NextStep = fmt.Sprintf("patra run why %d", run)
		if do := whatToDo(code, v.Source); do != "" {
			v.NextStep = do + "; " + v.NextStep
		}
	}
	return v, nil
}

// Took divides the time of a page: what the network and the gate did not take of the
// time from claim to end was processing.
func (b *BatchItem) Took(wait, network time.Duration) {
	b.Wait = wait.Milliseconds()
	b.Network = network.Milliseconds()
	if !b.Ended.IsZero() {
		b.Processing = max(0, (b.Ended.Sub(b.Opened) - wait - network).Milliseconds())
	}
}
