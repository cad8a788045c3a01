package sqlstore_test

import (
	"testing"

	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/storetest"
)

// TestStore holds the store to every claim of the suite, on every engine.
func TestStore(t *testing.T) {
	patratest.EachEngine(t, storetest.Run)
}
