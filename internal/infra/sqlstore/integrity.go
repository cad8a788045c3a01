package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	sqlite3 "modernc.org/sqlite/lib"
)

// Integrity is SQLite's own check of the whole file: pages, rows, and that every
// index holds what its table does. It comes before anything else is read, a
// schema too, that damage may have spoilt. A server looks after its files itself.
func Integrity(ctx context.Context, dsn string, o Options) ([]control.Finding, error) {
	if !strings.HasPrefix(dsn, "sqlite:") {
		return nil, nil
	}
	o.ReadOnly = true
	var lines []string
	s, err := Connect(ctx, dsn, o)
	if err == nil {
		lines, err = s.integrity(ctx)
		err = errors.Join(err, s.Close())
	}
	if code, ok := sqliteCode(err); ok && code&0xff == sqlite3.SQLITE_CORRUPT {
		lines, err = append(lines, err.Error()), nil
	}
	if err != nil {
		return nil, fmt.Errorf("check the file of the database: %w", err)
	}
	var found []control.Finding
	for _, line := range lines {
		found = append(found, control.Finding{
			Invariant: "FILE",
			Rule:      "the file of the database is sound",
			Object:    strings.TrimPrefix(dsn, "sqlite:"),
			Detail:    line,
		})
	}
	return found, nil
}

// integrity returns what SQLite has to say about its file, nothing if all is well.
func (s *Store) integrity(ctx context.Context) ([]string, error) {
	var lines []string
	err := s.each(ctx, func(r *sql.Rows) error {
		var text string
		if err := r.Scan(&text); err != nil {
			return err
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if line != "" && line != "ok" && !strings.HasPrefix(line, "***") { // the heading of a database
				lines = append(lines, line)
			}
		}
		return nil
	}, `PRAGMA integrity_check`)
	return lines, err
}

// bodiesPerRead is how many rows one statement reads, so that no snapshot stands
// in the way of those who write for long.
const bodiesPerRead = 500

// VerifyBodies unpacks every stored body and holds it against its hash, first of
// what is quarantined, then of the versions of records above after. It calls
// progress now and then, and when it ends, however it ends: what it returns then
// says where to go on.
func (s *Store) VerifyBodies(
	ctx context.Context, after int64, progress func(control.DeepCheck),
) ([]control.Finding, control.DeepCheck, error) {
	v := &verifier{ctx: ctx, s: s, invariant: "RAW", rule: "what is stored of an item is what came"}
	at := control.DeepCheck{After: after}
	if err := s.r.QueryRowContext(ctx, `SELECT COALESCE(MAX(id),0) FROM ing_record_version`).Scan(&at.Of); err != nil {
		return nil, at, fmt.Errorf("verify bodies: %w", err)
	}
	// Of an item larger than the server takes only the hash was kept.
	err := s.eachBody(ctx, 0, func(b verifiedBody) { v.compare("quarantined item", b, &at) }, nil,
		`SELECT id, raw_sha256, raw, '{}', 'apart', NULL FROM ing_quarantine WHERE id>? AND LENGTH(raw)>0 ORDER BY id LIMIT ?`)
	if err != nil {
		return v.findings, at, fmt.Errorf("verify quarantined items: %w", err)
	}
	err = s.eachBody(ctx, after, func(b verifiedBody) {
		v.compare("version", b, &at)
		at.After = b.id
	}, func() { progress(at) }, `SELECT v.id, v.raw_sha256, `+bodyCols+` FROM ing_record_version v WHERE v.id>? ORDER BY v.id LIMIT ?`)
	if err != nil {
		return v.findings, at, fmt.Errorf("verify bodies after version %d: %w", at.After, err)
	}
	return v.findings, at, nil
}

// verifiedBody is what was stored of an item, and the hash that it should have.
type verifiedBody struct {
	id  int64
	sha []byte
	storedBody
}

// eachBody reads rows in parts, from after on. read, if given, is called after
// each part.
func (s *Store) eachBody(ctx context.Context, after int64, f func(verifiedBody), read func(), query string) error {
	for {
		n := 0
		err := s.each(ctx, func(r *sql.Rows) error {
			var b verifiedBody
			if err := r.Scan(append([]any{&b.id, &b.sha}, b.dest()...)...); err != nil {
				return err
			}
			f(b)
			after = b.id
			n++
			return ctx.Err()
		}, query, after, bodiesPerRead)
		if err != nil {
			return err
		}
		if read != nil {
			read()
		}
		if n < bodiesPerRead {
			return nil
		}
	}
}

// compare unpacks a body and holds it against its hash.
func (v *verifier) compare(what string, b verifiedBody, at *control.DeepCheck) {
	at.Bodies++
	object := fmt.Sprintf("%s %d", what, b.id)
	raw, fields, err := v.s.open(v.ctx, b.storedBody)
	if err != nil {
		v.report(object, "cannot be unpacked: %v", err)
		return
	}
	if sum := sha256.Sum256(raw); string(sum[:]) != string(b.sha) {
		v.report(object, "its bytes hash to %x, recorded is %x", sum, b.sha)
		return
	}
	if !json.Valid(fields) {
		v.report(object, "its fields are not JSON")
	}
}
