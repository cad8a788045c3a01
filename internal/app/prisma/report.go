// Package prisma writes what a saved search has to tell for a review: the facts that
// PRISMA-S asks for about each source, and the numbers and the flow of PRISMA 2020.
//
// A [Document] is data; what is written of it depends on nothing else, no clock and no
// settings, so that the same search gives the same bytes. Whatever sources and people
// wrote is escaped in every form. Numbers that do not add up are an error, never a report.
package prisma

import (
	"fmt"

	"github.com/papertrace/patra/internal/domain/problem"
)

// Document is what is told of a search.
type Document struct {
	Search  string `json:"search"`
	Version int    `json:"version"`
	// Query is what a person wrote, From what it begins with: a day, or empty for all.
	Query   string     `json:"query"`
	From    string     `json:"from,omitempty"`
	Status  string     `json:"status"`
	Sources []Searched `json:"sources"`
	Runs    []RunFacts `json:"runs"`
	// Earlier are the versions of the search before this one.
	Earlier []EarlierVersion `json:"earlier_versions,omitempty"`
	// Identified is how many records were received, by source, as the flow has it by name;
	// Works is how many different works are left to screen.
	Identified  map[string]int64  `json:"identified"`
	Duplicates  DuplicatesRemoved `json:"duplicates_removed"`
	Works       int64             `json:"works"`
	Quarantined int64             `json:"quarantined"`
	Flow        Flow              `json:"flow"`
	// Software names the program and its version by which the last run was made.
	Software string `json:"software"`
}

// DuplicatesRemoved is how many records are doubles of others, by how that is known.
type DuplicatesRemoved struct {
	Exact    int64 `json:"exact"`
	Probable int64 `json:"probable"` // none is removed by likeness alone
	// ReadAgain are records that a source sent more than once.
	ReadAgain int64 `json:"read_again"`
}

// Searched is what is told of a source.
type Searched struct {
	Source string `json:"source"`
	Name   string `json:"name"`
	// Register: it registers studies, and is no bibliographic database.
	Register bool   `json:"register"`
	Host     string `json:"host"`
	// Date is the one by which it was read, in Zone; From and To the time that was read.
	Date string `json:"date"`
	Zone string `json:"zone,omitempty"`
	From string `json:"window_from,omitempty"`
	To   string `json:"window_to,omitempty"`
	// Query is the selection in patra's own form, Sent what the source was sent for it, and
	// Request one of the requests as it went out, without what is secret.
	Query   string      `json:"query"`
	Sent    []SentValue `json:"sent"`
	Request string      `json:"request,omitempty"`
	// Description is the fingerprint of the frozen description of the source.
	Description string `json:"description,omitempty"`
	Status      string `json:"status"`
	Reason      string `json:"reason,omitempty"`
	LastRun     string `json:"last_run"`

	// What was received was filtered, is in quarantine, is kept, or is one of these again:
	//
	//	Received + Uncounted = Filtered + Older + ReadAgain + Quarantined + Kept
	//
	// What was filtered is not stored, so that a record that was received twice and did not
	// fit is filtered twice. All else is counted once, and what came of it again is ReadAgain.
	Announced *int64 `json:"announced,omitempty"` // none: the source did not say
	Received  int64  `json:"received"`
	Filtered  int64  `json:"filtered"`
	// Older are held for another search of the same query, and changed before this one begins.
	Older     int64 `json:"older,omitempty"`
	ReadAgain int64 `json:"read_again"`
	// Uncounted are kept of pages that Received does not tell of, as far as there are more of
	// them than were read again: their plan was archived before a run could tell of it, or
	// their walk was broken off.
	Uncounted   int64 `json:"uncounted"`
	Quarantined int64 `json:"quarantined"`
	// BadIDs are ids that were found, and of which no record was received.
	BadIDs   int64        `json:"bad_ids"`
	Kept     int64        `json:"kept"`
	Plans    int          `json:"plans"`
	Requests int64        `json:"requests"`
	Unread   []UnreadItem `json:"unread,omitempty"`
}

// SettleReceived says of what was received and is neither filtered, quarantined nor kept
// that it was read again; and of what is held beyond what was received, that its pages are
// not counted.
func (s *Searched) SettleReceived() {
	again := s.Received - s.Filtered - s.Older - s.Quarantined - s.Kept
	s.ReadAgain = max(0, again)
	s.Uncounted = max(0, -again)
}

// Identified is how many records were found at the source, each as often as it was received.
func (s Searched) Identified() int64 { return s.Received + s.Uncounted + s.BadIDs }

// SentValue is what a source was sent under a key.
type SentValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// UnreadItem is something that was found and could not be read.
type UnreadItem struct {
	Kind   string `json:"kind"`
	ID     string `json:"id,omitempty"`
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
}

// RunFacts is one run of the search.
type RunFacts struct {
	No      int    `json:"run"`
	Status  string `json:"status"`
	Started string `json:"started_at"`
	Ended   string `json:"ended_at"`
	Records int64  `json:"records"`
	New     int64  `json:"new"`
}

// EarlierVersion is an earlier version of the search.
type EarlierVersion struct {
	Version int    `json:"version"`
	Query   string `json:"query"`
	Sources string `json:"sources"`
	Until   string `json:"until"`
}

// Flow are the numbers of PRISMA 2020 as far as a program that collects records knows them.
type Flow struct {
	Databases  []FlowCount `json:"databases"`
	Registers  []FlowCount `json:"registers"`
	Identified int64       `json:"identified"`
	// Compared: records were compared with each other. Duplicates are those that were
	// removed for it, by rule, and ReadAgain those that a source sent more than once.
	Compared   bool        `json:"compared"`
	Duplicates []FlowCount `json:"duplicates"`
	ReadAgain  int64       `json:"read_again"`
	// Ineligible are those that a source sent and that do not fit what was asked for: they
	// were left out here, by rule.
	Ineligible int64 `json:"ineligible"`
	// Other are records that were removed for other reasons.
	Other    []FlowCount `json:"other"`
	Removed  int64       `json:"removed"`
	Screened int64       `json:"screened"`
}

// FlowCount is how many there are of something.
type FlowCount struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
	// Announced is how many a source said that there are, none if it did not say.
	Announced *int64 `json:"announced,omitempty"`
}

// SumError says that the numbers of a flow do not add up.
type SumError struct{ Identified, Removed, Screened int64 }

func (e *SumError) Error() string {
	return fmt.Sprintf("the numbers do not add up: %d records were identified, %d removed and %d are left to screen", e.Identified, e.Removed, e.Screened)
}

// Problem implements problem.Error.
func (e *SumError) Problem() problem.Problem {
	return problem.Problem{
		Code: "report_sum", Kind: problem.Failed, Title: e.Error(),
		Next: "patra verify, then patra search run NAME and the report again; no report was written",
	}
}

// Check refuses numbers that do not add up: every record that was identified is removed or
// left to screen.
func (f Flow) Check() error {
	sum := func(counts ...[]FlowCount) (n int64) {
		for _, list := range counts {
			for _, c := range list {
				n += c.N
			}
		}
		return n
	}
	identified := sum(f.Databases, f.Registers)
	removed := sum(f.Duplicates, f.Other) + f.ReadAgain + f.Ineligible
	if identified != f.Identified || removed != f.Removed || f.Identified != f.Removed+f.Screened {
		return &SumError{Identified: identified, Removed: removed, Screened: f.Screened}
	}
	return nil
}
