package decode

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func realPage(b *testing.B) []byte {
	files, _ := filepath.Glob("../../../../shared/fixtures/crossref/works-lists/*.json")
	var out bytes.Buffer
	out.WriteString(`{"status":"ok","message":{"total-results":5,"items":[`)
	n := 0
	for out.Len() < 6<<20 {
		for _, f := range files {
			body, _ := os.ReadFile(f)
			var v struct {
				Message struct{ Items []json.RawMessage }
			}
			json.Unmarshal(body, &v)
			for _, it := range v.Message.Items {
				if n > 0 {
					out.WriteByte(',')
				}
				n++
				json.Compact(&out, it)
			}
		}
	}
	out.WriteString(`]}}`)
	b.Logf("%d items %d bytes", n, out.Len())
	return out.Bytes()
}

func BenchmarkReal(b *testing.B) {
	body := realPage(b)
	ep, id, m := crossref()
	d := compile(b, ep, id, m)
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			d.Page(body)
		}
	})
	b.Run("std", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			var m map[string]any
			json.Unmarshal(body, &m)
		}
	})
	b.Run("validate", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			validateJSON(body)
		}
	})
	b.Run("sha", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			sha256.Sum256(body)
		}
	})
}
