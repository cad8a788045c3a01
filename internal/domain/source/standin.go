package source

import (
	"net/netip"
	"net/url"
)

// StandsIn reports whether requests go to a host that only stands in for the
// source: one that the plan names in its place, or this very machine, where people
// try a description out on a simulator.
func (s *Spec) StandsIn(baseURL string) bool {
	if baseURL != "" {
		return true
	}
	u, err := url.Parse(s.HTTP.BaseURL)
	if err != nil {
		return false
	}
	if u.Hostname() == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.IsLoopback()
}
