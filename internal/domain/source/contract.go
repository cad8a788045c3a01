package source

import "github.com/papertrace/patra/internal/domain/schedule"

// Contract is a source's description in force at an instant, compiled for one
// operation.
type Contract struct {
	Spec *Spec
	// ConfigHash is the hash of the description as written, used or not (C14).
	ConfigHash string
	Warnings   []Warning
	// Schedule is when the operation begins by itself and when the source is
	// left alone; nil: whenever somebody asks. No plan carries it.
	Schedule *schedule.Schedule
}
