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
	// line and turn are locks that a context can end the waiting for. A caller
	// holds line for as long as it asks for a permit, which may take several
	// visits to the store, and turn during each of these visits. So the callers
	// of one key queue in this process and not at the store's lock.
	line, turn chan struct{}
	// freed wakes the caller that waits for a seat.
	freed chan struct{}

	mu sync.Mutex // guards all below; not held while the store is asked
	// waiting is how many callers will visit the store before long.
	waiting int
	// The epoch in the store grows with every cooldown, such as a 429 brings,
	// and makes older permits void. epoch is the greatest that this process has seen, and knownAt when
	// it last saw one. moved is closed, and made anew, when epoch grows or all
	// permits are void for another reason: whoever sleeps with a permit wakes.
	epoch   int64
	moved   chan struct{}
	knownAt time.Time
	// news is what the store has not been told yet; unseen are outcomes that
	// the spare, which stands in for a lost store, has not been told yet.
	news   news
	unseen []pace.Outcome
	// held are the seats that this process holds, by their numbers.
	held map[int64]*hold
	// allowed is the limit of a reply's headers that the store was told last,
	// and empty the time until which it was told that the provider's budget is
	// used up. A reply that says the same again need not
	// be told at once.
	allowed pace.Outcome
	empty   time.Time
	// quiet is until when everyone keeps silence, as the store said last.
	quiet time.Time
	// took is how long it was, in the last two visits, from the slot being
	// reserved to this process hearing of it; look is how long the last look at
	// the epoch took.
	took   [2]time.Duration
	look   time.Duration
	warned time.Time
}

// news is what the store is owed: outcomes, slots and seats given back, and that
// nobody of this process waits for a seat any more.
type news struct {
	outcomes []pace.Outcome
	slots    []pace.Slot
	seats    []int64
	quit     bool
}

func newKey() *key {
	return &key{
		line: make(chan struct{}, 1), turn: make(chan struct{}, 1), freed: make(chan struct{}, 1),
		moved: make(chan struct{}), held: map[int64]*hold{},
	}
}

func (k *key) lock(ctx context.Context) error {
	select {
	case k.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (k *key) unlock() { <-k.turn }

// maxOwed bounds what is remembered for a store that cannot be reached.
const maxOwed = 64

// note remembers an outcome for the next visit, and reports whether the store
// must be told at once.
func (k *key) note(o pace.Outcome) bool {
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
	k.news.outcomes = remember(k.news.outcomes, o)
	k.unseen = remember(k.unseen, o)
	return o.Kind != pace.Fine || stated
}

// remember appends an outcome. Where there are too many the first good reply is
// forgotten for it.
func remember(all []pace.Outcome, o pace.Outcome) []pace.Outcome {
	if len(all) >= maxOwed {
		i := slices.IndexFunc(all, func(o pace.Outcome) bool { return o == pace.Outcome{Kind: pace.Fine} })
		if i < 0 {
			return all // the rest says the same again
		}
		all = slices.Delete(all, i, i+1)
	}
	return append(all, o)
}

// owe remembers what a permit gives back. It reports whether a caller waits that
// will visit the store before long and tell it on the way.
func (k *key) owe(slot pace.Slot, refund bool, fence int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if refund && len(k.news.slots) < 1024 {
		k.news.slots = append(k.news.slots, slot)
	}
	if fence != 0 {
		k.news.seats = append(k.news.seats, fence)
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
	return k.waiting == 0 && (len(k.news.slots)+len(k.news.seats) > 0 || k.news.quit)
}

// quit remembers that the caller has left the queue for a seat.
func (k *key) quit() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.news.quit = true
}

func (k *key) wait(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting += n
}

// takeNews hands over what the store is owed.
func (k *key) takeNews() news {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.news
	k.news = news{}
	return n
}

// returnNews takes back what the store could not be told.
func (k *key) returnNews(n news) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, o := range k.news.outcomes {
		n.outcomes = remember(n.outcomes, o)
	}
	k.news.outcomes = n.outcomes
	k.news.slots = append(n.slots, k.news.slots...)
	k.news.seats = append(n.seats, k.news.seats...)
	k.news.quit = k.news.quit || n.quit
}

// fences are the seats held.
func (k *key) fences() []int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := make([]int64, 0, len(k.held))
	for fence := range k.held {
		out = append(out, fence)
	}
	slices.Sort(out)
	return out
}

// renewed takes over what a visit found of the seats held: for how long each is
// still ours, counted from asked. That is 0 for a seat that is lost, whose request
// then ends.
func (k *key) renewed(asked time.Time, left map[int64]time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for fence, d := range left {
		if h := k.held[fence]; h != nil {
			h.expire.Reset(max(time.Until(asked.Add(d)), 0))
		}
	}
}

// learn takes over the epoch that the store named at a time, and returns the
// channel that is closed when it grows past that.
func (k *key) learn(epoch int64, at time.Time) <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at.After(k.knownAt) {
		k.knownAt = at
	}
	if epoch > k.epoch {
		k.epoch = epoch
		close(k.moved)
		k.moved = make(chan struct{})
	}
	return k.moved
}

// voidAll makes the permits void that are waited with.
func (k *key) voidAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.moved)
	k.moved = make(chan struct{})
}

func (k *key) known() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.knownAt
}

// ahead is how far in the future a slot must lie at least, so that this process
// hears of it before it has come: 0, unless the store has been slow twice in a
// row. One slow visit alone may be chance.
func (k *key) ahead(jitter time.Duration) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	took := min(k.took[0], k.took[1])
	if took <= jitter/2 {
		return 0
	}
	return took * 3 / 2
}

func (k *key) visitTook(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.took[1] = k.took[0]
	k.took[0] = d
}

func (k *key) lookTook(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look = d
}

// lead is how long before its slot a permit is looked at once more: three times
// what the last look took, within bounds.
func (k *key) lead() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return min(max(3*k.look, leadMin), leadMax)
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
