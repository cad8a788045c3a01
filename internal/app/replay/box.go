package replay

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Format is the version of black boxes that this build writes. It reads every version
// up to it.
const Format = 1

// Box is the black box of a page: what was asked, what came, and what was done with it.
type Box struct {
	Format      int         `json:"blackbox"`
	Batch       string      `json:"batch"` // RUN/BATCH
	Correlation string      `json:"correlation"`
	Lineage     PageLineage `json:"lineage"`
	Request     PageRequest `json:"request"`
	Reply       PageReply   `json:"reply"`
	Effects     Effects     `json:"effects"`
	Cursor      []Move      `json:"cursor_events"`
	Items       []Item      `json:"items"`
	Capped      bool        `json:"capped"` // there are more items than are shown
	Frozen      *Frozen     `json:"frozen,omitempty"`
	Export      *Exports    `json:"export,omitempty"`
}

// PageLineage leads from the page to the trigger it was fetched for.
type PageLineage struct {
	Source          string             `json:"source"`
	Endpoint        string             `json:"endpoint"`
	Operation       harvest.Operation  `json:"operation"`
	Instance        harvest.InstanceID `json:"schedule_instance_id,omitzero"`
	Plan            harvest.PlanID     `json:"plan_id"`
	PlanKey         string             `json:"plan_key"`
	Slice           harvest.SliceID    `json:"slice_id"`
	SliceSignature  string             `json:"slice_signature_hash"`
	Window          string             `json:"window"`
	Task            harvest.TaskID     `json:"task_id"`
	Run             harvest.RunID      `json:"run_id"`
	Attempt         int                `json:"attempt"`
	BatchNo         int                `json:"batch_no"`
	ID              harvest.BatchID    `json:"batch_id"`
	Walk            int                `json:"walk"`
	Phase           harvest.Phase      `json:"phase"`
	Ordinal         int                `json:"ordinal"`
	ExprHash        string             `json:"expr_hash,omitempty"`
	SpecFingerprint string             `json:"spec_fingerprint"`
	SpecVersion     int                `json:"spec_version"`
	RecordType      string             `json:"record_type,omitempty"`
}

