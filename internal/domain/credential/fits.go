package credential

import (
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/source"
)

// Fits says why a secret cannot be sent as its source wants it: it must hold as
// many lines as there are places.
func (s Secret) Fits(a *source.Auth) error {
	if have, want := len(s.Parts()), 1+len(a.Also); have != want {
		return fmt.Errorf("the credential has %d lines, one for each secret, and %d are wanted", have, want)
	}
	if !a.TakesPair() {
		return nil
	}
	part, is := s.Password(a)
	switch {
	case !is:
		return fmt.Errorf("the credential of a %s has the form name:secret, and there is no colon in it", a.Type)
	case len(strings.Trim(part.Reveal(), "*")) < MinPart:
		return fmt.Errorf("the part of the credential behind the colon is shorter than %d bytes, too short to be kept out of records without spoiling them", MinPart)
	}
	return nil
}

// Password is the part of a secret that is one by itself, behind the first colon,
// if its source wants a name and a secret.
func (s Secret) Password(a *source.Auth) (Secret, bool) {
	_, part, is := strings.Cut(s.Parts()[0].Reveal(), ":")
	return NewSecret(part), is && a.TakesPair()
}
