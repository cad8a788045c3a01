package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/work"
)

// RecordRow is a record as it is now.
type RecordRow struct {
	// Number is where a list goes on behind it.
	Number   int64                `json:"number"`
	Source   string               `json:"source"`
	Type     string               `json:"type"`
	ID       string               `json:"id"`
	Status   harvest.RecordStatus `json:"status"`
	Revision int64                `json:"revision"`
	Title    string               `json:"title,omitempty"`
	// UpdatedAt is when the source changed it last, by its own word; SeenAt when it was
	// last asked for, and ChangedAt when patra stored its newest revision.
	UpdatedAt *Time `json:"updated_at"`
	SeenAt    Time  `json:"seen_at"`
	ChangedAt Time  `json:"changed_at"`
}

// RecordQuery says which records are wanted.
type RecordQuery struct {
	Source string
	Status harvest.RecordStatus
	// Since leaves those out that were stored or changed before.
	Since time.Time
	// Prefix is how their ids begin.
	Prefix string
	// Find is an identifier, or a title, whole or by its first forty letters. Records are
	// found by it once they were linked to works.
	Find string
	Page
}

// RecordList are records in the order of source, type and id. A page may hold fewer
// than were asked for, even none, and have a next one all the same: of a large store
// only so many records are looked at for one answer.
type RecordList struct {
	Records []RecordRow `json:"records"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// RecordsLookedAt is how many records are looked at for one page of a list.
const RecordsLookedAt = 10_000

// RecordView is a record with what is known of it.
type RecordView struct {
	RecordRow
	CreatedAt  Time   `json:"created_at"`
	MergedInto string `json:"merged_into,omitempty"`
	// MissingSince is when the source was first asked for it and did not have it, if it
	// was not found since.
	MissingSince   *Time           `json:"missing_since,omitempty"`
	RawSHA256      string          `json:"raw_sha256"`
	MappingVersion string          `json:"mapping_version"`
	Fields         json.RawMessage `json:"fields"`
	// Raw is the item as it came with the newest revision, without what is secret, up to
	// some length; Bytes is how long it is.
	Raw   string `json:"raw"`
	Bytes int    `json:"bytes"`
	// Identifiers are those of the fields that name the work elsewhere.
	Identifiers map[string]json.RawMessage `json:"identifiers"`
	// Origin is the page that brought the newest revision.
	Origin Origin `json:"provenance"`
	// Quarantine are items of this id that could not be stored.
	Quarantine []QuarantineRow `json:"quarantine"`
}

// RecordVersion is a revision of a record as the store has it.
type RecordVersion struct {
	Revision       int64                `json:"revision"`
	Effect         string               `json:"effect"`
	Status         harvest.RecordStatus `json:"status"`
	UpdatedAt      *Time                `json:"updated_at"`
	FetchedAt      Time                 `json:"fetched_at"`
	StoredAt       Time                 `json:"stored_at"`
	MappingVersion string               `json:"mapping_version"`
	RawSHA256      string               `json:"raw_sha256"`
	Origin         Origin               `json:"provenance"`
	Fields         []byte               `json:"-"`
}

// RecordRevision is a revision and what it changed.
type RecordRevision struct {
	RecordVersion
	// Changes are the fields in which it differs from the revision before.
	Changes []FieldChange `json:"changes"`
}

// FieldChange is a field of a record before and after a revision; what is not there
// is absent.
type FieldChange struct {
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// RecordHistory are the revisions of a record, the newest first.
type RecordHistory struct {
	Record    RecordRow        `json:"record"`
	Revisions []RecordRevision `json:"revisions"`
	// SeenUnchangedAt is when the source was last seen to have the newest revision
	// still, if that was after it came. Of earlier times nothing is kept.
	SeenUnchangedAt *Time `json:"seen_unchanged_at,omitempty"`
	// Refused are items of this id that could not be stored, and so changed nothing.
	Refused []QuarantineRow `json:"refused"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// RecordFacts is a record as the store has it.
type RecordFacts struct {
	RecordRow
	CreatedAt    time.Time
	MergedInto   string
	MissingSince time.Time
}

// RecordPage is a query as the store answers it.
type RecordPage struct {
	RecordQuery
	// Behind is the number of the record behind which the page begins; 0: at the
	// beginning.
	Behind int64
	// LookAt is how many records are looked at.
	LookAt int
}

// RecordReader reads records. One that is not there is [harvest.ErrNotFound].
type RecordReader interface {
	// Records reads records in the order of source, type and id. last is the number of
	// the last one that was looked at, more whether others follow.
	Records(ctx context.Context, p RecordPage) (rows []RecordRow, last int64, more bool, err error)
	// RecordsSought reads the records that are found under sorted keys, some at most.
	RecordsSought(ctx context.Context, keys []work.LookupKey, most int) ([]RecordRow, error)
	Record(ctx context.Context, source, id string) (RecordFacts, error)
	// RecordRaw reads a revision of a record as it came.
	RecordRaw(ctx context.Context, number, revision int64) ([]byte, error)
	// RecordVersions reads revisions of a record below one, the newest first.
	RecordVersions(ctx context.Context, number, below int64, limit int) ([]RecordVersion, error)
}

// Records lists records.
func (c *Control) Records(ctx context.Context, q RecordQuery) (RecordList, error) {
	if err := c.known(ctx, q.Source); err != nil {
		return RecordList{}, err
	}
	if q.Find != "" {
		return c.soughtRecords(ctx, q)
	}
	behind, err := q.Number()
	if err != nil {
		return RecordList{}, err
	}
	rows, last, more, err := c.store.Records(ctx, RecordPage{RecordQuery: q, Behind: behind, LookAt: RecordsLookedAt})
	if errors.Is(err, harvest.ErrNotFound) {
		return RecordList{}, ErrPage
	}
	if err != nil {
		return RecordList{}, err
	}
	for i := range rows {
		rows[i].Title = c.clean(rows[i].Title)
	}
	out := RecordList{Records: rows}
	if more {
		out.Next = strconv.FormatInt(last, 10)
	}
	return out, nil
}

// mostSought is how many records are found by an identifier or a title at most.
const mostSought = 200

// soughtRecords finds records by what they are known by. There is one page of them.
func (c *Control) soughtRecords(ctx context.Context, q RecordQuery) (RecordList, error) {
	rows, err := c.store.RecordsSought(ctx, work.SoughtKeys(q.Find), mostSought)
	if err != nil {
		return RecordList{}, err
	}
	out := RecordList{Records: []RecordRow{}}
	for _, r := range rows {
		other := q.Source != "" && r.Source != q.Source || q.Status != "" && r.Status != q.Status
		if other || !strings.HasPrefix(r.ID, q.Prefix) || time.Time(r.ChangedAt).Before(q.Since) {
			continue
		}
		r.Title = c.clean(r.Title)
		out.Records = append(out.Records, r)
	}
	return out, nil
}

// NoRecordError says that a record is not there.
type NoRecordError struct {
	Source, ID string
	// Aside is how many items of that id are in quarantine.
	Aside int
}

func (e *NoRecordError) Error() string {
	return fmt.Sprintf("%s has no record %s here", e.Source, e.ID)
}

func (e *NoRecordError) Unwrap() error { return harvest.ErrNotFound }

// Problem implements problem.Error.
func (e *NoRecordError) Problem() problem.Problem {
	next := fmt.Sprintf("`patra record list --source %s --prefix TEXT` names those that are", e.Source)
	if e.Aside > 0 {
		next = fmt.Sprintf("it came and could not be stored: patra quarantine list --source %s --record %s", e.Source, e.ID)
	}
	return problem.Problem{Code: "not_found", Kind: problem.NotFound, Title: e.Error(), Next: next}
}

// asideMost is how many items in quarantine are shown beside a record.
const asideMost = 20

// findRecord finds a record by its id as people write it, and what of that id is in
// quarantine.
func (c *Control) findRecord(ctx context.Context, code, id string) (RecordFacts, []QuarantineRow, error) {
	if err := c.known(ctx, code); err != nil {
		return RecordFacts{}, nil, err
	}
	r, err := c.store.Record(ctx, code, id)
	if errors.Is(err, harvest.ErrNotFound) {
		if canonical := c.canonicalID(ctx, code, id); canonical != id {
			id = canonical
			r, err = c.store.Record(ctx, code, id)
		}
	}
	if err != nil && !errors.Is(err, harvest.ErrNotFound) {
		return r, nil, err
	}
	aside, aerr := c.store.QuarantineRows(ctx, QuarantineQuery{Source: code, Record: id, Limit: asideMost})
	for i := range aside {
		c.nameItem(&aside[i])
	}
	if err != nil {
		return r, nil, &NoRecordError{Source: code, ID: id, Aside: len(aside)}
	}
	r.Title = c.clean(r.Title)
	return r, aside, aerr
}

// canonicalID is an id in the form that records have, or as it was given if its source
// cannot say.
func (c *Control) canonicalID(ctx context.Context, code, id string) string {
	con, err := c.contracts.Select(c.leaveNoTrace(ctx), code, harvest.Harvest, "")
	if err != nil {
		return id
	}
	canonical, err := con.Spec.ID.Canonical(id)
	if err != nil {
		return id
	}
	return canonical
}

// Record shows a record: its fields, and the page that brought them.
func (c *Control) Record(ctx context.Context, code, id string) (RecordView, error) {
	r, aside, err := c.findRecord(ctx, code, id)
	if err != nil {
		return RecordView{}, err
	}
	versions, err := c.store.RecordVersions(ctx, r.Number, r.Revision+1, 1)
	if err != nil {
		return RecordView{}, err
	}
	if len(versions) == 0 {
		return RecordView{}, fmt.Errorf("record %s %s has no revision %d: run patra verify", code, r.ID, r.Revision)
	}
	v := versions[0]
	out := RecordView{
		RecordRow: r.RecordRow, CreatedAt: Time(r.CreatedAt), MergedInto: r.MergedInto, MissingSince: optional(r.MissingSince),
		RawSHA256: v.RawSHA256, MappingVersion: v.MappingVersion, Origin: v.Origin, Quarantine: aside,
		Identifiers: map[string]json.RawMessage{},
	}
	out.Origin.Request = c.clean(out.Origin.Request)
	raw, err := c.store.RecordRaw(ctx, r.Number, r.Revision)
	if err != nil {
		return out, err
	}
	out.Bytes = len(raw)
	// What is cut in two could hide what is to be taken out, so it is taken out first.
	text := c.clean(strings.ToValidUTF8(string(raw), "\ufffd"))
	out.Raw = strings.ToValidUTF8(text[:min(rawShown, len(text))], "")
	out.Fields, err = c.cleanJSON(v.Fields)
	if err != nil {
		return out, fmt.Errorf("fields of record %s %s: %w", code, r.ID, err)
	}
	fields, err := c.fieldsOf(v.Fields)
	if err != nil {
		return out, err
	}
	for _, name := range IdentifierFields {
		if value, there := fields[name]; there {
			out.Identifiers[name] = value
		}
	}
	return out, nil
}

// IdentifierFields are the fields of a record that name the work elsewhere.
var IdentifierFields = []string{"doi", "pmid", "pmcid", "other_ids", "issn"}

// fieldsOf are the fields of a version by their names.
func (c *Control) fieldsOf(doc []byte) (map[string]json.RawMessage, error) {
	if doc == nil {
		return nil, nil
	}
	clean, err := c.cleanJSON(doc)
	if err != nil {
		return nil, fmt.Errorf("fields of a record: %w", err)
	}
	var out map[string]json.RawMessage
	if err := json.Unmarshal(clean, &out); err != nil {
		return nil, fmt.Errorf("fields of a record: %w", err)
	}
	return out, nil
}

// RecordHistory shows the revisions of a record and what each changed.
func (c *Control) RecordHistory(ctx context.Context, code, id string, p Page) (RecordHistory, error) {
	below, err := p.Number()
	if err != nil {
		return RecordHistory{}, err
	}
	r, aside, err := c.findRecord(ctx, code, id)
	if err != nil {
		return RecordHistory{}, err
	}
	if below == 0 {
		below = r.Revision + 1
	}
	out := RecordHistory{Record: r.RecordRow, Revisions: []RecordRevision{}, Refused: aside}
	// One more than is wanted: the oldest that is shown is compared with it.
	versions, err := c.store.RecordVersions(ctx, r.Number, below, p.Limit+1)
	if err != nil {
		return out, err
	}
	for i, v := range versions[:min(p.Limit, len(versions))] {
		var before []byte
		if i+1 < len(versions) {
			before = versions[i+1].Fields
		}
		changes, err := c.compareFields(before, v.Fields)
		if err != nil {
			return out, err
		}
		v.Origin.Request = c.clean(v.Origin.Request)
		out.Revisions = append(out.Revisions, RecordRevision{RecordVersion: v, Changes: changes})
		if v.Revision == r.Revision && time.Time(r.SeenAt).After(time.Time(v.FetchedAt)) {
			out.SeenUnchangedAt = &r.SeenAt
		}
	}
	if len(versions) > p.Limit {
		out.Next = strconv.FormatInt(versions[p.Limit-1].Revision, 10)
	}
	return out, nil
}

// compareFields lists the fields in which two versions differ.
func (c *Control) compareFields(before, after []byte) ([]FieldChange, error) {
	was, err := c.fieldsOf(before)
	if err != nil {
		return nil, err
	}
	is, err := c.fieldsOf(after)
	if err != nil {
		return nil, err
	}
	names := slices.Collect(maps.Keys(is))
	for name := range was {
		if _, both := is[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	out := []FieldChange{}
	for _, name := range names {
		if !bytes.Equal(was[name], is[name]) {
			out = append(out, FieldChange{Field: name, Before: was[name], After: is[name]})
		}
	}
	return out, nil
}
