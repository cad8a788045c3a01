package httpapi_test

import "testing"

// TestReadyzTellsTheTruth: of a schema that is not current, and of a store that does
// not answer; /healthz says only that the process does.
func TestReadyzTellsTheTruth(t *testing.T) {
	r := newRig(t, nil)
	if rec := r.send(ask("GET", "/readyz", "")); rec.Code != 200 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	db := r.raw()
	if _, err := db.Exec(`DELETE FROM goose_db_version WHERE version_id=(SELECT MAX(version_id) FROM goose_db_version)`); err != nil {
		t.Fatal(err)
	}
	rec := r.send(ask("GET", "/readyz", ""))
	if v := object(t, rec); rec.Code != 503 || v["schema"] != false || v["store"] != true || v["ready"] != false {
		t.Errorf("an old schema: %d %s", rec.Code, rec.Body)
	}
	if err := r.node.Store.Close(); err != nil {
		t.Fatal(err)
	}
	rec = r.send(ask("GET", "/readyz", ""))
	if v := object(t, rec); rec.Code != 503 || v["store"] != false {
		t.Errorf("no store: %d %s", rec.Code, rec.Body)
	}
	if rec := r.send(ask("GET", "/healthz", "")); rec.Code != 200 {
		t.Errorf("%d", rec.Code)
	}
}
