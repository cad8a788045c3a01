package harvest_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestR73_WishKeepsTheWholeTrigger: what is kept of a trigger is all that it takes to plan
// it, besides the columns of its row.
func TestR73_WishKeepsTheWholeTrigger(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 5000, time.UTC)
	asked := harvest.Trigger{Operation: harvest.Update, Approve: func(harvest.Forecast) error { return nil }}
	columns := map[string]bool{
		"Provenance": true, "Operation": true, "Kind": true, "Scheduler": true, "JobID": true, "LogID": true, "Params": true, "Receipt": true, "Approve": true,
	}
	fill(t, reflect.ValueOf(&asked).Elem(), at, columns)
	text, err := asked.Wish()
	if err != nil {
		t.Fatal(err)
	}
	got := harvest.Trigger{Operation: harvest.Update}
	if err := got.TakeWish(text); err != nil {
		t.Fatal(err)
	}
	if got.Approve == nil || got.Approve(harvest.Forecast{}) == nil {
		t.Error("nobody is asked any more, and it is planned all the same")
	}
	got.Approve = nil
	asked.Approve = nil
	if !reflect.DeepEqual(got, asked) {
		t.Errorf("asked for %+v\nkept %+v\nas %s", asked, got, text)
	}
}

// fill gives every field a value, but those that are left out.
func fill(t *testing.T, v reflect.Value, at time.Time, except map[string]bool) {
	t.Helper()
	for i := range v.NumField() {
		f := v.Field(i)
		if except[v.Type().Field(i).Name] {
			continue
		}
		switch f.Interface().(type) {
		case time.Time:
			f.Set(reflect.ValueOf(at))
			continue
		case []string:
			f.Set(reflect.ValueOf([]string{"a", "b"}))
			continue
		}
		switch f.Kind() {
		case reflect.String:
			f.SetString("x" + v.Type().Field(i).Name)
		case reflect.Int, reflect.Int64:
			f.SetInt(7)
		case reflect.Float64:
			f.SetFloat(0.5)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Struct:
			fill(t, f, at, nil)
		default:
			t.Fatalf("field %s: no value of %s is known here", v.Type().Field(i).Name, f.Kind())
		}
	}
}
