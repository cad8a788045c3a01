package sqlstore

import (
	"encoding/json"
	"fmt"
	"iter"
)

// null stores an empty text as NULL.
func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// nullID stores 0 as NULL.
func nullID(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("marshal %T: %w", v, err)
	}
	return string(b), nil
}

// chunks cuts s into parts of at most n.
func chunks[T any](s []T, n int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for len(s) > 0 {
			k := min(n, len(s))
			if !yield(s[:k]) {
				return
			}
			s = s[k:]
		}
	}
}
