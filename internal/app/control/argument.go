package control

import (
	"time"

	"github.com/papertrace/patra/internal/domain/source"
)

// What a person gives with an order reads the same on a command line, in a form and in a pack.

// ParseDuration reads a length of time as people write it: 90s, 30d, PT10M, P1D.
func ParseDuration(text string) (time.Duration, error) { return source.ParseDuration(text) }

// ParseOrigin is scheme, host and port of an address, and empty for what is no such address.
func ParseOrigin(address string) string { return source.Origin(address) }

// LendCredentials says of a base URL that it is to be sent the credentials of its source.
func LendCredentials(base string) string { return source.WithCredentials(base) }

// SplitBase is a base URL and whether it is to be sent credentials.
func SplitBase(base string) (address string, credentials bool) { return source.SplitBase(base) }

// Suggest names the known word that is nearest to one, or lists those that are known.
func Suggest(word string, known []string) string { return source.Suggest(word, known) }
