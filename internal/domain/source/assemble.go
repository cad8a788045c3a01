package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/query"
)

// Overrides are dimensions that hold for one operation only. A part given here
// replaces the source's part whole; nothing is merged (R44).
type Overrides struct {
	HTTP       *HTTP             `yaml:"http" doc:"how the source is reached"`
	Auth       *Auth             `yaml:"auth" doc:"how a request says who is asking"`
	RateLimit  *Rate             `yaml:"rateLimit" doc:"what the provider allows and our share of it"`
	Retry      *Retry            `yaml:"retry" doc:"how patiently a request is repeated"`
	Window     *WindowConfig     `yaml:"window" doc:"how the source understands time"`
	Pagination *PaginationConfig `yaml:"pagination" doc:"how the source is walked"`
	Batching   *Batching         `yaml:"batching" doc:"how details are asked for"`
	Cuts       *Cuts             `yaml:"cuts" doc:"when a slice is cut while it is walked, to spare the source"`
	Endpoints  []Endpoint        `yaml:"endpoints" doc:"the ways to ask, by name"`
	Faults     []FaultRule       `yaml:"faults" doc:"what failures mean"`
	Mapping    *Mapping          `yaml:"mapping" doc:"how items become standard records"`
	Query      *QueryConfig      `yaml:"query" doc:"what the source can be searched for"`
	Schedule   *ScheduleConfig   `yaml:"schedule" doc:"when it is done by itself, and when not at all"`
}

// Provenance of the definition.
func (d Definition) Provenance() Provenance {
	return Provenance{Code: d.Source, Name: d.Name, Homepage: d.Homepage, BaseURL: d.BaseURL, Zone: d.Zone, RecordType: d.RecordType, Identity: d.Identity}
}

// Rows takes a definition apart into the rows it asks for, in force from an instant.
func (d Definition) Rows(from time.Time) []Row {
	var out []Row
	var whole Overrides
	whole.from(d)
	out = whole.rows(out, ScopeSource, "", from)
	for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill, harvest.Update} {
		if o := d.Tasks[op]; o != nil {
			out = o.rows(out, ScopeTask, op, from)
		}
	}
	return out
}

func (o Overrides) rows(out []Row, scope Scope, task harvest.Operation, from time.Time) []Row {
	add := func(d Dimension, name string, body any) {
		out = append(out, Row{Slot: Slot{Dimension: d, Scope: scope, Task: task, Name: name}, From: from, Body: body})
	}
	if o.HTTP != nil {
		add(DimHTTP, "", o.HTTP)
	}
	if o.Auth != nil {
		add(DimAuth, "", o.Auth)
	}
	if o.RateLimit != nil {
		add(DimRateLimit, "", o.RateLimit)
	}
	if o.Retry != nil {
		add(DimRetry, "", o.Retry)
	}
	if o.Window != nil {
		add(DimWindow, "", o.Window)
	}
	if o.Pagination != nil {
		add(DimPagination, "", o.Pagination)
	}
	if o.Batching != nil {
		add(DimBatching, "", o.Batching)
	}
	if o.Cuts != nil {
		add(DimCuts, "", o.Cuts)
	}
	for _, e := range o.Endpoints {
		name := e.Name
		e.Name = "" // it is the slot's
		add(DimEndpoint, name, &e)
	}
	if len(o.Faults) > 0 {
		add(DimFaults, "", &FaultsConfig{Rules: o.Faults})
	}
	if o.Mapping != nil {
		add(DimMapping, "", o.Mapping)
	}
	if o.Schedule != nil {
		add(DimSchedule, "", o.Schedule)
	}
	if o.Query != nil {
		for _, c := range o.Query.Capabilities {
			name := c.Field
			c.Field = "" // it is the slot's
			add(DimCapability, name, &c)
		}
		for _, r := range o.Query.Rules {
			add(DimRenderRule, r.Key(), &r)
		}
		for _, p := range o.Query.Params {
			name := p.StdKey
			p.StdKey = ""
			add(DimParamMap, name, &p)
		}
	}
	return out
}

