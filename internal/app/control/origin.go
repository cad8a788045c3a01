package control

import "github.com/papertrace/patra/internal/domain/harvest"

// Origin is the page that brought something, and what led to it.
type Origin struct {
	Batch     harvest.BatchID    `json:"batch"`
	Run       harvest.RunID      `json:"run,omitzero"`
	Task      harvest.TaskID     `json:"task,omitzero"`
	Slice     harvest.SliceID    `json:"slice,omitzero"`
	Plan      harvest.PlanID     `json:"plan,omitzero"`
	Trigger   harvest.InstanceID `json:"trigger,omitzero"`
	Operation harvest.Operation  `json:"operation,omitempty"`
	// ExprHash stands for the expression that was asked for.
	ExprHash string `json:"expr_hash,omitempty"`
	// Request is what was asked, without secrets, and ReplySHA256 what came.
	Request     string `json:"request,omitempty"`
	HTTPStatus  int64  `json:"http_status,omitzero"`
	ReplySHA256 string `json:"reply_sha256,omitempty"`
	// FetchedAt is when it was asked for.
	FetchedAt *Time `json:"fetched_at,omitempty"`
}
