package httpapi

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

type feedInput struct {
	After int64 `query:"after" minimum:"0" default:"0" doc:"What next said in the answer before"`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many; fewer where they are large"`
}

type recordsInput struct {
	Source string    `query:"source" maxLength:"64" doc:"Of this source only"`
	Status string    `query:"status" enum:"ACTIVE,RETRACTED,MERGED,GONE" doc:"In this state only"`
	Since  time.Time `query:"since" doc:"Stored or changed since this instant, RFC 3339"`
	Prefix string    `query:"prefix" maxLength:"512" doc:"Whose ids begin so"`
	Find   string    `query:"find" maxLength:"512" doc:"An identifier, or a title, whole or by its first forty letters; of records that were linked to works"`
	Page
}

// OfRecord names a record.
type OfRecord struct {
	OfSource
	ID string `path:"id" minLength:"1" maxLength:"512" doc:"Id of the record in its source; a slash in it is written %2F"`
}

type revisionsInput struct {
	OfRecord
	Page
}

// declareRecords adds records and their feed.
func (d *Door) declareRecords() {
	const tag = "records"
	declare(d, look("/changes", tag, "Every revision of every record once, in the order in which they became visible"),
		func(ctx context.Context, in *feedInput) (control.ChangeList, error) {
			return d.control.Changes(ctx, in.After, in.Limit)
		})
	declare(d, look("/records", tag, "Records by source, type and id; a page may be short, or empty, and have a next one"),
		func(ctx context.Context, in *recordsInput) (control.RecordList, error) {
			return d.control.Records(ctx, control.RecordQuery{
				Source: in.Source, Status: harvest.RecordStatus(in.Status), Since: in.Since, Prefix: in.Prefix, Find: in.Find, Page: in.Page.page(),
			})
		})
	declare(d, lookAtOne("/records/{code}/{id}", tag, "A record: its fields, its identifiers, and the page that brought it"),
		func(ctx context.Context, in *OfRecord) (control.RecordView, error) {
			return d.control.Record(ctx, in.Code, in.ID)
		})
	declare(d, look("/records/{code}/{id}/history", tag, "The revisions of a record and what each changed, the newest first"),
		func(ctx context.Context, in *revisionsInput) (control.RecordHistory, error) {
			return d.control.RecordHistory(ctx, in.Code, in.ID, in.Page.page())
		})
}
