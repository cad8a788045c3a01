package control

import (
	"fmt"
	"strings"
)

// Count is a number of things in words.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func joinLines(texts []string) string { return strings.Join(texts, "\n") }