// put is the inverse of rows for one row.
func (o *Overrides) put(r Row) {
	switch b := r.Body.(type) {
	case *HTTP:
		o.HTTP = b
	case *Auth:
		o.Auth = b
	case *Rate:
		o.RateLimit = b
	case *Retry:
		o.Retry = b
	case *WindowConfig:
		o.Window = b
	case *PaginationConfig:
		o.Pagination = b
	case *Batching:
		o.Batching = b
	case *Cuts:
		o.Cuts = b
	case *Endpoint:
		e := *b
		e.Name = r.Name
		o.Endpoints = append(o.Endpoints, e)
	case *FaultsConfig:
		o.Faults = b.Rules
	case *Mapping:
		o.Mapping = b
	case *ScheduleConfig:
		o.Schedule = b
	case *query.Capability:
		c := *b
		c.Field = r.Name
		q := o.query()
		q.Capabilities = append(q.Capabilities, c)
	case *query.Rule:
		q := o.query()
		q.Rules = append(q.Rules, *b)
	case *query.ParamMap:
		p := *b
		p.StdKey = r.Name
		q := o.query()
		q.Params = append(q.Params, p)
	}
}

func (o *Overrides) query() *QueryConfig {
	if o.Query == nil {
		o.Query = &QueryConfig{}
	}
	return o.Query
}

// from takes the parts of a definition that hold for every operation.
func (o *Overrides) from(d Definition) {
	*o = Overrides{
		HTTP: d.HTTP, Auth: d.Auth, RateLimit: d.RateLimit, Retry: d.Retry, Window: d.Window, Pagination: d.Pagination, Batching: d.Batching, Cuts: d.Cuts,
		Endpoints: d.Endpoints, Faults: d.Faults, Query: d.Query, Schedule: d.Schedule,
	}
	if len(d.Mapping.Fields) > 0 {
		o.Mapping = &d.Mapping
	}
}

func (o Overrides) into(d *Definition) {
	d.HTTP = o.HTTP
	d.Auth = o.Auth
	d.RateLimit = o.RateLimit
	d.Retry = o.Retry
	d.Window = o.Window
	d.Pagination = o.Pagination
	d.Batching = o.Batching
	d.Cuts = o.Cuts
	d.Endpoints = o.Endpoints
	d.Faults = o.Faults
	d.Query = o.Query
	d.Schedule = o.Schedule
	if o.Mapping != nil {
		d.Mapping = *o.Mapping
	}
}

// At is the contract of an operation at an instant: the definition put together
// from the rows picked, and how each was picked.
func (c Contents) At(op harvest.Operation, at time.Time) (Definition, []Choice) {
	d := c.Provenance.definition()
	choices := Choose(c.Rows, op, at)
	var o Overrides
	for _, ch := range choices {
		if ch.Row != nil {
			o.put(*ch.Row)
		}
	}
	o.into(&d)
	return d, choices
}

// For is the definition as it holds for one operation: what the operation has
// of its own in the place of the source's.
func (d Definition) For(op harvest.Operation) Definition {
	if d.Tasks[op] == nil {
		return d
	}
	whole := d.contents()
	out, _ := whole.At(op, whole.ReadAt)
	return out
}

// Pack is the whole description in force at an instant, operations included: a
// definition that asks for the same rows.
func (c Contents) Pack(at time.Time) Definition {
	d := c.Provenance.definition()
	var whole Overrides
	for _, r := range c.InForce(at) {
		if r.Scope == ScopeSource {
			whole.put(r)
			continue
		}
		if d.Tasks == nil {
			d.Tasks = map[harvest.Operation]*Overrides{}
		}
		if d.Tasks[r.Task] == nil {
			d.Tasks[r.Task] = &Overrides{}
		}
		d.Tasks[r.Task].put(r)
	}
	whole.into(&d)
	return d
}

// SaysTheSame reports whether two readings of a source found the same rows.
func (c Contents) SaysTheSame(as Contents) bool {
	return reflect.DeepEqual(c.Provenance, as.Provenance) && reflect.DeepEqual(c.Rows, as.Rows)
}

// InForce lists one row per slot, the newest.
func (c Contents) InForce(at time.Time) []Row {
	best := map[Slot]Row{}
	var order []Slot
	for _, r := range c.Rows {
		if !r.InForce(at) {
			continue
		}
		old, ok := best[r.Slot]
		if !ok {
			order = append(order, r.Slot)
		}
		if !ok || r.From.After(old.From) || r.From.Equal(old.From) && r.ID > old.ID {
			best[r.Slot] = r
		}
	}
	out := make([]Row, 0, len(order))
	for _, s := range order {
		out = append(out, best[s])
	}
	return out
}

func (p Provenance) definition() Definition {
	return Definition{Source: p.Code, Name: p.Name, Homepage: p.Homepage, BaseURL: p.BaseURL, Zone: p.Zone, RecordType: p.RecordType, Identity: p.Identity}
}

