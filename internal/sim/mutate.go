package sim

import (
	"errors"
	"fmt"
	"time"
)

// ErrNoRecord is returned by the functions that change the truth when the record
// they name is not there to be changed.
var ErrNoRecord = errors.New("no such record")

// lookup finds a record by its id; s.mu is held.
func (s *Sim) lookup(source, id string) (uint32, error) {
	p, ok := s.populations[source]
	if !ok {
		return 0, fmt.Errorf("source %q is not simulated: %w", source, ErrNoRecord)
	}
	i, ok := s.upstreams[source].find(id)
	if !ok || int(i) >= len(p.records) {
		return 0, fmt.Errorf("%s %q: %w", source, id, ErrNoRecord)
	}
	return i, nil
}

// change runs a change of one living record at the clock's time.
func (s *Sim) change(source, id string, do func(p *population, i uint32, now int64)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.lookup(source, id)
	if err != nil {
		return err
	}
	p := s.populations[source]
	if tip := p.tip(i); tip.number == 0 || tip.deleted {
		return fmt.Errorf("%s %q is gone: %w", source, id, ErrNoRecord)
	}
	now := s.now.Unix()
	do(p, i, now)
	p.reveal(now)
	return nil
}

// Touch changes a record's content now, visibly at once.
func (s *Sim) Touch(source, id string) error {
	return s.change(source, id, func(p *population, i uint32, now int64) {
		p.push(i, p.next(p.tip(i), kindChanged, now, uint64(now)))
	})
}

// TouchVolatile changes only the volatile parts of a record.
func (s *Sim) TouchVolatile(source, id string) error {
	return s.change(source, id, func(p *population, i uint32, now int64) {
		p.push(i, p.next(p.tip(i), kindVolatile, now, uint64(now)))
	})
}

// TouchLate changes a record's content as of updatedAt, to be seen from visibleAt on.
func (s *Sim) TouchLate(source, id string, updatedAt, visibleAt time.Time) error {
	return s.change(source, id, func(p *population, i uint32, _ int64) {
		v := p.at(p.next(p.tip(i), kindChanged, updatedAt.Unix(), 0), updatedAt, visibleAt)
		v.deposited = v.updated
		p.push(i, v)
	})
}

// Delete removes a record from the source now.
func (s *Sim) Delete(source, id string) error {
	return s.change(source, id, func(p *population, i uint32, now int64) { p.remove(i, now) })
}

// Retract retracts a record now and returns the id of the notice.
func (s *Sim) Retract(source, id string) (notice string, err error) {
	err = s.change(source, id, func(p *population, i uint32, now int64) {
		notice = string(s.upstreams[source].appendID(nil, p.retract(i, now, uint64(now))))
	})
	return notice, err
}

// AddLate makes a new record dated updatedAt, to be seen from visibleAt on, and
// returns its id. With visibleAt not after the clock it is there at once.
func (s *Sim) AddLate(source string, updatedAt, visibleAt time.Time) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.populations[source]
	if !ok {
		return "", fmt.Errorf("source %q is not simulated: %w", source, ErrNoRecord)
	}
	i := uint32(len(p.records))
	p.records = append(p.records, record{created: uint32(updatedAt.Unix())})
	v := p.at(p.stamp(version{number: 1, kind: kindNew}, updatedAt.Unix(), 0), updatedAt, visibleAt)
	v.deposited = v.updated
	p.push(i, v)
	p.reveal(s.now.Unix())
	return string(s.upstreams[source].appendID(nil, i)), nil
}

// at gives a version the instants a test asked for.
func (p *population) at(v version, updatedAt, visibleAt time.Time) version {
	v.visible = uint32(visibleAt.Unix())
	v.late = visibleAt.After(updatedAt.Add(time.Minute))
	v.micro = 0
	if p.days == nil {
		v.micro = uint32(updatedAt.Nanosecond() / 1000)
	}
	return v
}
