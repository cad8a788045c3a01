package patratest

import (
	"database/sql"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// PackItem packs an item as quarantine keeps it, for tests that put some there by SQL.
func PackItem(t testing.TB, raw []byte) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll(raw, nil)
}

// SetFields gives the versions under a condition other fields, with an item that says
// nothing, as they were kept once: apart from each other.
func SetFields(t testing.TB, db *sql.DB, fields, where string, args ...any) {
	t.Helper()
	all := append([]any{PackItem(t, []byte(`{}`)), fields}, args...)
	if _, err := db.Exec(`UPDATE ing_record_version SET codec_code='apart', dictionary_id=NULL, raw=?, fields=? WHERE `+where, all...); err != nil {
		t.Fatal(err)
	}
}
