package source

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// CandidateExpr is the expression of a slice of an UPDATE, as stored in
// expr_snapshot: a range of the candidates that its plan froze (R9).
func CandidateExpr(r harvest.Range) string {
	b, err := json.Marshal(map[string]rangeExpr{"range": {r.Key, strconv.FormatInt(r.From, 10), strconv.FormatInt(r.To, 10)}})
	if err != nil { // strings only
		panic(fmt.Sprintf("marshal expression: %v", err))
	}
	return string(b)
}
