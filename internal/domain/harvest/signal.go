package harvest

import (
	"bytes"
	"encoding/json"
)

// SignalKind is what a record says about another one.
type SignalKind string

// The kinds of signals.
const (
	SignalRetraction SignalKind = "RETRACTION"
	SignalCorrection SignalKind = "CORRECTION"
)

// Signal is a sign in one record that another has changed: a notice that
// retracts or corrects it. An UPDATE reads the other one again.
type Signal struct {
	// From and Target are the ids of the notice and of what it is about.
	From, Target string
	Kind         SignalKind
}

// IsSignal reports whether a field of this name tells of another record.
func IsSignal(field string) bool { return field == "retracts" || field == "corrects" }

// Signals finds what a record says about others. Hardly any record says
// anything, so its fields are only read where the words are in them.
func (r *Record) Signals() []Signal {
	fields := r.Mapped()
	if !nameSignals(fields) {
		return nil
	}
	var f struct {
		Retracts string `json:"retracts"`
		Corrects string `json:"corrects"`
	}
	if json.Unmarshal(fields, &f) != nil {
		return nil // the words stand somewhere else
	}
	var out []Signal
	if f.Retracts != "" {
		out = append(out, Signal{From: r.ID, Target: f.Retracts, Kind: SignalRetraction})
	}
	if f.Corrects != "" {
		out = append(out, Signal{From: r.ID, Target: f.Corrects, Kind: SignalCorrection})
	}
	return out
}

// nameSignals reports whether fields may have one that tells of another record. Of every
// record that comes they are looked through, so only what stands before a colon is.
func nameSignals(fields []byte) bool {
	const size = len(`"retracts"`) // and of the other name
	for at := 0; ; at++ {
		n := bytes.IndexByte(fields[at:], ':')
		if n < 0 {
			return false
		}
		at += n
		switch string(fields[max(0, at-size):at]) {
		case `"retracts"`, `"corrects"`:
			return true
		}
	}
}
