package httpapi

import "time"

// NewLogins makes a counter of refused tokens.
func NewLogins() *logins { return newLogins() }

// Failed counts a refused token.
func (l *logins) Failed(address, secret string) { l.failed(address, secret) }

// Barred reports whether no more are looked at.
func (l *logins) Barred(address, secret string) (time.Duration, bool) {
	return l.barred(address, secret)
}

// Size is how many addresses are remembered.
func (l *logins) Size() int { return len(l.addresses) }
