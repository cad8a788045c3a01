package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
)

// A dictionary is made of items that are held, once there are enough of them, after the
// commit of a page and outside of any transaction but the small one that stores it. Whoever
// is first has made it for all: the others find theirs refused, and take up the one that is
// there.
const (
	// trainedFrom is how many items there must be, and how many are looked at.
	trainedFrom = 256
	// dictionarySize is the most that S2 takes.
	dictionarySize = 64 << 10
	// Of an item so many bytes are taken, and of its fields: one long item is not to fill the
	// whole.
	mostOfItem   = 6 << 10
	mostOfFields = 2 << 10
	// Of so many choices the best is taken, judged by so many other items.
	choices = 8
	judges  = 64
)

// noteBodies counts bodies that were packed without a dictionary, and makes one when there
// is reason to think that enough items are held. What goes wrong is told and not returned:
// the page is stored.
func (b *bodies) noteBodies(ctx context.Context, kind recordKind, written int) {
	if written == 0 {
		return
	}
	b.mu.Lock()
	done := b.used[kind] != nil
	count, before := b.plain[kind]
	due := !before || count+written >= trainedFrom
	if !done {
		b.plain[kind] = count + written
		if due {
			b.plain[kind] = 0
		}
	}
	b.mu.Unlock()
	if done || !due {
		return
	}
	if err := b.train(ctx, kind); err != nil && ctx.Err() == nil {
		b.s.log.Warn("no dictionary could be made; bodies are packed without one", "source", kind.provenance, "err", err)
	}
}

// train makes the dictionary of a source if enough of its items are held, and takes it up.
func (b *bodies) train(ctx context.Context, kind recordKind) error {
	var held int
	err := b.s.r.QueryRowContext(ctx, `SELECT COUNT(*) FROM (SELECT 1 AS n FROM ing_record WHERE provenance_code=? AND record_type=? LIMIT ?) x`,
		kind.provenance, kind.recordType, trainedFrom).Scan(&held)
	if err != nil {
		return fmt.Errorf("count what is held of %s: %w", kind.provenance, err)
	}
	if held < trainedFrom {
		return nil
	}
	d, err := b.load(ctx, `provenance_code=? AND record_type=?`, kind.provenance, kind.recordType)
	if errors.Is(err, errNoDictionary) {
		d, err = b.make(ctx, kind)
	}
	if errors.Is(err, errNoDictionary) {
		return nil
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used[kind] = d
	return nil
}

// make chooses a dictionary and stores it.
func (b *bodies) make(ctx context.Context, kind recordKind) (*dictionary, error) {
	samples, err := b.samples(ctx, kind)
	if err != nil {
		return nil, err
	}
	content := chooseDictionary(samples)
	if content == nil { // the items have hardly any bytes
		return nil, errNoDictionary
	}
	sum := sha256.Sum256(content)
	err = b.s.write(ctx, "store a dictionary", func(x *tx) error {
		_, err := x.exec(`INSERT INTO ing_dictionary (provenance_code, record_type, content, content_sha256, trained_from, created_at)
			VALUES (?,?,?,?,?,?)`, kind.provenance, kind.recordType, content, sum[:], len(samples), ts(x.now))
		return err
	})
	if _, late := errors.AsType[*DuplicateError](err); err != nil && !late {
		return nil, err
	}
	return b.load(ctx, `provenance_code=? AND record_type=?`, kind.provenance, kind.recordType)
}

// samples are items of a source with their fields behind them, from all over the store: what
// lies side by side is too much alike.
func (b *bodies) samples(ctx context.Context, kind recordKind) ([][]byte, error) {
	ids, err := b.sampleIDs(ctx, kind)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for part := range chunks(ids, bodiesPerSample) {
		err := b.s.each(ctx, func(r *sql.Rows) error {
			var body storedBody
			if err := r.Scan(body.dest()...); err != nil {
				return err
			}
			raw, fields, err := b.s.open(ctx, body)
			if err != nil {
				return ctx.Err() // what is damaged is no example
			}
			sample := append([]byte(nil), raw[:min(len(raw), mostOfItem)]...)
			out = append(out, append(sample, fields[:min(len(fields), mostOfFields)]...))
			return nil
		}, `SELECT `+bodyCols+` FROM ing_record r JOIN ing_record_version v ON v.record_id=r.id AND v.revision=r.revision
			WHERE r.id IN (`+list(len(part))+`)`, anys(part)...)
		if err != nil {
			return nil, fmt.Errorf("read items of %s: %w", kind.provenance, err)
		}
	}
	return out, nil
}

// bodiesPerSample is how many items are read at once.
const bodiesPerSample = 32

// sampleIDs are numbers of records of a source, spread over all that there are. Where there
// are many, what stands first by its id would be of one publisher.
func (b *bodies) sampleIDs(ctx context.Context, kind recordKind) ([]int64, error) {
	const lookedAt = 4096
	var first []int64
	err := b.s.each(ctx, func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		first = append(first, id)
		return err
	}, `SELECT id FROM ing_record`+b.s.d.recordIndex+` WHERE provenance_code=? AND record_type=? ORDER BY ext_id LIMIT ?`, kind.provenance, kind.recordType, lookedAt)
	if err != nil {
		return nil, fmt.Errorf("look for items of %s: %w", kind.provenance, err)
	}
	if len(first) < lookedAt {
		return spread(first, trainedFrom), nil
	}
	found, err := b.spreadIDs(ctx, kind, lookedAt)
	if err != nil {
		return nil, err
	}
	found = spread(found, trainedFrom)
	return append(found, spread(first, trainedFrom-len(found))...), nil
}

