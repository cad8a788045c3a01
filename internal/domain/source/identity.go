package source

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/domain/doi"
)

// maxIDLength is the longest id that is kept.
const maxIDLength = 500

// Canonical brings an id that a person or a record gives into the form under
// which records are kept (R29), as items' own ids are.
func (i Identity) Canonical(id string) (string, error) {
	id = strings.TrimSpace(id)
	switch i.Form {
	case "DOI":
		id, _ = doi.Bare(id)
		// A source's own key is believed, whatever the registrant looks like.
		if !strings.HasPrefix(id, "10.") || !strings.Contains(id, "/") {
			return "", fmt.Errorf("%q is not a DOI", clip(id))
		}
		id = doi.Lower(id)
	case "NUMBER":
		if id == "" || strings.Trim(id, "0123456789") != "" {
			return "", fmt.Errorf("%q is not a number", clip(id))
		}
		id = strings.TrimLeft(id, "0")
		if id == "" {
			id = "0"
		}
	}
	switch {
	case id == "":
		return "", fmt.Errorf("there is no id")
	case len(id) > maxIDLength:
		return "", fmt.Errorf("an id of %d bytes", len(id))
	case !utf8.ValidString(id), strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", fmt.Errorf("%q holds bytes that no id has", clip(id))
	}
	return id, nil
}

// clip shortens a text for a message.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}
