package sqlstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Compacting packs bodies anew with zstd and the dictionary of their source, those of old
// stores too, whose fields lie apart. It goes through the versions in their order, some in a
// transaction, which also notes how far it came: a crash leaves the transaction before, and
// every body as it was or as it is to be. The row with the place is locked first. So several
// may compact at once, and none looks at what another has looked at.

// compactPlace is the row of ing_meta that says how far compacting came.
const compactPlace = "compact_place"

// placeOfCompacting is what it says: the last version that was looked at, and the last one to
// be looked at, 0 if nobody compacts.
type placeOfCompacting struct {
	After int64 `json:"after"`
	Of    int64 `json:"of"`
}

// What one transaction takes: it holds up those who store pages.
const (
	bodiesPerCompact = 200
	bytesPerCompact  = 4 << 20
)

// Packing implements control.CompactStore.
func (s *Store) Packing(ctx context.Context) ([]control.Packing, error) {
	out := []control.Packing{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var p control.Packing
		err := r.Scan(&p.Codec, &p.Bodies, &p.Bytes)
		p.Again = codec(p.Codec) != codecZstdDict
		out = append(out, p)
		return err
	}, `SELECT codec_code, COUNT(*), SUM(LENGTH(raw)+LENGTH(fields)) FROM ing_record_version GROUP BY codec_code ORDER BY codec_code`)
	if err != nil {
		return nil, fmt.Errorf("count bodies: %w", err)
	}
	return out, nil
}

// BeginCompact implements control.CompactStore.
func (s *Store) BeginCompact(ctx context.Context, a source.Audit) (out control.Compacted, err error) {
	var at recordKind
	for {
		var found bool
		at, found, err = s.nextKind(ctx, "", at)
		if err != nil {
			return out, fmt.Errorf("compact: %w", err)
		}
		if !found {
			break
		}
		if err := s.bodies.train(ctx, at); err != nil {
			return out, fmt.Errorf("compact: %w", err)
		}
	}
	err = s.write(ctx, "begin to compact", func(x *tx) error {
		if _, err := x.exec(x.s.d.insertIgnore+` INTO ing_meta (name, value) VALUES (?, '{}')`, compactPlace); err != nil {
			return err
		}
		place, err := x.lockCompacting()
		if err != nil {
			return err
		}
		if place.Of == 0 {
			if err := x.row(`SELECT COALESCE(MAX(id), 0) FROM ing_record_version`).Scan(&place.Of); err != nil {
				return err
			}
			if err := x.setCompacting(place); err != nil {
				return err
			}
		}
		out = control.Compacted{After: place.After, Of: place.Of, Done: place.Of == 0}
		return x.audit(a, out)
	})
	return out, err
}

// EndCompact implements control.CompactStore.
func (s *Store) EndCompact(ctx context.Context, a source.Audit, c control.Compacted) error {
	return s.write(ctx, "compact", func(x *tx) error { return x.audit(a, c) })
}

func (x *tx) lockCompacting() (place placeOfCompacting, err error) {
	text, err := x.meta(compactPlace, x.s.d.forUpdate)
	if err != nil {
		return place, err
	}
	if err := json.Unmarshal([]byte(text), &place); err != nil {
		return place, fmt.Errorf("read how far compacting came: %w", err)
	}
	return place, nil
}

func (x *tx) setCompacting(place placeOfCompacting) error {
	text, err := jsonText(place)
	if err != nil {
		return err
	}
	_, err = x.exec(`UPDATE ing_meta SET value=? WHERE name=?`, text, compactPlace)
	return err
}

// CompactSome implements control.CompactStore.
func (s *Store) CompactSome(ctx context.Context) (out control.Compacted, err error) {
	err = s.write(ctx, "compact", func(x *tx) error {
		out = control.Compacted{}
		place, err := x.lockCompacting()
		if err != nil {
			return err
		}
		if place.Of == 0 { // another has looked at the last ones
			out.Done = true
			return nil
		}
		rows, err := x.bodiesToCompact(place)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := x.compact(r, &out); err != nil {
				return fmt.Errorf("version %d: %w", r.id, err)
			}
			place.After = r.id
		}
		out.After = place.After
		out.Of = place.Of
		if len(rows) == 0 {
			out.After = place.Of
			out.Done = true
			place = placeOfCompacting{}
		}
		return x.setCompacting(place)
	})
	return out, err
}

