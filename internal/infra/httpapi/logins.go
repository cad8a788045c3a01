package httpapi

import (
	"crypto/sha256"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// How many tokens may be refused within a window before no more are looked at: of one
// address, and of all of them together.
const (
	refusedWindow  = time.Minute
	refusedFromOne = 10
	refusedFromAll = 100
	// addresses and tokens that are remembered at most
	maxAddresses = 1024
	maxPassed    = 256
)

// Logins counts refused tokens, so that nobody can go on guessing, nor keep the
// store busy with it. A token that has passed before is always looked at: strangers
// who guess do not lock out those who are known.
type Logins struct {
	mu        sync.Mutex
	addresses map[string]*refused // guarded by mu, as what follows
	all       refused
	known     map[[sha256.Size]byte]bool
}

// refused counts the tokens refused since an instant.
type refused struct {
	since time.Time
	count int
}

// NewLogins has counted nothing yet.
func NewLogins() *Logins {
	return &Logins{addresses: map[string]*refused{}, known: map[[sha256.Size]byte]bool{}}
}

// left is how long it is until more may be tried, 0 if they may now.
func (r *refused) left(now time.Time, most int) time.Duration {
	end := r.since.Add(refusedWindow)
	if r.count < most || !now.Before(end) {
		return 0
	}
	return end.Sub(now)
}

func (r *refused) add(now time.Time) {
	if now.Sub(r.since) >= refusedWindow {
		*r = refused{since: now}
	}
	r.count++
}

// Barred reports whether no more tokens of an address are looked at, and for how long.
func (l *Logins) Barred(address, secret string) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[sha256.Sum256([]byte(secret))] {
		return 0, false
	}
	now := time.Now()
	wait := l.all.left(now, refusedFromAll)
	if one := l.addresses[address]; one != nil {
		wait = max(wait, one.left(now, refusedFromOne))
	}
	return wait, wait > 0
}

// Failed counts a refused token.
func (l *Logins) Failed(address, secret string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	delete(l.known, sha256.Sum256([]byte(secret)))
	l.all.add(now)
	one := l.addresses[address]
	if one == nil {
		l.makeRoom()
		one = new(refused)
		l.addresses[address] = one
	}
	one.add(now)
}

// makeRoom forgets the address that was counted longest ago if there are too many.
func (l *Logins) makeRoom() {
	if len(l.addresses) < maxAddresses {
		return
	}
	var oldest string
	for address, r := range l.addresses {
		if oldest == "" || r.since.Before(l.addresses[oldest].since) {
			oldest = address
		}
	}
	delete(l.addresses, oldest)
}

// Passed remembers a token that was good.
func (l *Logins) Passed(secret string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) >= maxPassed {
		clear(l.known)
	}
	l.known[sha256.Sum256([]byte(secret))] = true
}

func tooMany(wait time.Duration) *Problem {
	no := refusal(http.StatusTooManyRequests, "too_many_refused", "too many tokens were refused", "wait, then send a token that is good")
	seconds := int(wait.Round(time.Second) / time.Second)
	no.headers = http.Header{"Retry-After": {strconv.Itoa(max(1, seconds))}}
	return no
}
