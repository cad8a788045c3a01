package console

import (
	"slices"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
)

// TestPreview_TellsWhatIsBeforeWhatWillBe: a document that only wraps another is told
// without its wrapping, and what is stands before what will be.
func TestPreview_TellsWhatIsBeforeWhatWillBe(t *testing.T) {
	d, err := readDocument([]byte(`{"change":{"after":"paused","before":"ready","source":"pubmed"}}`))
	if err != nil {
		t.Fatal(err)
	}
	d.unwrap()
	d.beforeAfter()
	if want := []string{"before", "after", "source"}; !slices.Equal(d.names, want) || d.text("after") != "paused" {
		t.Errorf("it tells %q, wanted %q", d.names, want)
	}
}

// TestDimensions_RowsFromTheLeastToTheGreatest: rows of one dimension are not in the order
// of their numbers.
func TestDimensions_RowsFromTheLeastToTheGreatest(t *testing.T) {
	group := []control.Choice{{Row: 3}, {Row: 1}, {Row: 2}}
	if got := rowsOf(group); got != "1–3" {
		t.Errorf("the rows are told as %s", got)
	}
}