// Change is one row to be written or closed.
type Change struct {
	// Add is a new row, Close the id of a row to be ended at Until; Reopen
	// takes the end off again.
	Add    *Row      `json:"add,omitempty"`
	Close  int64     `json:"close,omitempty"`
	Until  time.Time `json:"until,omitzero"`
	Reopen int64     `json:"reopen,omitempty"`
	Slot   Slot      `json:"slot"`
}

// Changes are what makes the registry say what a definition says from an
// instant on. Rows that say the same stay; those that differ are superseded and
// end at until, which may lie later so that both can be watched (R46); those
// the definition does not have end at from, and so do rows that are only being
// watched beside a newer one.
func (c Contents) Changes(d Definition, from, until time.Time) []Change {
	have := map[Slot]Row{}
	for _, r := range c.InForce(from) {
		have[r.Slot] = r
	}
	var out []Change
	end := func(r Row, at time.Time) {
		if r.To.IsZero() || r.To.After(at) {
			out = append(out, Change{Close: r.ID, Until: at, Slot: r.Slot})
		}
	}
	watched := func(newest Row) {
		for _, r := range c.Rows {
			if r.Slot == newest.Slot && r.ID != newest.ID && r.InForce(from) {
				end(r, from)
			}
		}
	}
	for _, r := range d.Rows(from) {
		old, ok := have[r.Slot]
		delete(have, r.Slot)
		if ok && old.SameBody(r) {
			continue
		}
		if ok {
			watched(old)
			r.Supersedes = old.ID
			end(old, until)
		}
		out = append(out, Change{Add: &r, Slot: r.Slot})
	}
	for _, r := range c.InForce(from) {
		if _, left := have[r.Slot]; left {
			watched(r)
			end(r, from)
		}
	}
	return out
}

// After returns the rows as they will be once changes are made, without those
// to be added, and those to be added.
func (c Contents) After(changes []Change) (rows, add []Row) {
	rows = slices.Clone(c.Rows)
	for _, ch := range changes {
		if ch.Add != nil {
			add = append(add, *ch.Add)
			continue
		}
		for i := range rows {
			switch {
			case rows[i].Slot != ch.Slot:
			case ch.Close != 0 && rows[i].ID == ch.Close:
				rows[i].To = ch.Until
			case ch.Reopen != 0 && rows[i].ID == ch.Reopen:
				rows[i].To = time.Time{}
			}
		}
	}
	return rows, add
}

// Hash identifies the rows in force at an instant, used by a compile or not (C14).
func (c Contents) Hash(at time.Time) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	prov := c.Provenance
	prov.ID = 0
	_ = enc.Encode(prov) // a hash takes everything
	for _, r := range c.InForce(at) {
		_ = enc.Encode([]any{r.Slot, r.Body})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Undo takes the newest change back: rows that began with it end at an instant,
// or never begin if that lies ahead, and the rows they superseded, or that ended
// with it, hold again. What there was first is not a change, and a change that
// only ended rows leaves nothing to tell it by; an older pack can be applied.
func (c Contents) Undo(at time.Time) []Change {
	var first, newest time.Time
	type key struct {
		Slot // ids are a table's own
		id   int64
	}
	superseded := map[key]bool{}
	for _, r := range c.Rows {
		if r.Never() {
			continue
		}
		if first.IsZero() || r.From.Before(first) {
			first = r.From
		}
		if (r.To.IsZero() || r.To.After(at)) && r.From.After(newest) {
			newest = r.From
		}
		superseded[key{r.Slot, r.Supersedes}] = true
	}
	if !newest.After(first) {
		return nil
	}
	var out []Change
	for _, r := range c.Rows {
		switch {
		case r.Never():
		case r.To.Equal(newest) && !superseded[key{r.Slot, r.ID}]:
			out = append(out, Change{Reopen: r.ID, Slot: r.Slot})
		case r.From.Equal(newest) && (r.To.IsZero() || r.To.After(at)):
			end := at
			if r.From.After(at) {
				end = r.From
			}
			out = append(out, Change{Close: r.ID, Until: end, Slot: r.Slot})
			if r.Supersedes != 0 {
				out = append(out, Change{Reopen: r.Supersedes, Slot: r.Slot})
			}
		}
	}
	return out
}

// NextChange is the first instant after at when a row begins or ends, zero if
// there is none.
func (c Contents) NextChange(at time.Time) time.Time {
	var next time.Time
	for _, r := range c.Rows {
		for _, t := range []time.Time{r.From, r.To} {
			if !r.Never() && t.After(at) && (next.IsZero() || t.Before(next)) {
				next = t
			}
		}
	}
	return next
}
