package decode

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzScan holds the scanner against encoding/json.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-0.5e+3,true,false,null,"x\n\u00e9\/",{}],"b":{"":[]}}`, ` [ ] `, `{ "a" : 1 , "b" : 2 } `, `"\ud800"`, `"é"`,
		`{"a":1,}`, `{,}`, `[1,]`, `[,]`, `[1 2]`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1]`, `[1}`, `01`, `-`, `1.`, `1e`, `.5`, `+1`, `tru`, `nulls`,
		`"`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\x01\"", "\"12345678\x1f\"", "\"\xff\"", `""`, ``, `[`, `{"a":"b`, `1 2`, "\x001",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var jumps []span
		end, chars := scan(b, skipSpace(b, 0), 0, &jumps)
		whole := end >= 0 && skipSpace(b, end) == len(b)
		if valid := json.Valid(b); valid != whole && tooDeep(b) < 0 {
			t.Fatalf("valid %v, scanned to %d of %d", valid, end, len(b))
		}
		if !whole {
			return
		}
		if (chars&hasBytes == 0) != !bytes.ContainsFunc(b, func(r rune) bool { return r >= 0x80 }) {
			t.Fatalf("bytes: %x", chars)
		}
		if chars&hasEscapes == 0 && badEscape(b) {
			t.Fatal("an escape was overlooked")
		}
		for _, j := range jumps {
			if !json.Valid(b[j.start:j.end]) {
				t.Fatalf("a jump over %q", b[j.start:j.end])
			}
		}
	})
}

func TestScan_Depth(t *testing.T) {
	for _, n := range []int{maxDepth, maxDepth + 1} {
		for _, s := range []string{strings.Repeat("[", n) + strings.Repeat("]", n), strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)} {
			if end, _ := scan([]byte(s), 0, 0, nil); (end == len(s)) != (n <= maxDepth) {
				t.Errorf("%d levels: scanned to %d", n, end)
			}
		}
	}
}

func BenchmarkScan(b *testing.B) {
	body := crossrefPage(1000, 12)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if end, _ := scan(body, 0, 0, nil); end != len(body) {
			b.Fatal(end)
		}
	}
}
