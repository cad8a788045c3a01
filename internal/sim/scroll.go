package sim

import "time"

// scroll is a walk whose position the server keeps: the ids are frozen when it is
// opened, the items are served as they are when their page comes.
type scroll struct {
	ids  []uint32
	pos  int
	last int // where the page before began
	used time.Time
}

// scrolls holds the open walks by token. It is guarded by Sim.mu.
type scrolls struct {
	seed   uint64
	life   time.Duration
	chars  int
	opened uint64
	open   map[string]*scroll
}

func newScrolls(seed uint64, life time.Duration, chars int) *scrolls {
	return &scrolls{seed: seed, life: life, chars: chars, open: map[string]*scroll{}}
}

// start opens a walk over the ids and returns its token.
func (s *scrolls) start(ids []uint32) (string, *scroll) {
	now := time.Now()
	for token, sc := range s.open {
		if now.Sub(sc.used) >= s.life {
			delete(s.open, token)
		}
	}
	s.opened++
	token := s.token(s.opened)
	sc := &scroll{ids: ids, used: now}
	s.open[token] = sc
	return token, sc
}

// find returns a walk that is still alive, and keeps it so.
func (s *scrolls) find(token string) *scroll {
	sc := s.open[token]
	if sc == nil {
		return nil
	}
	now := time.Now()
	if now.Sub(sc.used) >= s.life {
		delete(s.open, token)
		return nil
	}
	sc.used = now
	return sc
}

// token looks like the base64 of a search engine's scroll id, and holds every
// character that has to be escaped in a URL.
func (s *scrolls) token(n uint64) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	b := append(make([]byte, 0, s.chars), "DnF1ZXJ5VGhlbkZldGNo"...)
	d := roll(s.seed, 5, n)
	for len(b) < s.chars-6 {
		b = append(b, alphabet[d.n(64)])
	}
	return string(append(b, "+/Sw=="...))
}

// shuffled orders ids as no date or number does.
func shuffled(ids []uint32, d dice) []uint32 {
	for k := len(ids) - 1; k > 0; k-- {
		m := d.n(k + 1)
		ids[k], ids[m] = ids[m], ids[k]
	}
	return ids
}

// page takes the next page off a walk. A fault may shorten, empty or repeat it;
// what is held back comes later.
func (sc *scroll) page(rows int, f Fault) []uint32 {
	from, to := sc.pos, min(sc.pos+rows, len(sc.ids))
	switch f {
	case ShortPage, TokenDroppedShort:
		to -= max(1, (to-from)/4)
		to = max(to, from)
	case EmptyMiddlePage:
		return nil
	case RepeatedPage:
		return sc.ids[sc.last:min(sc.last+rows, sc.pos)]
	}
	sc.last, sc.pos = from, to
	return sc.ids[from:to]
}

// suits says whether the fault can be played on this walk.
func (sc *scroll) suits(f Fault, rows int) bool {
	left := len(sc.ids) - sc.pos
	switch f {
	case TokenDropped:
		return left > rows
	case TokenDroppedShort:
		return left > 1
	case ShortPage:
		return min(left, rows) > 1
	case EmptyMiddlePage:
		return left > 0 && rows > 0
	case RepeatedPage:
		return sc.pos > 0 && left > 0
	}
	return true
}
