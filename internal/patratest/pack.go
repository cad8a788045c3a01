package patratest

import (
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
