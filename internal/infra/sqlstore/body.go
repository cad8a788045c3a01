package sqlstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// A version of a record is kept as one body (R89): the item exactly as it came, and behind
// it its fields, packed together, since the fields say again what the item says. Beside the
// body its row names the codec, and the dictionary if it has one. A body is read with these
// alone, whatever became of the rows around it.
//
//	apart      as all rows were once: the item in a zstd frame, its fields in a column
//	zstd       the length of the item, then item and fields in a zstd frame, or in one each
//	s2         the length of the item, then item and fields in an S2 block with a dictionary
//	zstd_dict  the length of the item, then item and fields in a zstd frame with a dictionary
//
// Pages are written with s2: it takes a third of the time of zstd, and with a dictionary
// about a fifth more bytes. `patra db compact` writes zstd_dict.
type codec string

const (
	codecApart    codec = "apart"
	codecZstd     codec = "zstd"
	codecS2       codec = "s2"
	codecZstdDict codec = "zstd_dict"
)

// Scan implements sql.Scanner. Where there is no row there is no codec.
func (c *codec) Scan(v any) error {
	var name sql.NullString
	err := name.Scan(v)
	*c = codec(name.String)
	return err
}

// dictionaryUpTo is how large a body may be to be packed with a dictionary: in a longer one
// most repetitions are of itself, and zstd is worth its time.
const dictionaryUpTo = 64 << 10

// The coders are made with the package and not at their first use: they hold
// channels, and one made inside a synctest bubble could not be used outside.
var (
	encoder = newEncoder()
	decoder = newDecoder()
)

func newEncoder(more ...zstd.EOption) *zstd.Encoder {
	// A window of 1 MiB, for an item is rarely larger: the coder keeps twice that.
	options := append([]zstd.EOption{
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(1 << 20), zstd.WithLowerEncoderMem(true),
	}, more...)
	e, err := zstd.NewWriter(nil, options...)
	if err != nil { // constant options
		panic(err)
	}
	e.EncodeAll([]byte{0}, nil) // it makes its channels with the first bytes
	return e
}

func newDecoder(more ...zstd.DOption) *zstd.Decoder {
	options := append([]zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostUnpacked)}, more...)
	d, err := zstd.NewReader(nil, options...)
	if err != nil {
		panic(err)
	}
	return d
}

// mostUnpacked is how many bytes are unpacked at most: a damaged row may claim any number.
const mostUnpacked = 256 << 20

// pack compresses an item that is no record.
func pack(raw []byte) []byte {
	size := len(raw) / 2
	if size > 1<<20 { // to grow later would take more memory than to set the most aside now
		size = encoder.MaxEncodedSize(len(raw))
	}
	return encoder.EncodeAll(raw, make([]byte, 0, size))
}

func unpack(b []byte) ([]byte, error) {
	raw, err := decoder.DecodeAll(b, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack raw record: %w", err)
	}
	return raw, nil
}

// packedBody is a body as it is stored. Without bytes it is not packed yet.
type packedBody struct {
	bytes      []byte
	codec      codec
	dictionary int64
}

// packer packs bodies one after the other. It is used by one goroutine at a time.
type packer struct {
	dict  *dictionary // nil if the source has none yet
	plain []byte      // what is packed, in memory that is used again
}

// append packs a record behind dst.
func (p *packer) append(dst []byte, r *harvest.Record) ([]byte, packedBody) {
	start := len(dst)
	out := packedBody{codec: codecZstd}
	dst = binary.AppendUvarint(dst, uint64(len(r.Raw)))
	if len(r.Raw) > dictionaryUpTo {
		// Side by side they would take as much memory again as the item itself.
		dst = slices.Grow(dst, encoder.MaxEncodedSize(len(r.Raw)))
		dst = encoder.EncodeAll(r.Raw, dst)
		p.plain = r.AppendFields(p.plain[:0])
		dst = encoder.EncodeAll(p.plain, dst)
		out.bytes = dst[start:len(dst):len(dst)]
		return dst, out
	}
	p.plain = append(p.plain[:0], r.Raw...)
	p.plain = r.AppendFields(p.plain)
	if p.dict == nil || len(p.plain) > dictionaryUpTo {
		dst = encoder.EncodeAll(p.plain, dst)
	} else {
		dst = p.dict.appendS2(dst, p.plain)
		out.codec = codecS2
		out.dictionary = p.dict.id
	}
	out.bytes = dst[start:len(dst):len(dst)]
	return dst, out
}

