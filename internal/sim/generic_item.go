package sim

import (
	"strconv"
	"strings"
	"time"
)

// shape writes the generic source's records as a style shows them.
type shape struct {
	seed  uint64
	style GenericStyle
}

// moment is a record's place in time, in microseconds. A deletion has its own.
func moment(v *version) int64 {
	if v.deleted {
		return int64(v.visible) * 1_000_000
	}
	return int64(v.updated)*1_000_000 + int64(v.micro)
}

// updatedAt is the instant that an item tells.
func (s shape) updatedAt(v version) time.Time {
	at := time.Unix(int64(v.updated), int64(v.micro)*1000).UTC()
	if v.deleted && s.style.announces() {
		at = time.UnixMicro(moment(&v)).UTC()
	}
	switch {
	case s.style.Format == "oai" && s.style.Granularity == "day", s.style.Format != "oai" && s.style.Dates == "day":
		return at.Truncate(24 * time.Hour)
	case s.style.Format == "oai":
		return at.Truncate(time.Second)
	}
	return at
}

const oaiPrefix = "oai:generic.example:"

func (s shape) appendID(b []byte, i uint32) []byte {
	switch {
	case s.style.Format == "oai":
		b = append(b, oaiPrefix...)
	case s.style.ID == "composite":
		return appendPadded(append(b, "ab"[i%2], ':'), int(i/2), 8)
	}
	return appendPlainID(b, i)
}

func appendPlainID(b []byte, i uint32) []byte { return appendPadded(append(b, "g-"...), int(i), 8) }

// find reads an id of any shape.
func (shape) find(id string) (uint32, bool) {
	id = strings.TrimPrefix(id, oaiPrefix)
	if len(id) != 10 {
		return 0, false
	}
	n, err := strconv.ParseUint(id[2:], 10, 31)
	if err != nil {
		return 0, false
	}
	switch id[:2] {
	case "g-":
		return uint32(n), true
	case "a:":
		return uint32(n * 2), true
	case "b:":
		return uint32(n*2 + 1), true
	}
	return 0, false
}

// append writes an item. Only `updated`, `v` and `reads` move when nothing but
// the volatile parts change.
func (s shape) append(b []byte, i uint32, r *record) []byte {
	if s.style.Format == "oai" {
		return s.appendOAI(b, i, r, true)
	}
	return s.write(b, i, r, true)
}

func (s shape) row(b []byte, r *row) []byte { return s.write(b, r.index, &r.record, !r.bad) }

func (s shape) write(b []byte, i uint32, r *record, named bool) []byte {
	d := roll(s.seed, 30, uint64(i))
	b = append(b, '{')
	switch {
	case named && s.style.ID == "composite":
		b = append(append(b, `"src":"`...), "ab"[i%2])
		b = appendPadded(append(b, `","num":"`...), int(i/2), 8)
		b = append(b, `",`...)
	case named:
		b = append(b, `"id":"`...)
		b = appendPlainID(b, i)
		b = append(b, `",`...)
	}
	if s.style.Dates != "none" {
		b = append(b, `"updated":"`...)
		b = s.appendDate(b, &r.version, r.deleted && s.style.announces())
		b = append(b, `",`...)
	}
	if s.style.Deletions == "flag" {
		b = s.appendFlag(append(b, `"deleted":`...), r.deleted)
		if r.deleted {
			return append(b, '}')
		}
		b = append(b, ',')
	}
	number := int(r.number)
	if r.deleted {
		number-- // the last content there was
	}
	b = s.appendNumber(append(b, `"v":`...), number)
	b = append(b, `,"title":"`...)
	b = appendTitle(b, &d, r)
	b = append(b, `","author":"`...)
	b = append(b, families[d.n(len(families))].plain...)
	b = append(b, `","text":"`...)
	b = appendSentences(b, &d, 2)
	b = append(b, `","reads":`...)
	b = s.appendNumber(b, d.n(1000)+number)
	if s.style.Flags != "none" {
		b = s.appendFlag(append(b, `,"retracted":`...), r.retracted)
		b = s.appendFlag(append(b, `,"open":`...), i%3 == 0)
	}
	if r.retracted {
		b = s.appendPartner(append(b, `,"retracted_by":"`...), r)
	}
	if r.notice {
		b = s.appendPartner(append(b, `,"retracts":"`...), r)
	}
	return append(b, '}')
}

func (s shape) appendPartner(b []byte, r *record) []byte {
	return append(s.appendID(b, r.partner-1), '"')
}

// appendDate writes when a version was made, or when the record was deleted.
func (s shape) appendDate(b []byte, v *version, deletion bool) []byte {
	unix, micro := v.updated, v.micro
	if deletion {
		unix, micro = v.visible, 0
	}
	from := len(b)
	b = appendInstant(b, unix, micro)
	switch s.style.Dates {
	case "day":
		return b[:from+len(time.DateOnly)]
	case "zoneless":
		return b[:len(b)-1]
	}
	return b
}

func (s shape) appendNumber(b []byte, n int) []byte {
	if s.style.Numbers == "text" {
		return append(appendInt(append(b, '"'), n), '"')
	}
	return appendInt(b, n)
}

func (s shape) appendFlag(b []byte, on bool) []byte {
	if s.style.Flags != "yn" {
		return strconv.AppendBool(b, on)
	}
	if on {
		return append(b, `"Y"`...)
	}
	return append(b, `"N"`...)
}

func appendTitle(b []byte, d *dice, r *record) []byte {
	b = appendHeadline(b, d)
	if r.content > 0 {
		b = append(b, ", edition "...)
		b = appendInt(b, int(r.content)+1)
	}
	return b
}
