package sqlstore_test

import (
	"fmt"
	"slices"
	"strings"
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

// withoutKeys removes the credentials that other cases have left: the registry is not emptied
// between them.
func (l *Lab) withoutKeys() {
	l.Helper()
	for _, table := range []string{"reg_prov_credential", "ing_credential_state"} {
		if _, err := l.DB.Exec(`DELETE FROM ` + table); err != nil {
			l.Fatal(err)
		}
	}
}

// keyBySQL enters a credential as the design's guide does, for an endpoint by the number of its row
// if one is given.
func (l *Lab) keyBySQL(name string, endpoint any, deleted int) {
	l.Helper()
	l.Exec(`INSERT INTO reg_prov_credential (provenance_id, scope_code, effective_from, credential_name, secret_kind_code, secret_ref, endpoint_id, deleted)
		VALUES ((SELECT id FROM reg_provenance WHERE provenance_code=?), 'SOURCE', '2025-01-01 00:00:00.000000', ?, 'ENV', 'KEY', ?, ?)`, keyed, name, endpoint, deleted)
}

// deletedKeys: a credential that was deleted is there for nobody, neither for who reads nor for
// who changes, and its row stays; one that names its endpoint by the number of its row is that
// endpoint's.
func deletedKeys(l *Lab) {
	l.withoutKeys()
	l.key("main")
	l.Exec(`INSERT INTO reg_prov_endpoint_def (provenance_id, scope_code, effective_from, endpoint_name, endpoint_usage_code, http_method_code, path_template)
		VALUES ((SELECT id FROM reg_provenance WHERE provenance_code=?), 'SOURCE', '2025-01-01 00:00:00.000000', 'fetch', 'DETAIL', 'GET', '/fetch')`, keyed)
	l.keyBySQL("gone", nil, 1)
	l.keyBySQL("fetching", l.Int(`SELECT MAX(id) FROM reg_prov_endpoint_def`), 0)
	l.keyBySQL("astray", 4711, 0)
	want := "main  fetching fetch astray "
	told := func(all []credential.Credential) string {
		var out []string
		for _, c := range all {
			out = append(out, c.Name+" "+c.Endpoint)
		}
		return strings.Join(out, " ")
	}
	for _, pool := range []string{keyed, ""} {
		if all, _, err := l.Store.Credentials(l.ctx(), pool); err != nil || told(all) != want {
			l.Errorf("credentials of %q: %q, want %q (%v)", pool, told(all), want, err)
		}
	}
	by := source.Audit{Actor: "lab", Action: "CREDENTIAL_DISABLE", Object: "credential", Reason: "test"}
	err := l.Store.ChangeCredentials(l.ctx(), keyed, by, func(all []credential.Credential, _ time.Time) ([]credential.Change, error) {
		if told(all) != want {
			l.Errorf("to be changed: %q, want %q", told(all), want)
		}
		return nil, nil
	})
	if err != nil {
		l.Error(err)
	}
	l.Exec(`UPDATE reg_prov_credential SET deleted=1 WHERE credential_name='main'`)
	if all, _, err := l.Store.Credentials(l.ctx(), keyed); err != nil || told(all) != "fetching fetch astray " {
		l.Errorf("after another was deleted: %q, %v", told(all), err)
	}
	if n := l.Int(`SELECT COUNT(*) FROM reg_prov_credential`); n != 4 {
		l.Errorf("%d rows are left", n)
	}
}

// boundAtFirstSight: of those who say where a credential may be sent of which nobody had said it
// the first decides, beside the rows that describe it; what these say goes before.
func boundAtFirstSight(l *Lab) {
	l.withoutKeys()
	l.key("main")
	described := l.rows("reg_prov_credential")
	id := l.keyNamed("main").ID
	places := [2][]string{{"https://one.example"}, {"https://two.example"}}
	var bound [2]bool
	r := l.racers("")
	if errs := r.both(func(st *sqlstore.Store, i int) (err error) {
		bound[i], err = st.BindCredential(l.ctx(), id, places[i], source.Audit{Actor: "lab", Action: "CREDENTIAL_BIND", Object: "credential"})
		return err
	}); errs != [2]error{} {
		l.Fatal(errs)
	}
	if bound[0] == bound[1] {
		l.Fatalf("bound %v", bound)
	}
	first := places[0]
	if bound[1] {
		first = places[1]
	}
	if got := l.keyNamed("main").Origins; !slices.Equal(got, first) {
		l.Errorf("bound to %v, want %v", got, first)
	}
	if n := l.Int(`SELECT COUNT(*) FROM sys_audit WHERE action_code='CREDENTIAL_BIND'`); n != 1 {
		l.Errorf("%d lines in the audit", n)
	}
	if got := l.rows("reg_prov_credential"); got != described {
		l.Errorf("the description of the credential was changed:\n%s", diff(described, got))
	}
	if err := l.Store.NoteRefusal(l.ctx(), id, 0, 1, time.Minute); err != nil || l.keyNamed("main").Refused != 1 || !slices.Equal(l.keyNamed("main").Origins, first) {
		l.Errorf("refused then: %+v, %v", l.keyNamed("main"), err)
	}
	l.Exec(`UPDATE reg_prov_credential SET origins_json='["https://said.example"]'`)
	if got := l.keyNamed("main").Origins; !slices.Equal(got, []string{"https://said.example"}) {
		l.Errorf("somebody has said where it may be sent, and it is bound to %v", got)
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
