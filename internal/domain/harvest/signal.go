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
	if !bytes.Contains(fields, []byte(`"retracts"`)) && !bytes.Contains(fields, []byte(`"corrects"`)) {
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
