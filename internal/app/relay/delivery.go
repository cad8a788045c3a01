package relay

import (
	"errors"
	"time"
)

// fate is what became of a revision of a batch.
type fate int

const (
	unsent fate = iota
	taken
	refused
	behind
)

// delivery is a batch on its way.
type delivery struct {
	batch    Batch
	failures int
	// revisions are those of the batch, those that are tried again first; fates are
	// theirs.
	revisions []Revision
	fates     []fate
	refusals  map[int]error
	// wave holds the places of those that are on their way.
	wave []int
	// held are the records of which a revision was refused, or waits.
	held map[int64]bool
	// out is why the target takes nothing, and rest for how long it is left alone.
	out  string
	rest time.Duration
}

func newDelivery(b Batch, failures int) *delivery {
	d := &delivery{batch: b, failures: failures, refusals: map[int]error{}, held: map[int64]bool{}}
	d.revisions = append(d.revisions, b.Again...)
	d.revisions = append(d.revisions, b.Fresh...)
	d.fates = make([]fate, len(d.revisions))
	return d
}

// nextWave is what is sent next: of each record the first revision that was not sent. A
// revision behind one that was refused, here or before, is not sent. One that no event can
// be made of is held as if the target had refused it.
func (d *delivery) nextWave() []Message {
	d.wave = d.wave[:0]
	var out []Message
	inWave := map[int64]bool{}
	for i, r := range d.revisions {
		if d.fates[i] != unsent || inWave[r.Record] {
			continue
		}
		isAgain := i < len(d.batch.Again)
		if !isAgain && r.Waits || d.held[r.Record] {
			d.fates[i] = behind
			d.held[r.Record] = true
			continue
		}
		m, err := MessageOf(r)
		if err != nil {
			d.refuse(i, err)
			continue
		}
		inWave[r.Record] = true
		d.wave = append(d.wave, i)
		out = append(out, m)
	}
	return out
}

// refuse notes that a revision is not taken, so that later ones of its record wait.
func (d *delivery) refuse(at int, err error) {
	d.fates[at] = refused
	d.refusals[at] = err
	d.held[d.revisions[at].Record] = true
}

// note keeps what a target said of a wave, and reports whether another may follow. An
// error is held against a message only if the target said so, or took others; else the
// target is out. stopping: it was cut short from outside.
func (d *delivery) note(errs []error, stopping bool) bool {
	anyTaken := false
	for _, err := range errs {
		anyTaken = anyTaken || err == nil
	}
	whole := true
	for i, at := range d.wave {
		err := errs[i]
		switch {
		case err == nil:
			d.fates[at] = taken
		case errors.Is(err, ErrNotTried), stopping:
			whole = false
		case errors.Is(err, ErrRefused), errors.Is(err, ErrFailed) && anyTaken:
			d.refuse(at, err)
		default:
			whole = false
			d.targetOut(err)
		}
	}
	return whole
}

// targetOut notes that the target takes nothing, and for how long it is left alone.
func (d *delivery) targetOut(err error) {
	if d.out == "" {
		d.out = err.Error()
	}
	d.rest = max(d.rest, restAfter(d.failures+1))
	if busy, is := errors.AsType[*BusyError](err); is {
		d.rest = max(d.rest, busy.For)
	}
}

// outcome is what is to be kept: the target stands before the first revision that was
// not dealt with.
func (d *delivery) outcome() Outcome {
	o := Outcome{Snapshot: d.batch.Snapshot, To: d.batch.From, Out: d.out, Leave: d.out != ""}
	if d.out != "" {
		o.Rest = d.rest
	}
	passed := true
	for i, r := range d.revisions {
		isAgain := i < len(d.batch.Again)
		switch d.fates[i] {
		case taken:
			o.Sent++
			if isAgain || r.Passes {
				o.Taken = append(o.Taken, r)
			}
		case refused:
			o.Refused = append(o.Refused, refusalOf(r, d.refusals[i]))
		case behind:
			if !isAgain {
				o.Behind = append(o.Behind, r)
			}
		case unsent:
			if !isAgain {
				passed = false
			}
		}
		if !isAgain && passed {
			o.To = place(r, d.batch.Snapshot)
		}
	}
	if passed {
		o.To = d.batch.To
		o.Ends = d.batch.Ends
	}
	return o.upToPlace()
}

// upToPlace leaves out what lies behind the place where the target stands: it is read
// again, and judged anew.
func (o Outcome) upToPlace() Outcome {
	kept := o.Behind[:0]
	for _, r := range o.Behind {
		if place(r, o.Snapshot) <= o.To {
			kept = append(kept, r)
		}
	}
	o.Behind = kept
	return o
}

// place is where a target stands that has come to a revision.
func place(r Revision, snapshot bool) int64 {
	if snapshot {
		return r.Record
	}
	return r.No
}

func refusalOf(r Revision, err error) Refusal {
	r.Attempts++
	f := Refusal{Revision: r, Error: err.Error(), Parked: r.Attempts >= Tries || errors.Is(err, ErrDamaged)}
	if !f.Parked {
		f.Rest = restAfter(r.Attempts)
	}
	return f
}
