package control

import (
	"slices"
	"strconv"

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

// firstOf takes the wanted number of rows, of which one more was read if there are
// more, and says where the next page begins; empty if there is none.
func firstOf[T any](rows []T, wanted int, id func(T) int64) (part []T, next string) {
	if len(rows) <= wanted {
		return rows, ""
	}
	rows = rows[:wanted]
	return rows, strconv.FormatInt(id(rows[len(rows)-1]), 10)
}

// Number reads where a page of numbered rows begins; 0: at the beginning.
func (p Page) Number() (int64, error) {
	if p.After == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(p.After, 10, 64)
	if err != nil || n < 0 {
		return 0, ErrPage
	}
	return n, nil
}

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
