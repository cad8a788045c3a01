package replay

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// Ref names a page: by its run and its number there, or by an id of its own.
type Ref struct {
	Run harvest.RunID
	No  int
	// ID is set, and the others are not, if the page is named by it.
	ID harvest.BatchID
}

func (r Ref) String() string {
	if r.ID != 0 {
		return strconv.FormatInt(int64(r.ID), 10)
	}
	return fmt.Sprintf("%d/%d", r.Run, r.No)
}

// ParseRef reads RUN/BATCH, the correlation id ing-RUN-BATCH, or the id of a page.
func ParseRef(text string) (Ref, error) {
	if id, ok := number(text); ok {
		return Ref{ID: harvest.BatchID(id)}, nil
	}
	run, no, isPair := strings.Cut(text, "/")
	if rest, isCorrelation := strings.CutPrefix(text, "ing-"); isCorrelation {
		run, no, isPair = strings.Cut(rest, "-")
	}
	runID, runOK := number(run)
	batchNo, noOK := number(no)
	if !isPair || !runOK || !noOK {
		return Ref{}, problem.New(fmt.Sprintf("%q names no page", text), problem.Problem{
			Code: "usage", Kind: problem.Usage, Next: "write RUN/BATCH, ing-RUN-BATCH as logs do, or the id of the batch",
		})
	}
	return Ref{Run: harvest.RunID(runID), No: int(batchNo)}, nil
}

// number reads a number as ids are: greater than 0, and small enough for one.
func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n > 0
}
