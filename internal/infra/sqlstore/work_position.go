package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/work"
)

// linkPosition is the row that whoever links records holds, with how far that has come.
const linkPosition = "work_position"

// workPosition is how far linking has come.
type workPosition struct {
	// Rules is the version of the rules by which it was done.
	Rules int `json:"rules"`
	// Scanned and ScanTo are numbers of records: those up to ScanTo are gone through
	// once, one after the other, when rules are new or changed.
	Scanned int64 `json:"scanned"`
	ScanTo  int64 `json:"scan_to"`
	// Runs are those of the index of keys, the oldest first; LastRun is the last number
	// that one was given, and LastBlock that of its blocks.
	Runs      []keyRun `json:"runs"`
	LastRun   int64    `json:"last_run"`
	LastBlock int64    `json:"last_block,omitzero"`
	// Sources are those whose records are in the index. It names them by their places.
	Sources []string `json:"sources"`
	// Merging are sources that have merged records. Others have not, so nobody has to look
	// for what was merged into theirs.
	Merging []string `json:"merging,omitempty"`
}

// mayHaveMerged reports whether a source may have merged records. Until all records were gone
// through any may have.
func (p *workPosition) mayHaveMerged(code string) bool {
	return p.isScanning() || slices.Contains(p.Merging, code)
}

// noteMerging takes up that a source has merged records.
func (p *workPosition) noteMerging(code string) {
	if !slices.Contains(p.Merging, code) {
		p.Merging = append(p.Merging, code)
	}
}

// isScanning reports whether records are still gone through one by one.
func (p *workPosition) isScanning() bool { return p.Scanned < p.ScanTo }

// sourceNo is the place of a source.
func (p *workPosition) sourceNo(code string) sourcePlace {
	i := slices.Index(p.Sources, code)
	if i < 0 {
		i = len(p.Sources)
		p.Sources = append(p.Sources, code)
	}
	return sourcePlace(i)
}

// readLinking reads how far linking has come, and whether it ever began.
func (s *Store) readLinking(ctx context.Context) (p workPosition, found bool, err error) {
	var text string
	err = s.r.QueryRowContext(ctx, `SELECT value FROM ing_meta WHERE name=?`, linkPosition).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return p, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &p)
	}
	if err != nil {
		return p, false, fmt.Errorf("position of linking: %w", err)
	}
	return p, true, nil
}

// The more records are linked already, the more of them are linked in one step: it reads nearly
// all of the index however many it looks for, once these are some thousands.
const (
	fewestPerStep = 25_000
	stepShare     = 4 // a step has this part of what is linked, about
	keysPerRecord = 6 // about
)

// stepSize is how many records of the queue are linked in one step, so many at most.
func (p *workPosition) stepSize(most int) int {
	entries := 0
	for _, run := range p.Runs {
		entries += run.Entries
	}
	return min(most, max(fewestPerStep, entries/keysPerRecord/stepShare))
}

// lockLinking takes the right to link until the transaction ends. Where rules are new or
// changed all records are gone through.
func (x *tx) lockLinking() (p workPosition, err error) {
	if _, err := x.exec(x.s.d.insertIgnore+` INTO ing_meta (name, value) VALUES (?, '{}')`, linkPosition); err != nil {
		return p, err
	}
	var text string
	if err := x.row(`SELECT value FROM ing_meta WHERE name=?`+x.s.d.forUpdate, linkPosition).Scan(&text); err != nil {
		return p, err
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("position of linking: %w", err)
	}
	if p.Rules == work.RulesVersion {
		return p, nil
	}
	p, err = x.scanAll(p)
	if err != nil {
		return p, err
	}
	return p, x.saveLinking(p)
}

func (x *tx) saveLinking(p workPosition) error {
	text, err := jsonText(p)
	if err != nil {
		return err
	}
	_, err = x.exec(`UPDATE ing_meta SET value=? WHERE name=?`, text, linkPosition)
	return err
}
