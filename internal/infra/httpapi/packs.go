package httpapi

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/source"
)

// PackText is a pack as it is written.
type PackText struct {
	Pack string `json:"pack" minLength:"1" maxLength:"1000000" doc:"The source pack, YAML as in a file"`
}

// PackWish is a pack that is to be in force.
type PackWish struct {
	PackText
	At      time.Time `json:"at,omitzero" doc:"From when on; now unless given"`
	Observe string    `json:"observe,omitempty" maxLength:"64" doc:"How long the rows before stay in force beside it, such as 1d"`
}

// order is the wish as control takes it.
func (w PackWish) order() (control.SourceOrder, error) {
	o := control.SourceOrder{At: w.At}
	if w.Observe == "" {
		return o, nil
	}
	var err error
	o.Observe, err = source.ParseDuration(w.Observe)
	if err != nil || o.Observe < 0 {
		return o, refusal(422, "usage", "observe is no length of time, such as 1d or 12h", "")
	}
	return o, nil
}

type packTextInput struct {
	Body PackText
}

type packPreviewInput struct {
	Body PackWish
}

type packInput struct {
	ChangeHeaders
	Body struct {
		Seen
		PackWish
	}
}

type rollbackInput struct {
	OfSource
	ChangeHeaders
	Body struct{ Seen }
}

// declarePacks adds how a source is described anew. Who may do that decides which
// addresses are asked, so it takes an admin.
func (d *Door) declarePacks() {
	const tag = "sources"
	declare(d, act("/packs/validate", tag, control.Operator, "The mistakes of a pack, by line, and what it leaves open"),
		func(_ context.Context, in *packTextInput) (control.Linted, error) {
			return d.control.LintText(in.Body.Pack)
		})
	declare(d, act("/packs/preview", tag, control.Admin, "What a pack would change of its source"),
		func(ctx context.Context, in *packPreviewInput) (control.SourceChange, error) {
			o, err := in.Body.order()
			if err != nil {
				return control.SourceChange{}, err
			}
			o.DryRun = true
			return d.control.ApplyText(ctx, in.Body.Pack, o)
		})
	declare(d, act("/packs", tag, control.Admin, "Make the registry say what a pack says"),
		func(ctx context.Context, in *packInput) (control.SourceChange, error) {
			o, err := in.Body.order()
			if err != nil {
				return control.SourceChange{}, err
			}
			o.By = in.Body.by(ctx)
			o.Token = in.Body.Token
			return d.control.ApplyText(ctx, in.Body.Pack, o)
		})
	declare(d, preview("/sources/{code}/rollback", tag, control.Admin, "What taking the newest change of a source back would change"),
		func(ctx context.Context, in *OfSource) (control.SourceChange, error) {
			return d.control.RollbackSource(ctx, in.Code, control.SourceOrder{DryRun: true})
		})
	declare(d, act("/sources/{code}/rollback", tag, control.Admin, "Take the newest change of a source back"),
		func(ctx context.Context, in *rollbackInput) (control.SourceChange, error) {
			return d.control.RollbackSource(ctx, in.Code, control.SourceOrder{By: in.Body.by(ctx), Token: in.Body.Token})
		})
}
