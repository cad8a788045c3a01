package source

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxIDLength is the longest id that is kept.
const maxIDLength = 500

// Canonical brings an id that a person or a record gives into the form under
// which records are kept (R29), as items' own ids are.
func (i Identity) Canonical(id string) (string, error) {
	id = strings.TrimSpace(id)
	switch i.Form {
	case "DOI":
		id = bareDOI(id)
		if !strings.HasPrefix(id, "10.") || !strings.Contains(id, "/") {
			return "", fmt.Errorf("%q is not a DOI", clip(id))
		}
		id = strings.Map(func(r rune) rune {
			if r >= 'A' && r <= 'Z' {
				return r | 0x20
			}
			return r
		}, id)
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

// bareDOI takes the resolver off a DOI.
func bareDOI(id string) string {
	for _, prefixes := range [][]string{{"https://", "http://"}, {"dx.doi.org/", "www.doi.org/", "doi.org/"}, {"doi:"}} {
		for _, p := range prefixes {
			if len(id) >= len(p) && strings.EqualFold(id[:len(p)], p) {
				id = id[len(p):]
				break
			}
		}
	}
	return strings.TrimSpace(id)
}

// clip shortens a text for a message.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}
