package main

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/pflag"
)

// standIn is a host that is asked in place of a source's own. Credentials are for
// the source, so it is sent none unless that is said as well.
type standIn struct {
	url         string
	credentials bool
}

func (s *standIn) add(f *pflag.FlagSet, usage string) {
	f.StringVar(&s.url, "base-url", "", usage)
	f.BoolVar(&s.credentials, "with-credentials", false, "send the source's credentials to the host of --base-url too")
}

// base is the address with what is to be sent there; empty if none was given.
func (s *standIn) base() (string, error) {
	if s.url == "" {
		if s.credentials {
			return "", &usageError{err: errors.New("--with-credentials goes with --base-url; a source's own host is sent its credentials anyway")}
		}
		return "", nil
	}
	u, err := url.Parse(s.url)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return "", &usageError{err: fmt.Errorf("--base-url %q is not an http or https address", s.url)}
	case u.Fragment != "" || u.RawQuery != "" || u.User != nil:
		return "", &usageError{err: errors.New("--base-url ends with the path: user, query and fragment do not belong there")}
	case s.credentials:
		return control.LendCredentials(s.url), nil
	}
	return s.url, nil
}

// baseFlags are the flags that give a base address again.
func baseFlags(base string) []string {
	address, credentials := control.SplitBase(base)
	if address == "" {
		return nil
	}
	words := []string{"--base-url", quoted(address)}
	if credentials {
		words = append(words, "--with-credentials")
	}
	return words
}
