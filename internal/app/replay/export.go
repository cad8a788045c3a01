package replay

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/papertrace/patra/internal/domain/source"
)

// FillBody makes the request again to show its body, which is not kept. It is left out if
// the request comes out as another one.
func (p *Player) FillBody(box *Box) {
	pl, err := open(box)
	if err != nil || box.Request.SHA256 == "" {
		return
	}
	for _, purpose := range pl.purposes(pl.spec) {
		made, err := p.requests.Render(pl.spec, pl.call(purpose))
		if err == nil && made.SHA256 == box.Request.SHA256 {
			box.Request.Body = made.Body
		}
	}
}

// Masked is the box without mail addresses, to be taken out. What they stood in is made
// once more from what is left, so that the box can be replayed as it is: the request if
// it was made from one, and the fields of items.
func (p *Player) Masked(box *Box) (*Box, error) {
	if box.Frozen == nil {
		return nil, fmt.Errorf("the black box of %s is not whole", box.Batch)
	}
	out := *box
	out.Items = append([]Item{}, box.Items...)
	frozen := *box.Frozen
	frozen.Spec = maskBytes(frozen.Spec)
	frozen.Slice = maskBytes(frozen.Slice)
	frozen.BaseURL = MaskAddresses(frozen.BaseURL)
	out.Frozen = &frozen
	out.maskTexts()
	pl, err := open(&out)
	if err != nil {
		return nil, err
	}
	pl.player = p
	out.Request.BoxSHA256 = p.digestOfMasked(box, pl)
	for i := range out.Items {
		pl.maskItem(&out.Items[i])
	}
	return &out, nil
}

// digestOfMasked is that of the request as the masked box makes it. It is empty if that
// is the recorded one, or if the box makes the recorded one with addresses no more.
func (p *Player) digestOfMasked(box *Box, pl *playing) string {
	whole, err := open(box)
	if err != nil || box.Request.SHA256 == "" {
		return ""
	}
	for _, purpose := range pl.purposes(pl.spec) {
		was, err := p.requests.Render(whole.spec, whole.call(purpose))
		if err != nil || was.SHA256 != box.Request.SHA256 {
			continue
		}
		is, err := p.requests.Render(pl.spec, pl.call(purpose))
		if err == nil && is.SHA256 != was.SHA256 {
			return is.SHA256
		}
	}
	return ""
}

// maskItem takes addresses out of an item. Its fields are then what is left of it is
// mapped to, if it was mapped to its fields before.
func (pl *playing) maskItem(it *Item) {
	raw := maskBytes(it.bytes())
	fields := maskBytes(it.Fields)
	if bytes.Equal(raw, it.bytes()) && bytes.Equal(fields, it.Fields) {
		return
	}
	for _, purpose := range pl.purposes(pl.spec) {
		if it.Carried || it.Problem != nil || len(pl.differences(pl.spec, purpose, it)) > 0 {
			continue
		}
		if mapped, ok := pl.fieldsOf(purpose, raw); ok {
			fields = mapped
		}
	}
	it.SetRaw(raw)
	it.Fields = json.RawMessage(fields)
	it.Masked = true
}

// fieldsOf are those that the snapshot maps an item to.
func (pl *playing) fieldsOf(purpose source.Purpose, raw []byte) ([]byte, bool) {
	item, err := pl.player.items.Item(pl.spec, purpose, raw)
	if err != nil {
		return nil, false
	}
	if purpose == source.ForSearch && pl.spec.TwoPhase() {
		item = source.Bare(item)
	}
	return item.Mapped(), true
}
