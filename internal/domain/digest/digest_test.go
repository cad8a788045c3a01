package digest

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"testing"
)

// random are n random bytes, the same at every run.
func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// check holds the hashes of messages against those of the standard library.
func check(t *testing.T, messages [][]byte) {
	t.Helper()
	sums := make([]Sum, len(messages))
	SumAll(sums, messages)
	for i, m := range messages {
		if want := sha256.Sum256(m); sums[i] != want {
			t.Fatalf("message %d of %d, %d bytes: %x, want %x", i, len(messages), len(m), sums[i], want)
		}
	}
}

func TestSumAll_EveryLength(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var messages [][]byte
	for n := range 400 {
		messages = append(messages, random(r, n))
	}
	check(t, messages)
}

func TestSumAll_AnyNumberOfMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for count := range 40 {
		messages := make([][]byte, count)
		for i := range messages {
			messages[i] = random(r, r.IntN(700))
		}
		check(t, messages)
	}
}

func TestSumAll_MessagesOfVeryDifferentLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	lengths := []int{
		0, longest, 1, longest + 1, 55, 56, 63, 64, 65, 119, 120, 127, 128, mostBlocks * 64, mostBlocks*64 + 1, longest - 1, 2*longest + 17, 3, longest,
	}
	var messages [][]byte
	for _, n := range lengths {
		messages = append(messages, random(r, n))
	}
	check(t, messages)
	longOnly := [][]byte{random(r, longest+1), random(r, longest+2), random(r, longest+3), random(r, longest+4), random(r, longest+5)}
	check(t, longOnly)
}

func TestSumAll_NothingIsChanged(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	whole := random(r, 10_000)
	before := bytes.Clone(whole)
	var messages [][]byte
	for i := range 20 {
		messages = append(messages, whole[i*100:i*400])
	}
	check(t, messages)
	if !bytes.Equal(whole, before) {
		t.Error("the messages were written to")
	}
}

func FuzzSumAll(f *testing.F) {
	f.Add([]byte("a page of items"), uint64(1))
	f.Add(bytes.Repeat([]byte("0123456789abcdef"), 200), uint64(2))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		messages := make([][]byte, r.IntN(30))
		for i := range messages {
			from := r.IntN(len(data) + 1)
			messages[i] = data[from : from+r.IntN(len(data)-from+1)]
		}
		check(t, messages)
	})
}

// page is like the items of a page of Crossref.
func page() [][]byte {
	r := rand.New(rand.NewPCG(9, 10))
	messages := make([][]byte, 128)
	for i := range messages {
		messages[i] = random(r, 1500+r.IntN(2600))
	}
	return messages
}

func benchmark(b *testing.B, sum func(sums []Sum, messages [][]byte)) {
	messages := page()
	sums := make([]Sum, len(messages))
	size := 0
	for _, m := range messages {
		size += len(m)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		sum(sums, messages)
	}
}

func BenchmarkOneByOne(b *testing.B) { benchmark(b, oneByOne) }
