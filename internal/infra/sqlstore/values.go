package sqlstore

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

// null stores an empty text as NULL. What is not UTF-8 is replaced: a server
// would refuse the row, and with it the page.
func null[S ~string](s S) any {
	if s == "" {
		return nil
	}
	return strings.ToValidUTF8(string(s), "\ufffd")
}

// clip makes s valid text of at most n bytes.
func clip[S ~string](text S, n int) string {
	s := strings.ToValidUTF8(string(text), "\ufffd")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// nullBytes stores an empty id as NULL, and of others at most n bytes as they are.
func nullBytes(s string, n int) any {
	if s == "" {
		return nil
	}
	return s[:min(n, len(s))]
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
