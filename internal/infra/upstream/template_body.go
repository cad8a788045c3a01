package upstream

import (
	"encoding/json"
	"encoding/xml"
	"net/url"
	"strings"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/template"
)

// renderBody evaluates the template of a body. Values are written so that they
// stay values (R51): in JSON a text between quotes is escaped, and one that is
// not gets quotes of its own; in a form it is escaped; in anything else it holds
// no CR, LF or NUL, and in XML no markup.
func renderBody(t *template.Template, s *source.CallVars, contentType string) (string, error) {
	write := bodyWriter(contentType)
	return t.Write(s, func(v template.Value, before string) (string, error) {
		if v.Kind == template.KindBlank {
			return blank(v.Text), nil
		}
		return write(v.Text, v.IsText(), before)
	})
}

// bodyWriter writes the values of a body.
func bodyWriter(contentType string) func(text string, isText bool, before string) (string, error) {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return func(text string, isText bool, before string) (string, error) {
		switch {
		case kind == "application/json" || strings.HasSuffix(kind, "+json"):
			if !isText && !insideQuotes(before) {
				return text, nil
			}
			b, err := json.Marshal(text)
			if err != nil {
				return "", err
			}
			if insideQuotes(before) {
				b = b[1 : len(b)-1]
			}
			return string(b), nil
		case kind == formType:
			return url.QueryEscape(text), nil
		case strings.ContainsAny(text, "\r\n\x00"):
			return "", template.ErrControl
		case strings.HasSuffix(kind, "/xml") || strings.HasSuffix(kind, "+xml"):
			var out strings.Builder
			err := xml.EscapeText(&out, []byte(text))
			return out.String(), err
		}
		return text, nil
	}
}

// blank is where a secret goes in a rendered body. No value holds a NUL, so that
// nothing else looks like it; and no digest or ledger sees more of a secret.
func blank(name string) string { return "\x00" + name + "\x00" }

// fillIn puts a value into the blanks of that name in a body; with no name, into
// all that are left.
func fillIn(body, name, value, contentType string) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(body, "\x00")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		this, after, _ := strings.Cut(rest, "\x00")
		text := blank(this)
		if name == "" || this == name {
			var err error
			text, err = bodyWriter(contentType)(value, true, out.String())
			if err != nil {
				return "", err
			}
		}
		out.WriteString(text)
		body = after
	}
}

// insideQuotes reports whether a JSON text so far ends within a string.
func insideQuotes(s string) bool {
	inside := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && inside:
			i++
		case s[i] == '"':
			inside = !inside
		}
	}
	return inside
}
