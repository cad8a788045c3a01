package credential

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Hidden is all that is ever shown of a secret.
const Hidden = "***"

// MinSecret is the length below which a text is refused as a credential or a
// token: a shorter one stands in records by chance, and looking for it would
// spoil them.
const MinSecret = 16

// MinPart is the length below which a text is not looked for at all. Of a
// credential that has a user and a password the password alone may be this short.
const MinPart = 8

// Secret is a value that does not print: not by any verb, not as JSON or text,
// not in a log line, and not as part of something else that is printed. It is
// held by a function, so that what walks over values by reflection finds no
// text either. The zero value is no secret at all.
type Secret struct {
	reveal func() string
}

// NewSecret hides v.
func NewSecret(v string) Secret { return Secret{reveal: func() string { return v }} }

// Reveal gives the value. It is for the transport that sends it, the vault that
// seals it and the redactor that looks for it; a test holds that to be so.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Parts are the secrets of a credential that holds several, one a line.
func (s Secret) Parts() []Secret {
	var out []Secret
	for line := range strings.SplitSeq(s.Reveal(), "\n") {
		out = append(out, NewSecret(strings.TrimSuffix(line, "\r")))
	}
	return out
}

// Empty reports whether there is nothing to hide.
func (s Secret) Empty() bool { return s.Reveal() == "" }

// Equal compares without telling by the time it takes how much was alike.
func (s Secret) Equal(o Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(o.Reveal())) == 1
}

// String implements fmt.Stringer.
func (Secret) String() string { return Hidden }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return Hidden }

// Format implements fmt.Formatter, for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Hidden) }

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte(Hidden), nil }

// MarshalJSON implements json.Marshaler.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + Hidden + `"`), nil }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(Hidden) }
