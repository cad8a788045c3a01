package sqlstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// keyed is a source of which only credentials are there.
const keyed = "keyed"

// key adds a credential to that source.
func (l *Lab) key(name string) credential.Credential {
	l.Helper()
	by := source.Audit{Actor: "lab", Action: "CREDENTIAL_SET", Object: "credential", Reason: "test"}
	p := source.Provenance{Code: keyed, Origin: "FILE", OriginHash: "h"}
	if _, err := l.Store.ChangeSource(l.ctx(), p, by, func(source.Contents) ([]source.Change, error) { return nil, nil }); err != nil {
		l.Fatal(err)
	}
	c := credential.Credential{
		Name: name, Scope: source.ScopeSource, Weight: 1, Status: credential.Active, From: t0,
		Secret: credential.SecretRef{Kind: "ENV", Ref: "KEY_" + name},
	}
	err := l.Store.ChangeCredentials(l.ctx(), keyed, by, func([]credential.Credential, time.Time) ([]credential.Change, error) {
		return []credential.Change{{Add: &c}}, nil
	})
	if err != nil {
		l.Fatal(err)
	}
	return l.keyNamed(name)
}

// keyNamed is a credential as it is read.
func (l *Lab) keyNamed(name string) credential.Credential {
	l.Helper()
	all, _, err := l.Store.Credentials(l.ctx(), keyed)
	if err != nil {
		l.Fatal(err)
	}
	for _, c := range all {
		if c.Name == name {
			return c
		}
	}
	l.Fatalf("there is no credential %s", name)
	return credential.Credential{}
}

// keyHealth: what sources made of a credential is read with it and stands beside the rows
// that describe it, which stay as they are (R74). Of two who noted the same refusal one
// counts, also where it is the first.
func keyHealth(l *Lab) {
	c := l.key("main")
	described := l.rows("reg_prov_credential")
	note := func(st *sqlstore.Store, was, refused int) error {
		return st.NoteRefusal(l.ctx(), c.ID, was, refused, time.Hour)
	}
	must := func(refused int) {
		l.Helper()
		if got := l.keyNamed("main"); got.Refused != refused || got.RefusedUntil.IsZero() != (refused == 0) {
			l.Errorf("refused %d times, rests until %s; want %d", got.Refused, got.RefusedUntil, refused)
		}
	}
	r := l.racers("")
	for round := range raceRounds {
		if errs := r.both(func(st *sqlstore.Store, _ int) error { return note(st, round, round+1) }); errs != [2]error{} {
			l.Fatal(errs)
		}
		must(round + 1)
	}
	if n := l.Int(`SELECT COUNT(*) FROM sys_audit WHERE action_code='CREDENTIAL_REFUSED'`); n != raceRounds {
		l.Errorf("%d lines in the audit for %d refusals", n, raceRounds)
	}
	if err := note(l.Store, 0, 1); err != nil {
		l.Fatal(err)
	}
	must(raceRounds)
	if err := note(l.Store, raceRounds, 0); err != nil {
		l.Fatal(err)
	}
	must(0)
	if got := l.rows("reg_prov_credential"); got != described {
		l.Errorf("the description of the credential was changed:\n%s", diff(described, got))
	}
}

// TestMigrate_RefusedKeysGoOnResting: a credential that rested when its health got a table of
// its own rests until the same instant, and one that was never refused has no row there.
func TestMigrate_RefusedKeysGoOnResting(t *testing.T) {
	patratest.EachEngine(t, func(t *testing.T, e patratest.Engine) {
		if e == patratest.TiDB {
			t.Skip("a TiDB begins with the newest schema")
		}
		dsn := e.EmptyDSN(t)
		s := openAt(t, dsn, 63)
		db := patratest.Raw(t, dsn)
		const now = "'2026-11-18 10:00:00.000000'"
		plant := []string{`INSERT INTO reg_provenance (id, provenance_code, provenance_name, created_at, updated_at) VALUES (1, 'lab', 'Lab', ` + now + `,` + now + `)`}
		for name, health := range map[string]string{"tired": `3, '2026-11-18 12:00:00.000000'`, "well": `0, NULL`} {
			plant = append(plant, fmt.Sprintf(`INSERT INTO reg_prov_credential (provenance_id, scope_code, effective_from, credential_name,
				secret_kind_code, secret_ref, refused_count, refused_until) VALUES (1, 'SOURCE', %s, '%s', 'ENV', 'KEY', %s)`, now, name, health))
		}
		for _, q := range plant {
			if _, err := db.Exec(q); err != nil {
				t.Fatalf("%v\n%s", err, q)
			}
		}
		if _, err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		all, _, err := s.Credentials(t.Context(), "lab")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			switch {
			case c.Name == "tired" && (c.Refused != 3 || !c.RefusedUntil.Equal(time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC))):
				t.Errorf("refused %d times, rests until %s", c.Refused, c.RefusedUntil)
			case c.Name == "well" && (c.Refused != 0 || !c.RefusedUntil.IsZero()):
				t.Errorf("refused %d times, rests until %s, though it never was", c.Refused, c.RefusedUntil)
			}
		}
		var rows int
		if err := db.QueryRow(`SELECT COUNT(*) FROM ing_credential_state`).Scan(&rows); err != nil || rows != 1 || len(all) != 2 {
			t.Errorf("%d rows for %d credentials, of which one was refused (%v)", rows, len(all), err)
		}
	})
}
