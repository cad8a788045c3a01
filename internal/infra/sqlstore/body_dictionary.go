package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// dictionary is what the items of a source have in common. Both codecs take it as it is: as
// bytes that could have stood before a body, so that the body may point into them.
type dictionary struct {
	id      int64
	content []byte
	s2      *s2.Dict

	mu    sync.Mutex
	coder *denseCoder // guarded by mu; made at its first use
}

func newDictionary(id int64, content []byte) (*dictionary, error) {
	d := &dictionary{id: id, content: content, s2: s2.MakeDictManual(content, 0)}
	if d.s2 == nil {
		return nil, fmt.Errorf("dictionary %d has %d bytes, which is no size for one", id, len(content))
	}
	return d, nil
}

// appendS2 packs plain behind dst.
func (d *dictionary) appendS2(dst, plain []byte) []byte {
	dst = slices.Grow(dst, s2.MaxEncodedLen(len(plain)))
	block := d.s2.Encode(dst[len(dst):], plain)
	return dst[:len(dst)+len(block)]
}

// denseCoder is zstd with a dictionary.
type denseCoder struct {
	dec *zstd.Decoder
	id  uint32
	raw []byte

	mu  sync.Mutex
	enc *zstd.Encoder // guarded by mu; made at its first use
}

// dense is made when a row needs it, which few do. It belongs to its store, and so to the
// synctest bubble in which that was opened, if it was.
func (d *dictionary) dense() *denseCoder {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.coder == nil {
		id := uint32(d.id)
		d.coder = &denseCoder{id: id, raw: d.content, dec: newDecoder(zstd.WithDecoderDictRaw(id, d.content))}
	}
	return d.coder
}

func (c *denseCoder) decode(packed []byte) ([]byte, error) { return c.dec.DecodeAll(packed, nil) }

// encode packs plain behind dst.
func (c *denseCoder) encode(dst, plain []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.enc == nil {
		c.enc = newEncoder(zstd.WithEncoderDictRaw(c.id, c.raw))
	}
	return c.enc.EncodeAll(plain, dst)
}

// bodies are the dictionaries that this process has seen. What they are read by is a
// connection of their own: rows may be waiting meanwhile that hold all others.
type bodies struct {
	s  *Store
	db *sql.DB

	mu sync.Mutex
	// loaded are dictionaries by their ids, guarded by mu.
	loaded map[int64]*dictionary
	// used are those that new bodies are packed with, guarded by mu.
	used map[recordKind]*dictionary
	// plain counts the bodies that were packed without one since one was last looked for,
	// guarded by mu.
	plain map[recordKind]int
}

// mostLoaded bounds the dictionaries in memory, each of about 100 KiB.
const mostLoaded = 64

func newBodies(s *Store) *bodies {
	return &bodies{s: s, loaded: map[int64]*dictionary{}, used: map[recordKind]*dictionary{}, plain: map[recordKind]int{}}
}

// dictionary is the one with an id.
func (b *bodies) dictionary(ctx context.Context, id int64) (*dictionary, error) {
	b.mu.Lock()
	d := b.loaded[id]
	b.mu.Unlock()
	if d != nil {
		return d, nil
	}
	return b.load(ctx, `id=?`, id)
}

var (
	// errNoDictionary: there is no such dictionary.
	errNoDictionary = errors.New("its dictionary is not in the store")
	// errDictionary: it is not as it was stored.
	errDictionary = errors.New("its dictionary is damaged")
)

// load reads a dictionary.
func (b *bodies) load(ctx context.Context, where string, args ...any) (*dictionary, error) {
	var id int64
	var content, sum []byte
	err := b.s.patiently(ctx, "read a dictionary", func() error {
		return b.db.QueryRowContext(ctx, `SELECT id, content, content_sha256 FROM ing_dictionary WHERE `+where, args...).Scan(&id, &content, &sum)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoDictionary
	}
	if err != nil {
		return nil, fmt.Errorf("read a dictionary: %w", err)
	}
	if is := sha256.Sum256(content); string(is[:]) != string(sum) {
		return nil, fmt.Errorf("%w: dictionary %d hashes to %x, recorded is %x", errDictionary, id, is, sum)
	}
	d, err := newDictionary(id, content)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if there := b.loaded[id]; there != nil {
		return there, nil // another was first
	}
	if len(b.loaded) >= mostLoaded {
		clear(b.loaded)
		clear(b.used)
	}
	b.loaded[id] = d
	return d, nil
}

// packer packs new bodies of a source: with its dictionary, if it has one. That is looked for
// with the first bodies that this process packs, and again after so many without one. To have
// none is never an error: bodies are packed without it.
func (b *bodies) packer(ctx context.Context, kind recordKind) *packer {
	b.mu.Lock()
	d := b.used[kind]
	count, packed := b.plain[kind]
	b.mu.Unlock()
	if d != nil || (packed && count < trainedFrom) {
		return &packer{dict: d}
	}
	d, err := b.load(ctx, `provenance_code=? AND record_type=?`, kind.provenance, kind.recordType)
	if err != nil && !errors.Is(err, errNoDictionary) {
		b.s.log.Warn("bodies are packed without a dictionary", "source", kind.provenance, "err", err)
	}
	if d != nil {
		b.mu.Lock()
		b.used[kind] = d
		b.mu.Unlock()
	}
	return &packer{dict: d}
}
