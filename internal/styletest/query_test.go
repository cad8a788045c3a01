package styletest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// shelfWork is what of a stored record the queries below are about.
type shelfWork struct{ Title, Abstract string }

// rare is a word that no recording has.
const rare = "zzinsulin"

func (w shelfWork) says() (title, abstract bool) {
	return strings.Contains(strings.ToLower(w.Title), rare), strings.Contains(strings.ToLower(w.Abstract), rare)
}

// planted puts the rare word in place of a word of the title into every third item.
func planted(t *testing.T, items [][]byte, records map[string]string) [][]byte {
	t.Helper()
	out := slices.Clone(items)
	for i := 0; i < len(out); i += 3 {
		for _, fields := range records {
			var w shelfWork
			if err := json.Unmarshal([]byte(fields), &w); err != nil {
				t.Fatal(err)
			}
			words := strings.Fields(w.Title)
			if len(words) == 0 { // the recording did not ask for titles
				out[i] = append([]byte(`{"title_display":"On `+rare+`",`), out[i][1:]...)
				break
			}
			at := slices.IndexFunc(words, func(word string) bool {
				return len(word) > 4 && strings.Trim(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz") == ""
			})
			if at < 0 {
				continue
			}
			whole := regexp.MustCompile(`\b` + words[at] + `\b`)
			if whole.Match(out[i]) {
				out[i] = whole.ReplaceAll(out[i], []byte(rare))
				break
			}
		}
	}
	return out
}

// TestQuery_KeepsWhatItMeansOfEveryShippedPack: a shelf that finds whatever it has, as a
// superset may, and loses a token on the way, is read by queries of every operator.
// What is kept is what each means on the records themselves, by a reading that shares
// nothing with the one that is tested; a record that cannot tell is kept and counted.
func TestQuery_KeepsWhatItMeansOfEveryShippedPack(t *testing.T) {
	asked := []struct {
		query string
		holds func(title, abstract bool) bool
	}{
		{`ti:` + rare, func(title, _ bool) bool { return title }},
		{`NOT ti:"` + rare + `"`, func(title, _ bool) bool { return !title }},
		{`ti:zzins* AND (ti:` + rare + ` OR ti:nosuchword)`, func(title, _ bool) bool { return title }},
		{`tiab:` + rare + ` NOT ti:"nosuch word"`, func(title, abstract bool) bool { return title || abstract }},
	}
	for _, s := range shelves {
		t.Run(s.pack, func(t *testing.T) {
			t.Parallel()
			s.all = s.items(t)
			bubble(t, func(t *testing.T) {
				plain := s
				_, records := plain.ask(t, "")
				s.all = planted(t, s.all, records)
				plain = s
				_, records = plain.ask(t, "")
				for _, one := range asked {
					shelf := s
					shelf.fault = sim.TokenDroppedShort
					shelf.page = 1
					rep, got := shelf.ask(t, one.query)
					kept, unsure := 0, 0
					for id, fields := range records {
						var w shelfWork
						if err := json.Unmarshal([]byte(fields), &w); err != nil {
							t.Fatal(err)
						}
						title, abstract := w.says()
						want := one.holds(title, abstract)
						// Semantic Scholar withholds abstracts that it searches.
						if !want && s.pack == "semanticscholar" && w.Abstract == "" && one.holds(title, true) {
							want = true
							unsure++
						}
						if want {
							kept++
						}
						if _, isKept := got[id]; isKept != want {
							t.Errorf("%s: %s is kept: %t, want %t: %s", one.query, id, isKept, want, w.Title)
						}
					}
					if rep.Status != "COMPLETED" || len(got) != kept || rep.Records.Undecided < int64(unsure) || unsure == 0 && rep.Records.Undecided > 0 {
						t.Errorf("%s: %s, %d kept, want %d; %+v", one.query, rep.Status, len(got), kept, rep.Records)
					}
					if kept == 0 || kept == len(records) && one.holds(false, false) != one.holds(true, true) && unsure == 0 {
						t.Errorf("%s proves nothing: %d of %d", one.query, kept, len(records))
					}
				}
			})
		})
	}
}
