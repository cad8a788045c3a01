package sources_test

import (
	"context"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/upstream"
)

func TestIETF(t *testing.T) {
	packTest{
		name: "ietf",
		ops:  []harvest.Operation{harvest.Harvest, harvest.Update},
		asks: []askWant{
			{source.ForHead, "", harvest.Position{}, "/api/v1/doc/dochistory/ format=json limit=1 order_by=-id type__slug__in=draft,rfc"},
		},
	}.run(t)
}

// TestIETF_RangesBeginEarly: a range is asked for with both of its ends, and begins a
// hundred numbers early, since a number may become visible after a greater one.
func TestIETF_RangesBeginEarly(t *testing.T) {
	spec := compile(t, "ietf", harvest.Harvest)
	net := &wire{}
	client := upstream.New(upstream.Config{Transport: net}, open{}, anyReply{})
	_, err := client.Ask(context.Background(), spec, source.Call{
		Purpose: source.ForSearch, Range: harvest.Range{Key: "change", From: 4000, To: 6000}, Position: harvest.Position{Offset: 199, LastID: "draft-a", Pages: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "/api/v1/doc/dochistory/ format=json id__gte=3900 id__lte=5999 limit=200 offset=199 order_by=id type__slug__in=draft,rfc"
	if net.asked != want {
		t.Errorf("asked\n%s\nwant\n%s", net.asked, want)
	}
}

// TestIETF_TheNewestChangeIsRead: the number of the newest change is that of its row.
func TestIETF_TheNewestChangeIsRead(t *testing.T) {
	spec := compile(t, "ietf", harvest.Harvest)
	page, err := decoder(t, spec, source.ForHead).Page([]byte(`{"meta":{"limit":1,"total_count":812345},"objects":[{"id":987654,"name":"draft-a"}]}`))
	if err != nil || page.Facts().Total == nil || *page.Facts().Total != 987654 {
		t.Errorf("%+v, %v", page, err)
	}
}
