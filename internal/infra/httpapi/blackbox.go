package httpapi

import (
	"bytes"
	"context"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
)

// OfPage names a page.
type OfPage struct {
	Run   int64 `path:"run" minimum:"1" doc:"Number of the run"`
	Batch int64 `path:"batch" minimum:"1" doc:"Number of the page in its run"`
}

func (p OfPage) ref() string { return fmt.Sprintf("%d/%d", p.Run, p.Batch) }

type boxInput struct {
	OfPage
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"At most so many items of each kind"`
}

type boxExportInput struct {
	OfPage
	ChangeHeaders
	Body struct {
		Why
		Unmasked bool `json:"unmasked,omitempty" doc:"Leave mail addresses in it; for an admin"`
	}
}

// boxFile is a black box that was taken out, with the file.
type boxFile struct {
	control.BoxExport
	Data []byte `json:"data" doc:"The file, as patra replay takes it"`
}

type replayInput struct {
	ChangeHeaders
	Body struct {
		Batch string `json:"batch" minLength:"1" maxLength:"64" doc:"RUN/BATCH, ing-RUN-BATCH or the id of the batch"`
		Probe bool   `json:"probe,omitempty" doc:"Send the request once more and compare the reply"`
	}
}

// declareBlackBoxes adds what explains a page after the fact.
func (d *Door) declareBlackBoxes() {
	const tag = "blackbox"
	declare(d, orGone(lookAtOne("/blackbox/{run}/{batch}", tag, "What was asked for a page, what came, and what was done with it")),
		func(ctx context.Context, in *boxInput) (control.BlackBox, error) {
			box, err := d.control.BlackBox(ctx, in.ref(), in.Limit)
			if err != nil {
				return control.BlackBox{}, err
			}
			return *box, nil
		})
	export := act("/blackbox/{run}/{batch}/export", tag, control.Operator, "Take a black box out, for seven days; with mail addresses only an admin")
	declare(d, orGone(export), d.exportBox)
	again := act("/replays", tag, control.Operator, "Do again what was done for a page, store nothing, and say whether source or parser has changed")
	again.asks = true
	declare(d, orGone(again), func(ctx context.Context, in *replayInput) (control.ReplayReport, error) {
		return d.control.ReplayBatch(ctx, in.Body.Batch, in.Body.Probe)
	})
}

func (d *Door) exportBox(ctx context.Context, in *boxExportInput) (boxFile, error) {
	who := callerOf(ctx)
	if in.Body.Unmasked && !who.Role.Covers(control.Admin) {
		return boxFile{}, tooLow(who, control.Admin)
	}
	box, done, err := d.control.ExportBlackBox(ctx, control.BoxOrder{
		By: control.By{Actor: who.Actor, Reason: in.Body.Reason}, Batch: in.ref(), Unmasked: in.Body.Unmasked,
	})
	if err != nil {
		return boxFile{}, err
	}
	var file bytes.Buffer
	if err := box.Write(&file); err != nil {
		return boxFile{}, err
	}
	return boxFile{BoxExport: done, Data: file.Bytes()}, nil
}
