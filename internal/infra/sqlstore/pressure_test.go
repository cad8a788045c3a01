package sqlstore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// TestHealing_HowSlowWritesMayBeIsASetting: a store says that it is strained by the limit that
// the process was told.
func TestHealing_HowSlowWritesMayBeIsASetting(t *testing.T) {
	for own, want := range map[time.Duration]bool{0: true, 5 * time.Second: false, 4 * time.Second: true} {
		synctest.Test(t, func(t *testing.T) {
			s := patratest.Open(t, patratest.SQLite.SpareDSN(t), sqlstore.Options{
				Limits: harvest.DatabaseLimits{Write: own},
				Hook: func(point string) error {
					if point == "before commit" {
						time.Sleep(4*time.Second + time.Millisecond)
					}
					return nil
				},
			})
			for range 10 {
				if err := s.NoteSkew(t.Context(), "pubmed", time.Second); err != nil {
					t.Fatal(err)
				}
			}
			if why := s.Strained(); (why != "") != want {
				t.Errorf("writes of 4 s, which may take %s: %q", own, why)
			}
		})
	}
}