// spreadIDs looks at the records with so many numbers, at equal distances, for those of a
// source.
func (b *bodies) spreadIDs(ctx context.Context, kind recordKind, most int64) (found []int64, err error) {
	var last int64
	err = b.s.r.QueryRowContext(ctx, `SELECT COALESCE(MAX(id), 0) FROM ing_record`).Scan(&last)
	if err != nil {
		return nil, fmt.Errorf("look for items of %s: %w", kind.provenance, err)
	}
	var ids []int64
	for at := int64(1); at <= last; at += max(1, last/most) {
		ids = append(ids, at)
	}
	for part := range chunks(ids, keysPerRead) {
		err := b.s.each(ctx, func(r *sql.Rows) error {
			var id int64
			var is recordKind
			err := r.Scan(&id, &is.provenance, &is.recordType)
			if is == kind {
				found = append(found, id)
			}
			return err
		}, `SELECT id, provenance_code, record_type FROM ing_record WHERE id IN (`+list(len(part))+`)`, anys(part)...)
		if err != nil {
			return nil, fmt.Errorf("look for items of %s: %w", kind.provenance, err)
		}
	}
	return found, nil
}

// spread takes so many of ids, at equal distances.
func spread(ids []int64, most int) []int64 {
	if len(ids) <= most {
		return ids
	}
	out := make([]int64, most)
	for i := range out {
		out[i] = ids[i*len(ids)/most]
	}
	return out
}

// chooseDictionary puts samples behind each other. Which of them is tried out: the choice is
// taken by which others are packed smallest.
func chooseDictionary(samples [][]byte) []byte {
	var best []byte
	var least float64
	for turn := range choices {
		content, taken := concatenate(samples, turn)
		d, err := newDictionary(0, content)
		if err != nil {
			continue
		}
		size := 1
		plain := 1
		var buf []byte
		for i := 0; i < len(samples); i += max(1, len(samples)/judges) {
			if taken[i] {
				continue
			}
			buf = d.appendS2(buf[:0], samples[i])
			size += len(buf)
			plain += len(samples[i])
		}
		share := float64(size) / float64(plain)
		if best == nil || share < least {
			best = content
			least = share
		}
	}
	return best
}

// concatenate fills a dictionary with samples that lie apart, from the turn-th on.
func concatenate(samples [][]byte, turn int) (content []byte, taken []bool) {
	taken = make([]bool, len(samples))
	const apart = 17 // so that two turns take hardly the same ones
	for i := range samples {
		at := (turn + i*apart) % len(samples)
		s := samples[at]
		if taken[at] || len(content)+len(s) > dictionarySize {
			continue
		}
		taken[at] = true
		content = append(content, s...)
	}
	return content, taken
}
