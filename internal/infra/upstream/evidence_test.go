package upstream

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestR67_WhatIsKeptOfAReplyHoldsNoSecret: status, headers and the beginning of a
// reply are kept with a fault, without the key that it was asked with, whole or broken
// off, and what another try had said is gone.
func TestR67_WhatIsKeptOfAReplyHoldsNoSecret(t *testing.T) {
	const secret = "c4nary-key-0123456789"
	spec := authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key"})
	spec.Retry.Attempts = 2
	for body, want := range map[string]string{
		"no such key: " + secret + "!":    "no such key: ***!",
		"no such key: " + secret[:12]:     "no such key: ",
		"short of words":                  "short of words",
		strings.Repeat("x", 3000) + "end": strings.Repeat("x", harvest.SampleSize),
	} {
		earlier := status(503, "what was said before", "Retry-After", "0", "X-Request-Id", "first")
		last := status(400, body, "Location", "https://h/?k="+secret, "X-RateLimit-Remaining", "7", "Set-Cookie", "a=b", "Content-Type", "text/plain")
		c := newClient(Config{Transport: play(earlier, last), Credentials: &pool{keys: []string{secret}}}, &free{}, jsonDecoder{})
		a, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
		if _, is := harvest.FaultOf(err); !is || a.Status != 400 || len(a.ReplySHA256) != 64 || a.Traffic.Sent != 2 || a.Traffic.HTTP5xx != 1 {
			t.Errorf("%.40q: %+v, %v", body, a, err)
		}
		if string(a.Sample) != want {
			t.Errorf("%.40q is kept as %.60q", body, a.Sample)
		}
		if got := fmt.Sprint(a.Headers); got != "map[Content-Type:text/plain Location:https://h/?k=*** X-Ratelimit-Remaining:7]" {
			t.Errorf("headers kept: %s", got)
		}
	}
}

// TestR67_ALostReplyLeavesNothingOfTheOneBefore: where no reply came to the last try,
// the status, hash and beginning of another are not its own.
func TestR67_ALostReplyLeavesNothingOfTheOneBefore(t *testing.T) {
	spec := testSpec()
	spec.Retry.Attempts = 2
	c := newClient(Config{Transport: play(status(503, "down", "Retry-After", "0"), broken(io.ErrUnexpectedEOF))}, &free{}, jsonDecoder{})
	a, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
	if err == nil || a.Traffic.Sent != 2 || a.Status != 0 || a.ReplySHA256 != "" || a.Sample != nil || a.Headers != nil {
		t.Errorf("%+v, %v", a, err)
	}
}
