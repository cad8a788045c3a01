package decode

import (
	"context"
	"errors"
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
)

// TestPage_AfterOneThatWasStopped: a page that was given up in the middle of an item, as
// when a lease is lost, leaves nothing behind for the next. What a walk works with is used
// again, and the next page was read with a value of the one before in it.
func TestPage_AfterOneThatWasStopped(t *testing.T) {
	ep := &source.Endpoint{Format: source.FormatJSON, Response: source.Response{Items: []string{"idlist"}, ID: at("$")}}
	d := compile(t, ep, source.Identity{}, nil)
	stopped, stop := context.WithCancel(context.Background())
	stop()
	for range 100 { // which walk is used again is not ours to say
		if _, err := d.PageContext(stopped, []byte(`{"idlist":["1","2"]}`)); !errors.Is(err, context.Canceled) {
			t.Fatalf("a page that was given up: %v", err)
		}
		p := page(t, d, `{"idlist":["3","4"]}`)
		if len(p.Items) != 2 || p.Items[0].ID != "3" || p.Items[1].ID != "4" {
			t.Fatalf("read after a page that was given up: %+v", p.Items)
		}
	}
}
