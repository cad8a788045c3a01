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

func TestPays_WhereItIsPossibleAndFaster(t *testing.T) {
	for _, c := range []struct {
		features
		faster, asked, pays bool
	}{
		{features{}, true, false, false},
		{features{sha: true}, true, false, false},
		{features{avx512: true}, false, false, true},
		{features{avx512: true, sha: true}, true, true, true},
		{features{avx512: true, sha: true}, false, true, false},
	} {
		asked := false
		got := pays(c.features, func() bool { asked = true; return c.faster })
		if got != c.pays || asked != c.asked {
			t.Errorf("%+v: side by side %v, both ways tried %v", c, got, asked)
		}
	}
}

func BenchmarkEightAtOnce(b *testing.B) {
	if !processor().avx512 {
		b.Skip("this processor cannot")
	}
	benchmark(b, eightAtOnce)
}

func BenchmarkIsFaster(b *testing.B) {
	if !processor().avx512 {
		b.Skip("this processor cannot")
	}
	for b.Loop() {
		isFaster()
	}
}
