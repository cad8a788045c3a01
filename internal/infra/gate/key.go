package gate

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/pace"
)

// key is what this process knows about a rate key.
type key struct {
	// reserving and visiting are locks for which a context can end the waiting. A
	// caller holds reserving for as long as it asks for a permit, which may take several
	// visits to the store, and visiting during each of these visits. So the callers of
	// one key queue in this process and not at the store's lock.
	reserving, visiting chan struct{}
	// freed wakes the caller that waits for a seat.
	freed chan struct{}

	mu sync.Mutex // guards all below; not held while the store is asked
	// waiting is how many callers will visit the store before long.
	waiting int
	// queued is how many callers wait for their turn to ask, by their terms, and ahead are
	// the permits that were taken for some of them: on no terms more than are queued.
	queued map[terms]int
	ahead  []*permit
	// The epoch in the store grows with every cooldown, such as a 429 brings, and
	// makes older permits void. epoch is the greatest that this process has seen, and
	// knownAt when it last saw one. voided is closed, and made anew, when epoch grows or
	// all permits are void for another reason: whoever sleeps with a permit wakes.
	epoch   int64
	voided  chan struct{}
	knownAt time.Time
	// owed is what the store has not been told yet; untoldFallback are outcomes that
	// the fallback, which stands in for a lost store, has not been told yet.
	owed           owedToStore
	untoldFallback []pace.Outcome
	// seats are those that this process has, by their numbers.
	seats map[int64]*keptSeat
	// allowed is the limit of a reply's headers that the store was told last,
	// and empty the time until which it was told that the provider's budget is
	// used up. A reply that says the same again need not be told at once.
	allowed pace.Outcome
	empty   time.Time
	// silentUntil is when everyone's silence ends, as the store said last.
	silentUntil time.Time
	// ceiling is what a person has lowered the rate to, as the store said last.
	ceiling pace.Ceiling
	// pass is how the key stood at the last visit.
	pass pace.Pass
	// visitTimes is how long it was, in the last two visits, from the store reading its
	// clock, at the soonest, to this process hearing of its slot; lookTime is how long the last look at
	// the epoch took.
	visitTimes [2]time.Duration
	lookTime   time.Duration
	warned     time.Time // when it was last told that the store is slow
}

// owedToStore is what the store is to be told at the next visit: outcomes, slots and
// seats given back, and that this process has left the queue for a seat.
type owedToStore struct {
	outcomes  []pace.Outcome
	slots     []pace.Slot
	seats     []int64
	leftQueue bool
}

func newKey() *key {
	return &key{
		reserving: make(chan struct{}, 1), visiting: make(chan struct{}, 1), freed: make(chan struct{}, 1),
		voided: make(chan struct{}), seats: map[int64]*keptSeat{}, queued: map[terms]int{},
	}
}

func (k *key) lockVisits(ctx context.Context) error {
	select {
	case k.visiting <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (k *key) unlockVisits() { <-k.visiting }

// maxOwed bounds what is remembered for a store that cannot be reached.
const maxOwed = 64

// noteOutcome remembers an outcome for the next visit, and reports whether the store
// must be told at once.
func (k *key) noteOutcome(o pace.Outcome) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	said := pace.Outcome{Allowed: o.Allowed, Per: o.Per}
	empty := time.Now().Add(o.Empty)
	stated := o.Allowed > 0 && said != k.allowed || o.Empty > 0 && empty.Sub(k.empty) > time.Second
	if stated && o.Allowed > 0 {
		k.allowed = said
	}
	if stated && o.Empty > 0 {
		k.empty = empty
	}
	k.owed.outcomes = remember(k.owed.outcomes, o)
	k.untoldFallback = remember(k.untoldFallback, o)
	return o.Kind != pace.Fine || stated
}

// remember appends an outcome. Where there are too many the first good reply is
// forgotten for it.
func remember(all []pace.Outcome, o pace.Outcome) []pace.Outcome {
	if len(all) >= maxOwed {
		i := slices.IndexFunc(all, func(o pace.Outcome) bool { return o.Kind == pace.Fine && o.Allowed == 0 && o.Empty == 0 })
		if i < 0 {
			return all // the rest says the same again
		}
		all = slices.Delete(all, i, i+1)
	}
	return append(all, o)
}

// noteGivenBack remembers what a permit gives back. It reports whether a caller waits that
// will visit the store before long and tell it on the way.
func (k *key) noteGivenBack(slot pace.Slot, refund bool, fence int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if refund && len(k.owed.slots) < 1024 {
		k.owed.slots = append(k.owed.slots, slot)
	}
	if fence != 0 {
		k.owed.seats = append(k.owed.seats, fence)
	}
	if k.waiting == 0 {
		return false
	}
	select {
	case k.freed <- struct{}{}:
	default:
	}
	return true
}

// mustTell reports whether something was given back and no caller waits that would
// tell the store of it on its way.
func (k *key) mustTell() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.waiting == 0 && (len(k.owed.slots)+len(k.owed.seats) > 0 || k.owed.leftQueue)
}