// packedShare: a third of what the items of a page take is set aside for it when it is packed. With a
// dictionary it mostly takes a quarter.
const packedShare = 3

// packFirst is how many bytes a page may have at most to be packed before its
// transaction begins.
const packFirst = 4 << 20

// packRecords compresses before the transaction begins, so that the writer is
// not held up by it. The bytes of a page share one buffer. Of a large page nothing
// is packed yet: it would take as much memory again as the page itself.
func (p *packer) packRecords(recs []harvest.Record) []packedBody {
	size := rawSize(recs)
	if size > packFirst {
		return nil
	}
	out := make([]packedBody, len(recs))
	buf := make([]byte, 0, size/packedShare+64)
	for i := range recs {
		buf, out[i] = p.append(buf, &recs[i])
	}
	return out
}

func rawSize(recs []harvest.Record) (size int) {
	for i := range recs {
		size += len(recs[i].Raw)
	}
	return size
}

// pageSize is how many bytes the items of a page have.
func pageSize(b harvest.Batch) int {
	size := rawSize(b.Records)
	for i := range b.Quarantined {
		size += len(b.Quarantined[i].Raw)
	}
	return size
}

// storedBody is what a row of ing_record_version holds of an item.
type storedBody struct {
	packed     []byte
	apart      []byte // its fields, where they are not in the body
	codec      codec
	dictionary sql.NullInt64
}

// bodyCols are the columns of a body, of the versions that a statement names v.
const bodyCols = `v.raw, v.fields, v.codec_code, v.dictionary_id`

// dest is where the columns are scanned to.
func (b *storedBody) dest() []any {
	return []any{&b.packed, &b.apart, &b.codec, &b.dictionary}
}

var (
	// errBody: a body is not as its codec says.
	errBody = errors.New("the body is damaged")
	// errCodec: it was packed by a newer patra.
	errCodec = errors.New("this patra does not know how it is packed")
)

// unreadable reports whether a body cannot be opened for what is stored, and not for want of an
// answer from the store; damaged: no other patra could either.
func unreadable(err error) (is, damaged bool) {
	damaged = errors.Is(err, errBody)
	return damaged || errors.Is(err, errCodec) || errors.Is(err, errNoDictionary) || errors.Is(err, errDictionary), damaged
}

// orDamaged is what a decoder said of a body.
func orDamaged(plain []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBody, err)
	}
	return plain, nil
}

// open unpacks a body. It may be called while rows are being read, in a transaction or not.
func (s *Store) open(ctx context.Context, b storedBody) (raw, fields []byte, err error) {
	switch b.codec {
	case "":
		return nil, nil, nil
	case codecApart:
		raw, err := unpack(b.packed)
		return raw, b.apart, err
	}
	size, n := binary.Uvarint(b.packed)
	if n <= 0 {
		return nil, nil, errBody
	}
	plain, err := s.openPlain(ctx, b, b.packed[n:])
	if err != nil {
		return nil, nil, fmt.Errorf("unpack raw record: %w", err)
	}
	if size > uint64(len(plain)) {
		return nil, nil, errBody
	}
	return plain[:size:size], plain[size:], nil
}

// openPlain unpacks item and fields, which lie behind each other.
func (s *Store) openPlain(ctx context.Context, b storedBody, packed []byte) ([]byte, error) {
	if b.codec == codecZstd {
		return orDamaged(decoder.DecodeAll(packed, nil))
	}
	if b.codec != codecS2 && b.codec != codecZstdDict {
		return nil, fmt.Errorf("codec %q: %w", b.codec, errCodec)
	}
	d, err := s.bodies.dictionary(ctx, b.dictionary.Int64)
	if err != nil {
		return nil, err
	}
	if b.codec == codecZstdDict {
		return orDamaged(d.dense().decode(packed))
	}
	size, err := s2.DecodedLen(packed)
	if err != nil {
		return orDamaged(nil, err)
	}
	if size > mostUnpacked {
		return nil, errBody
	}
	return orDamaged(d.s2.Decode(nil, packed))
}

// openFields is [Store.open] for who needs no more.
func (s *Store) openFields(ctx context.Context, b storedBody) ([]byte, error) {
	if b.codec == codecApart {
		return b.apart, nil
	}
	_, fields, err := s.open(ctx, b)
	return fields, err
}