// compactedRow is a version whose body is looked at.
type compactedRow struct {
	id     int64
	record int64
	kind   recordKind
	sha    []byte
	body   storedBody
}

// bodiesToCompact reads the next versions, and locks them.
func (x *tx) bodiesToCompact(place placeOfCompacting) ([]compactedRow, error) {
	var out []compactedRow
	size := 0
	err := x.each(func(r *sql.Rows) error {
		var c compactedRow
		if err := r.Scan(append([]any{&c.id, &c.record, &c.sha}, c.body.dest()...)...); err != nil {
			return err
		}
		out = append(out, c)
		size += len(c.body.packed) + len(c.body.apart)
		if size > bytesPerCompact {
			return errEnough
		}
		return nil
	}, `SELECT v.id, v.record_id, v.raw_sha256, `+bodyCols+` FROM ing_record_version v WHERE v.id>? AND v.id<=? ORDER BY v.id LIMIT ?`+x.s.d.forUpdate,
		place.After, place.Of, bodiesPerCompact)
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	records := make([]int64, len(out))
	for i, c := range out {
		records[i] = c.record
	}
	kinds := map[int64]recordKind{}
	for part := range chunks(records, keysPerRead) {
		err := x.each(func(r *sql.Rows) error {
			var id int64
			var k recordKind
			err := r.Scan(&id, &k.provenance, &k.recordType)
			kinds[id] = k
			return err
		}, `SELECT id, provenance_code, record_type FROM ing_record WHERE id IN (`+list(len(part))+`)`, anys(part)...)
		if err != nil {
			return nil, err
		}
	}
	for i := range out {
		out[i].kind = kinds[out[i].record]
	}
	return out, nil
}

// compact packs a body anew, if it is smaller then or its fields lie apart. What cannot be
// read is left as it is, and so is what is not what came.
func (x *tx) compact(r compactedRow, out *control.Compacted) error {
	out.Bodies++
	if r.body.codec == codecZstdDict {
		return nil
	}
	raw, fields, err := x.s.open(x.ctx, r.body)
	if x.ctx.Err() != nil {
		return x.ctx.Err()
	}
	if sum := sha256.Sum256(raw); err != nil || string(sum[:]) != string(r.sha) {
		out.Unreadable++
		return nil
	}
	p := x.s.bodies.packer(x.ctx, r.kind)
	body := p.packDense(raw, fields)
	before := len(r.body.packed) + len(r.body.apart)
	if (r.body.codec != codecApart && len(body.bytes) >= before) || x.s.tooLarge(len(body.bytes)) {
		return nil
	}
	// It is the only copy: what is written must give back what was read.
	again := storedBody{packed: body.bytes, codec: body.codec, dictionary: sql.NullInt64{Int64: body.dictionary, Valid: body.dictionary != 0}}
	raw2, fields2, err := x.s.open(x.ctx, again)
	if err != nil || !bytes.Equal(raw, raw2) || !bytes.Equal(fields, fields2) {
		return fmt.Errorf("packed anew it is not what it was: %w", errors.Join(err, errBody))
	}
	if _, err := x.exec(`UPDATE ing_record_version SET raw=?, fields='', codec_code=?, dictionary_id=? WHERE id=?`,
		body.bytes, body.codec, nullID(body.dictionary), r.id); err != nil {
		return err
	}
	out.Packed++
	out.Before += int64(before)
	out.Now += int64(len(body.bytes))
	return nil
}

// packDense packs a body as small as it gets.
func (p *packer) packDense(raw, fields []byte) packedBody {
	if p.dict == nil || len(raw)+len(fields) > dictionaryUpTo {
		_, body := (&packer{}).append(nil, &harvest.Record{Raw: raw, Fields: fields})
		return body
	}
	p.plain = append(p.plain[:0], raw...)
	p.plain = append(p.plain, fields...)
	dst := binary.AppendUvarint(nil, uint64(len(raw)))
	return packedBody{bytes: p.dict.dense().encode(dst, p.plain), codec: codecZstdDict, dictionary: p.dict.id}
}
