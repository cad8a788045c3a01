package sqlstore

import (
	"encoding/json"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// moveRemarks say of a move of a cursor why it was made, as ing_cursor_event keeps it in
// record_remarks.
type moveRemarks struct {
	// Reason is the operation that proved what the cursor passed, or one of the words
	// below.
	Reason string `json:"reason"`
	// BatchNo is which page of its run moved the cursor; 0 if no page did.
	BatchNo int `json:"batchNo,omitzero"`
	// Late is how many versions came late on the pages of all slices that were passed;
	// nil if none of these pages looked back, and so could not see any.
	Late *int64 `json:"lateArrival,omitempty"`
	// Note is what somebody said, or a sentence about the reason.
	Note string `json:"note,omitempty"`
}

// Why a cursor moves, if not since a slice was read to its end.
const (
	movedByAccepting  = "GAP_ACCEPTED" // a person let it pass a gap
	movedByCancelling = "CANCELLED"    // what held it was cancelled, and is answered for by others
	movedByCut        = "RESLICED"     // a slice was cut, and its beginning had been proven
	movedByArchive    = "ARCHIVED"     // the moves up to here were moved to a file
)

// text is what is stored of the remarks.
func (r moveRemarks) text() (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("remarks on a move of a cursor: %w", err)
	}
	return string(text), nil
}

// tellRemarks puts what is stored of the remarks on a move into its view. Moves made by
// older versions have a plain text, or none.
func tellRemarks(e *control.CursorEvent, stored string) {
	var r moveRemarks
	if json.Unmarshal([]byte(stored), &r) != nil || r.Reason == "" {
		e.Remarks = stored
		return
	}
	e.Reason = r.Reason
	e.BatchNo = r.BatchNo
	e.Late = r.Late
	e.Remarks = r.Note
}

// provenBy are the remarks on a move that a page made, by proving what an operation read.
func provenBy(op harvest.Operation, batchNo int) moveRemarks {
	return moveRemarks{Reason: string(op), BatchNo: batchNo}
}
