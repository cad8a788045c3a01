package control_test

import (
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

func TestShortNamespace_EightDigitsOfAHashAndWholeNames(t *testing.T) {
	hashed := harvest.HarvestNamespace("crossref", "works", "updated", "")
	if got, want := control.ShortNamespace(hashed.String()), "EXPR/"+hashed.Key[:8]; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := control.ShortNamespace("CUSTOM/backfill-of-a-decade"); got != "CUSTOM/backfill-of-a-decade" {
		t.Errorf("the name of an activity became %s", got)
	}
}
