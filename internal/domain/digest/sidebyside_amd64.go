package digest

import "time"

// sideBySide reports whether messages are taken side by side here.
var sideBySide = pays(processor(), isFaster)

// compress takes a number of blocks into each of eight states, from where each lane
// stands on. Of the states it has word w of lane i at [w][i].
//
//go:noescape
func compress(state *[8][width]uint32, lanes *[width]*byte, blocks int)

// cpuid asks the processor what it is; xgetbv asks which registers the system saves for
// a program, and may only be called where cpuid says that it is there.
//
//go:noescape
func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

//go:noescape
func xgetbv() (eax, edx uint32)

// features are what of a processor matters here.
type features struct {
	avx512 bool // F, BW and VL, and the system saves their registers
	sha    bool // instructions for SHA-256
}

// pays reports whether taking messages side by side is possible, and faster. On a
// processor without instructions for SHA-256 it is; one that has both kinds is asked.
func pays(f features, isFaster func() bool) bool { return f.avx512 && (!f.sha || isFaster()) }

// isFaster tries both ways on a few messages, which takes a fraction of a millisecond when
// the program starts. Of each the shortest time counts: what is longer was interrupted. Where
// they are told apart wrongly, the hashes are the same.
func isFaster() bool {
	const (
		tries = 3
		size  = 2 << 10 // of a message, like an item
	)
	messages := make([][]byte, 2*width)
	for i := range messages {
		messages[i] = make([]byte, size)
	}
	sums := make([]Sum, len(messages))
	best := func(sum func([]Sum, [][]byte)) (least time.Duration) {
		for range tries {
			began := time.Now()
			sum(sums, messages)
			if took := time.Since(began); least == 0 || took < least {
				least = took
			}
		}
		return least
	}
	return best(eightAtOnce) < best(oneByOne)
}

func processor() features {
	const (
		leafFeatures = 1
		leafMore     = 7
		osxsave      = 1 << 27 // of ecx of the first
		avx512f      = 1 << 16 // and these of ebx of the second
		sha          = 1 << 29
		avx512bw     = 1 << 30
		avx512vl     = 1 << 31
		avx512       = avx512f | avx512bw | avx512vl
		saved        = 0xe6 // xmm, ymm, masks, and both parts of zmm
	)
	var f features
	last, _, _, _ := cpuid(0, 0)
	if last < leafMore {
		return f
	}
	_, _, first, _ := cpuid(leafFeatures, 0)
	_, second, _, _ := cpuid(leafMore, 0)
	f.sha = second&sha != 0
	if first&osxsave == 0 || second&avx512 != avx512 {
		return f
	}
	mask, _ := xgetbv()
	f.avx512 = mask&saved == saved
	return f
}