// noteLeftQueue remembers that the caller has left the queue for a seat.
func (k *key) noteLeftQueue() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.owed.leftQueue = true
}

// countWaiting counts callers that will visit the store before long.
func (k *key) countWaiting(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting += n
}

// lastPass is how the key stood at the last visit to the store.
func (k *key) lastPass() pace.Pass {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pass
}

// takeOwed hands over what the store is owed.
func (k *key) takeOwed() owedToStore {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.owed
	k.owed = owedToStore{}
	return n
}

// putOwedBack takes back what the store could not be told.
func (k *key) putOwedBack(n owedToStore) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, o := range k.owed.outcomes {
		n.outcomes = remember(n.outcomes, o)
	}
	k.owed.outcomes = n.outcomes
	k.owed.slots = append(n.slots, k.owed.slots...)
	k.owed.seats = append(n.seats, k.owed.seats...)
	k.owed.leftQueue = k.owed.leftQueue || n.leftQueue
}

// heldFences are the numbers of the seats that this process holds.
func (k *key) heldFences() []int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := make([]int64, 0, len(k.seats))
	for fence := range k.seats {
		out = append(out, fence)
	}
	slices.Sort(out)
	return out
}

// setExpiries takes over what a visit found of the seats of this process: for how long
// each is still ours, counted from asked. That is 0 for a seat that is lost, whose
// request then ends.
func (k *key) setExpiries(asked time.Time, left map[int64]time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for fence, d := range left {
		if h := k.seats[fence]; h != nil {
			h.expire.Reset(max(time.Until(asked.Add(d)), 0))
		}
	}
}

// learnEpoch takes over the epoch that the store named at a time, and returns the
// channel that is closed when it grows past that.
func (k *key) learnEpoch(epoch int64, at time.Time) <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at.After(k.knownAt) {
		k.knownAt = at
	}
	if epoch > k.epoch {
		k.epoch = epoch
		close(k.voided)
		k.voided = make(chan struct{})
	}
	return k.voided
}

// voidAll makes every permit void whose slot is still waited for.
func (k *key) voidAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.voided)
	k.voided = make(chan struct{})
}

// epochKnownAt is when this process last saw the epoch.
func (k *key) epochKnownAt() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.knownAt
}

// leastAhead is how far in the future a slot must lie at least, so that this process
// hears of it before it has come: 0, unless the store has been slow twice in a
// row. One slow visit alone may be chance.
func (k *key) leastAhead(jitter time.Duration) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	took := min(k.visitTimes[0], k.visitTimes[1])
	if took <= jitter/2 {
		return 0
	}
	return took * 3 / 2
}

func (k *key) visitTook(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.visitTimes[1] = k.visitTimes[0]
	k.visitTimes[0] = d
}

func (k *key) lookTook(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lookTime = d
}

// lead is how long before its slot a permit is looked at once more: three times
// what the last look took, within bounds.
func (k *key) lead() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return min(max(3*k.lookTime, leadMin), leadMax)
}

// mayWarn is true once a minute.
func (k *key) mayWarn() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.warned.IsZero() && time.Since(k.warned) < time.Minute {
		return false
	}
	k.warned = time.Now()
	return true
}
