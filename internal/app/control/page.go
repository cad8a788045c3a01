package control

import (
	"slices"

	"github.com/papertrace/patra/internal/domain/problem"
)

// Page is which part of a list is wanted. Its zero value is all of it.
type Page struct {
	// After is where the page before ended, as it said itself; empty: the beginning.
	After string
	Limit int // 0: no limit
}

// ErrPage says that a list has no such place.
var ErrPage = problem.New("the list has no such place", problem.Problem{
	Code: "bad_page", Kind: problem.Usage, Next: "begin again without after, and go on with what next says",
})

// cut takes a page of a list that is there as a whole, and says where the next
// begins; empty if there is none. Keys are those of the rows.
func cut[T any](rows []T, p Page, key func(T) string) (part []T, next string, err error) {
	if p.After != "" {
		at := slices.IndexFunc(rows, func(r T) bool { return key(r) == p.After })
		if at < 0 {
			return nil, "", ErrPage
		}
		rows = rows[at+1:]
	}
	if p.Limit == 0 || len(rows) <= p.Limit {
		return rows, "", nil
	}
	rows = rows[:p.Limit]
	return rows, key(rows[len(rows)-1]), nil
}