// PageRequest is what was asked, without secrets.
type PageRequest struct {
	// Line is method and URL as they were sent, empty if nothing was.
	Line string `json:"line,omitempty"`
	// Body is that of a form, made again; of another kind only its size is told.
	Body   string `json:"body,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// BoxSHA256 is what the contents of an exported box come to, where addresses that
	// the request is made from are masked in it.
	BoxSHA256  string    `json:"box_sha256,omitempty"`
	Credential string    `json:"credential,omitempty"` // name of the key it went with
	IDs        []string  `json:"ids,omitempty"`        // asked for by a request for details
	Expression string    `json:"expression,omitempty"`
	Position   string    `json:"position"` // where the page begins
	OpenedAt   time.Time `json:"opened_at"`
}

// digest is the one that the contents of the box must come to.
func (r PageRequest) digest() string {
	if r.BoxSHA256 != "" {
		return r.BoxSHA256
	}
	return r.SHA256
}

// PageReply is what came.
type PageReply struct {
	State   harvest.BatchState `json:"state"`
	Status  int                `json:"http_status,omitzero"`
	Headers map[string]string  `json:"headers,omitempty"`
	SHA256  string             `json:"sha256,omitempty"`
	Bytes   int64              `json:"bytes"`
	// Sample is the beginning of a reply that was not stored, without secrets.
	Sample   string          `json:"sample,omitempty"`
	Sent     int             `json:"requests"`
	Retried  int             `json:"retried"`
	HTTP429  int             `json:"http_429"`
	HTTP5xx  int             `json:"http_5xx"`
	Stats    json.RawMessage `json:"stats,omitempty"`
	Position string          `json:"next_position,omitempty"` // where the next page begins
	End      string          `json:"end_proof,omitempty"`
	Code     string          `json:"error_code,omitempty"`
	Error    string          `json:"error,omitempty"`
	CommitAt time.Time       `json:"committed_at,omitzero"`
	FoundIDs []string        `json:"found_ids,omitempty"`   // by a search that only names records
	SeenIDs  []uint64        `json:"seen_ids,omitempty"`    // hashes of the ids on a page of records
	Newest   time.Time       `json:"observed_max,omitzero"` // newest update time on the page
}

// Effects are what was done with the items of the page, by numbers.
type Effects struct {
	harvest.Counts
	Items  int64 `json:"items"`
	Asked  int64 `json:"asked"`
	BadIDs int64 `json:"bad_ids"`
	Fresh  int64 `json:"fresh"`
	Late   int64 `json:"late"`
}

// Move is a move of a cursor that the page has caused.
type Move struct {
	ID       int64     `json:"id"`
	Kind     string    `json:"kind"`
	Prev     string    `json:"prev,omitempty"`
	New      string    `json:"new"`
	Observed string    `json:"observed_max,omitempty"`
	At       time.Time `json:"at"`
}

// Item is one that was kept: as a version of a record, or in quarantine.
type Item struct {
	ID             string               `json:"id,omitempty"`
	Effect         string               `json:"effect"` // inserted, updated, remapped or quarantined
	Revision       int64                `json:"revision,omitzero"`
	Status         harvest.RecordStatus `json:"status,omitempty"`
	UpdatedAt      time.Time            `json:"updated_at,omitzero"`
	Version        int64                `json:"provider_version,omitzero"`
	ObservedAt     time.Time            `json:"observed_at,omitzero"`
	ContentSHA256  string               `json:"content_sha256,omitempty"`
	RawSHA256      string               `json:"raw_sha256"`
	MappingVersion string               `json:"mapping_version,omitempty"`
	// Replaced: a later page has brought the same content with other volatile parts,
	// and its bytes are kept in place of those that this page brought.
	Replaced bool `json:"replaced,omitempty"`
	// Carried: the content is that of the version before; the page has only told what
	// became of the record.
	Carried bool          `json:"carried,omitempty"`
	Problem *ItemsProblem `json:"problem,omitempty"`
	// Before is the version that was held, nil if none was.
	Before *Held `json:"before,omitempty"`

	// Raw are its bytes, as text or, where they are none, as base64.
	Raw       string          `json:"raw,omitempty"`
	RawBase64 []byte          `json:"raw_base64,omitempty"`
	Fields    json.RawMessage `json:"fields,omitempty"`
	// Masked: addresses were taken out of its bytes, so that they no longer have the
	// hash. Fields are what these bytes were mapped to when the box was exported.
	Masked bool `json:"masked,omitempty"`
}

// ItemsProblem is why an item is in quarantine.
type ItemsProblem struct {
	Code   string `json:"code"`
	Path   string `json:"path,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Held is a version of a record as far as it decides about the next one.
type Held struct {
	Revision       int64                `json:"revision"`
	Status         harvest.RecordStatus `json:"status"`
	UpdatedAt      time.Time            `json:"updated_at,omitzero"`
	Version        int64                `json:"provider_version,omitzero"`
	ObservedAt     time.Time            `json:"observed_at,omitzero"`
	ContentSHA256  string               `json:"content_sha256"`
	RawSHA256      string               `json:"raw_sha256"`
	MappingVersion string               `json:"mapping_version"`
}

// Frozen is what a request is made from. It is not shown, but goes into the file.
type Frozen struct {
	Spec    json.RawMessage `json:"spec"`
	Slice   json.RawMessage `json:"slice"`
	BaseURL string          `json:"base_url,omitempty"`
}

// Exports says why a box was taken out, until when it may be used, and by which line of
// the audit that can be found.
type Exports struct {
	Actor     string    `json:"actor"`
	Reason    string    `json:"reason"`
	At        time.Time `json:"at"`
	ExpiresAt time.Time `json:"expires_at"`
	AuditID   int64     `json:"audit_id"`
	// Unmasked: addresses were left in it, at the wish of whoever took it out.
	Unmasked bool `json:"unmasked,omitempty"`
}

// Lifetime is how long an exported box may be used.
const Lifetime = 7 * 24 * time.Hour

// SetRaw sets the bytes of the item.
func (it *Item) SetRaw(raw []byte) {
	it.Raw = ""
	it.RawBase64 = nil
	if utf8.Valid(raw) {
		it.Raw = string(raw)
	} else {
		it.RawBase64 = raw
	}
}

// bytes of the item, as they came unless it is masked.
func (it *Item) bytes() []byte {
	if it.RawBase64 != nil {
		return it.RawBase64
	}
	return []byte(it.Raw)
}

// Shown is the box as it is shown: without what only serves to replay it, and without
// addresses.
func (b *Box) Shown() *Box {
	out := *b
	out.Frozen = nil
	out.Reply.SeenIDs = nil
	out.Items = make([]Item, len(b.Items))
	for i, it := range b.Items {
		it.Raw = ""
		it.RawBase64 = nil
		it.Fields = nil
		out.Items[i] = it
	}
	out.maskTexts()
	return &out
}
