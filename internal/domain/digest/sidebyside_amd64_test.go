package digest

import (
	"testing"

	"golang.org/x/sys/cpu"
)

// Messages are taken side by side in tests wherever that is possible, also where it does
// not pay.
func init() { sideBySide = processor().avx512 }

func TestSumAll_OneByOne(t *testing.T) {
	before := sideBySide
	defer func() { sideBySide = before }()
	sideBySide = false
	check(t, page())
}

func TestProcessor_AsOthersSeeIt(t *testing.T) {
	f := processor()
	want := cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL
	if f.avx512 != want {
		t.Errorf("AVX-512: %v, and by another way of asking %v", f.avx512, want)
	}
}

func TestPays_OnlyWithAVX512AndWithoutSHA(t *testing.T) {
	for _, f := range []features{{}, {sha: true}, {avx512: true, sha: true}} {
		if pays(f) {
			t.Errorf("%+v: messages are taken side by side", f)
		}
	}
	if !pays(features{avx512: true}) {
		t.Error("messages are taken one by one where eight would take a fifth of the time")
	}
}
