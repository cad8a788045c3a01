package upstream

import (
	"bytes"
	"context"
	"net/url"
	"slices"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/source"
)

// secrets are those that one question is asked with: the keys it was tried with,
// their parts, the tokens got for them and the signatures made with them. What
// the upstream answers is searched for these and no others: what another source
// calls a token must not change a record of this one.
type secrets struct {
	own   []credential.Secret
	ready Redactor // of own; nil: own has grown since
	// knowing makes the redactor of own.
	knowing func(secrets ...credential.Secret) Redactor
	// shared knows the secrets of the whole process; it is for what patra itself
	// says.
	shared Redactor
}

// add takes note of secrets before they are sent, or as soon as they came.
func (s *secrets) add(more ...credential.Secret) {
	for _, m := range more {
		s.shared.Learn(m)
		if !slices.ContainsFunc(s.own, m.Equal) {
			s.own, s.ready = append(s.own, m), nil
		}
	}
}

func (s *secrets) redactor() Redactor {
	if s.ready == nil {
		s.ready = s.knowing(s.own...)
	}
	return s.ready
}

// reply is what an upstream answered, without its own secrets.
func (s *secrets) reply(ctx context.Context, got received) (received, error) {
	r := s.redactor()
	for name, values := range got.header {
		for i, v := range values {
			if name != "Location" { // which is judged first
				values[i] = r.Text(v)
			}
		}
	}
	var err error
	got.body, err = r.Bytes(ctx, got.body)
	return got, err
}

// brokenPart is the shortest beginning of a secret that is taken for one.
const brokenPart = 4

// withoutBroken is the end of a reply that broke off, without the beginning of a
// secret on which it may have ended.
func (s *secrets) withoutBroken(b []byte) []byte {
	for _, m := range s.own {
		secret := m.Reveal()
		for n := min(len(secret)-1, len(b)); n >= brokenPart; n-- {
			if bytes.HasSuffix(b, []byte(secret[:n])) {
				b = b[:len(b)-n]
				break
			}
		}
	}
	return b
}

// shownIn reports whether a text that the upstream sent holds a secret of its own.
func (s *secrets) shownIn(text string) bool { return s.redactor().Text(text) != text }

// Text is an error or a message without any secret.
func (s *secrets) Text(text string) string { return s.shared.Text(s.redactor().Text(text)) }

// partsOf lists a credential and what of it is a secret by itself: the password
// behind a user's name, the secret of a client, the key behind its id. The part
// before the colon is none: it may stand in records, which must keep it.
func partsOf(a *source.Auth, s credential.Secret) []credential.Secret {
	out := []credential.Secret{s}
	if part, is := s.Password(a); is {
		// Escaped too: that is how a client's secret goes into the header (RFC 6749, 2.3.1).
		out = append(out, part, credential.NewSecret(url.QueryEscape(part.Reveal())))
	}
	return out
}
