package sources_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
	"github.com/papertrace/patra/sources"
)

// The table below reads queries by means of its own, which share nothing with those
// that are tested: a reading is No, Unsure or Yes, in this order.
type reading int

const (
	no reading = iota - 1
	unsure
	yes
)

func readingOf(is bool) reading {
	if is {
		return yes
	}
	return no
}

// heldRecord is what of a stored record the queries are about.
type heldRecord struct {
	ID        string    `json:"-"`
	UpdatedAt time.Time `json:"-"`

	Title, Subtitle, Abstract, Journal, Published, Type, DOI string

	JournalAbbrev string `json:"journal_abbrev"`
	Types, ISSN   []string
	Authors       []struct{ Family, Given, Name string }
}

var plainer = strings.NewReplacer("ł", "l", "ø", "o", "œ", "oe", "æ", "ae", "ß", "ss", "đ", "d", "ı", "i")

// wordsIn are the words of a text in small letters without accents.
func wordsIn(text string) []string {
	bare := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ToLower(text)))
	return strings.FieldsFunc(plainer.Replace(bare), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// spoken says whether words stand side by side in a text; a star behind the last stands
// for its end.
func spoken(text, asked string) reading {
	have := " " + strings.Join(wordsIn(text), " ")
	asked, begins := strings.CutSuffix(asked, "*")
	want := " " + strings.Join(wordsIn(asked), " ")
	if !begins {
		have += " "
		want += " "
	}
	return readingOf(strings.Contains(have, want))
}

func (r heldRecord) ti(asked string) reading {
	return max(spoken(r.Title, asked), spoken(r.Subtitle, asked))
}

func (r heldRecord) jo(asked string) reading {
	return max(spoken(r.Journal, asked), spoken(r.JournalAbbrev, asked))
}

// au looks for a family name, in the whole of names that come in one piece.
func (r heldRecord) au(asked string) reading {
	v := no
	for _, a := range r.Authors {
		if a.Family != "" {
			v = max(v, spoken(a.Family, asked))
		} else {
			v = max(v, spoken(a.Name, asked))
		}
	}
	return v
}

// published says whether the day or month or year of a record lies between two days.
func (r heldRecord) published(from, to string) reading {
	first, last := r.Published, r.Published
	switch len(r.Published) {
	case len("2006"):
		first += "-01-01"
		last += "-12-31"
	case len("2006-01"):
		first += "-01"
		last += "-31"
	case len(time.DateOnly):
	default:
		return unsure
	}
	switch {
	case from <= first && last <= to:
		return yes
	case last < from || to < first:
		return no
	}
	return unsure
}

func (r heldRecord) kind(asked string) reading {
	form := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", " ")) }
	all := append(slices.Clone(r.Types), r.Type)
	if !slices.ContainsFunc(all, func(have string) bool { return have != "" }) {
		return unsure
	}
	return readingOf(slices.ContainsFunc(all, func(have string) bool { return form(have) == form(asked) }))
}

// shelfOf is all that a source has, calm and without a query.
type shelfOf struct {
	code    string
	rig     *patratest.Rig
	raw     *sql.DB
	records map[string]heldRecord
	// Semantic Scholar searches abstracts that it does not show, eLife's list has none.
	withheld bool
}

func (s *shelfOf) ab(r heldRecord, asked string) reading {
	if r.Abstract == "" && s.withheld {
		return unsure
	}
	return spoken(r.Abstract, asked)
}

// body is the field of the longest texts that records show, and what they are.
func (s *shelfOf) body() (field string, of func(heldRecord) string) {
	for _, r := range s.records {
		if r.Abstract != "" {
			return "ab", func(r heldRecord) string { return r.Abstract }
		}
	}
	return "ti", func(r heldRecord) string { return r.Title }
}

// said looks for words in that field.
func (s *shelfOf) said(r heldRecord, asked string) reading {
	if field, _ := s.body(); field == "ti" {
		return r.ti(asked)
	}
	return s.ab(r, asked)
}

func (s *shelfOf) tiab(r heldRecord, asked string) reading { return max(r.ti(asked), s.ab(r, asked)) }

// pick is the text that about a third of the records have of those that texts gives.
func (s *shelfOf) pick(texts func(heldRecord) []string) string {
	in := map[string]int{}
	for _, r := range s.records {
		for _, text := range slices.Compact(slices.Sorted(slices.Values(texts(r)))) {
			in[text]++
		}
	}
	best := ""
	for _, text := range slices.Sorted(maps.Keys(in)) {
		if off(3*in[text], len(s.records)) < off(3*in[best], len(s.records)) || best == "" {
			best = text
		}
	}
	return best
}

func off(a, b int) int { return max(a-b, b-a) }

// plainWords are those of a text that every source can be asked for: no stop words,
// nothing but letters.
func plainWords(text string) (out []string) {
	for _, word := range wordsIn(text) {
		if len(word) > 4 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" {
			out = append(out, word)
		}
	}
	return out
}

// plainPairs are two such words side by side.
func plainPairs(text string) (out []string) {
	words := wordsIn(text)
	for k := 1; k < len(words); k++ {
		if pair := words[k-1] + " " + words[k]; len(plainWords(pair)) == 2 {
			out = append(out, pair)
		}
	}
	return out
}

// operation is a query with an operator, and what it means of a record.
type operation struct {
	name, query string
	holds       func(r heldRecord) reading
}

// operations are queries of every operator whose words the source's records have.
func (s *shelfOf) operations() []operation {
	titleWord := s.pick(func(r heldRecord) []string { return plainWords(r.Title) })
	other := s.pick(func(r heldRecord) []string {
		return slices.DeleteFunc(plainWords(r.Title), func(w string) bool { return strings.HasPrefix(w, titleWord[:4]) })
	})
	body, text := s.body()
	bodyWord := s.pick(func(r heldRecord) []string { return plainWords(text(r)) })
	if body == "ti" {
		bodyWord = other
	}
	pair := s.pick(func(r heldRecord) []string { return plainPairs(text(r)) })
	first, second, _ := strings.Cut(pair, " ")
	family := s.pick(func(r heldRecord) (out []string) {
		for _, a := range r.Authors {
			words := wordsIn(a.Name)
			if a.Family != "" {
				words = wordsIn(a.Family)
			}
			for _, word := range words {
				// Where accents count, a name without them finds no name with them.
				if len(word) > 3 && strings.Contains(strings.ToLower(a.Family+a.Name), word) {
					out = append(out, word)
				}
			}
		}
		return out
	})
	who := "au"
	by := heldRecord.au
	if family == "" { // records show no names
		who = "ti"
		by = heldRecord.ti
		family = other
	}
	year := cmp.Or(s.pick(func(r heldRecord) []string { return []string{r.Published[:min(4, len(r.Published))]} }), "2026")
	month := s.pick(func(r heldRecord) []string { return []string{r.Published[:min(7, len(r.Published))]} })
	if len(month) < 7 {
		month = year + "-02"
	}
	out := []operation{
		{"word", "ti:" + titleWord, func(r heldRecord) reading { return r.ti(titleWord) }},
		{"phrase", body + `:"` + pair + `"`, func(r heldRecord) reading { return s.said(r, pair) }},
		{"phrase turned round", `tiab:"` + second + " " + first + `"`, func(r heldRecord) reading { return s.tiab(r, second+" "+first) }},
		{"words", `tiab:` + second + ` AND tiab:` + first, func(r heldRecord) reading { return min(s.tiab(r, first), s.tiab(r, second)) }},
		{"AND", "ti:" + titleWord + " AND " + body + ":" + bodyWord, func(r heldRecord) reading { return min(r.ti(titleWord), s.said(r, bodyWord)) }},
		{"OR", "ti:" + titleWord + " OR ti:" + other, func(r heldRecord) reading { return max(r.ti(titleWord), r.ti(other)) }},
		{"NOT", "NOT ti:" + titleWord, func(r heldRecord) reading { return -r.ti(titleWord) }},
		{"AND NOT", body + ":" + bodyWord + " NOT ti:" + titleWord, func(r heldRecord) reading { return min(s.said(r, bodyWord), -r.ti(titleWord)) }},
		{"truncation", "ti:" + titleWord[:4] + "*", func(r heldRecord) reading { return r.ti(titleWord[:4] + "*") }},
		{"author", who + ":" + family, func(r heldRecord) reading { return by(r, family) }},
		{"year", "year:" + year, func(r heldRecord) reading { return r.published(year+"-01-01", year+"-12-31") }},
		{"days", "pubdate:" + month + "-10.." + month + "-20", func(r heldRecord) reading { return r.published(month+"-10", month+"-20") }},
		{"not that year", "ti:" + titleWord + " NOT year:" + year, func(r heldRecord) reading {
			return min(r.ti(titleWord), -r.published(year+"-01-01", year+"-12-31"))
		}},
		{
			"nested", fmt.Sprintf(`(ti:%s OR %s:"%s") AND NOT (%s:%s OR year:%s)`, titleWord, body, pair, who, family, year),
			func(r heldRecord) reading {
				return min(max(r.ti(titleWord), s.said(r, pair)), -max(by(r, family), r.published(year+"-01-01", year+"-12-31")))
			},
		},
		{
			"nested deeper", fmt.Sprintf(`NOT (ti:%s AND NOT (%s:%s OR %s:%s))`, titleWord, body, bodyWord, who, family),
			func(r heldRecord) reading { return -min(r.ti(titleWord), -max(s.said(r, bodyWord), by(r, family))) },
		},
	}
	if s.pick(func(r heldRecord) []string { return []string{r.Published} }) == "" {
		out = slices.DeleteFunc(out, func(o operation) bool { return o.name == "year" || o.name == "days" }) // which nothing can decide
	}
	return append(out, s.byName()...)
}

// byName are queries for types, journals, identifiers and instants, as far as there are any.
func (s *shelfOf) byName() (out []operation) {
	if kind := s.pick(func(r heldRecord) []string { return append(slices.Clone(r.Types), r.Type) }); kind != "" {
		out = append(out,
			operation{"type", `type:"` + kind + `"`, func(r heldRecord) reading { return r.kind(kind) }},
			operation{"not of a type", `tiab:patients OR NOT type:"` + kind + `"`, func(r heldRecord) reading { return max(s.tiab(r, "patients"), -r.kind(kind)) }},
		)
	}
	if word := s.pick(func(r heldRecord) []string { return plainWords(r.Journal) }); word != "" {
		out = append(out, operation{"journal", "jo:" + word, func(r heldRecord) reading { return r.jo(word) }})
	}
	if doi := s.pick(func(r heldRecord) []string { return []string{r.DOI} }); doi != "" {
		out = append(out, operation{"DOI", `doi:"` + doi + `"`, func(r heldRecord) reading { return readingOf(strings.EqualFold(r.DOI, doi)) }})
	}
	if issn := s.pick(func(r heldRecord) []string { return r.ISSN }); issn != "" {
		out = append(out, operation{"ISSN", `issn:"` + issn + `"`, func(r heldRecord) reading { return readingOf(slices.Contains(r.ISSN, issn)) }})
	}
	ids := slices.Sorted(maps.Keys(s.records))
	slices.SortFunc(ids, func(a, b string) int { return s.records[a].UpdatedAt.Compare(s.records[b].UpdatedAt) })
	// The last second of the range is that of a record, and belongs to it.
	upTo := s.records[ids[len(ids)/2]].UpdatedAt.Truncate(time.Second)
	if !upTo.IsZero() {
		out = append(out, operation{"instants", "updated:.." + upTo.Format("2006-01-02T15:04:05Z"), func(r heldRecord) reading {
			return readingOf(r.UpdatedAt.Before(upTo.Add(time.Second)))
		}}, operation{"later instants", "updated:" + upTo.Format("2006-01-02T15:04:05Z") + "..", func(r heldRecord) reading {
			return readingOf(!r.UpdatedAt.Before(upTo))
		}})
	}
	return out
}

// open makes the store and the node that all queries of the source share.
func (s *shelfOf) open(t *testing.T, oracle *sim.Sim) {
	t.Helper()
	dsn := patratest.SQLite.SpareDSN(t)
	s.rig = patratest.NewRig(t, patratest.RigConfig{
		DSN: dsn, Oracle: oracle, Node: node.Config{Workers: 1, Poll: time.Second},
		Packs: map[string]registry.Pack{s.code: patratest.ShippedPack(t, s.code, func(spec *source.Spec) {
			patratest.Fast(spec)
			spec.Rate.Quotas = nil
			if spec.Window.Step > 0 { // what is counted or cut on need is no matter of queries
				spec.Window.Step = source.Duration(120 * 24 * time.Hour)
			}
			if spec.Paging.MaxPages > 1 || spec.Paging.MaxPages == 0 { // else a slice is a page
				spec.Paging.Size = min(spec.Paging.Size, 12)
			}
		})},
	})
	s.raw = patratest.Raw(t, dsn)
}

// harvest reads a source with a query.
func (s *shelfOf) harvest(t *testing.T, query string) (*control.Report, error) {
	t.Helper()
	req := control.HarvestRequest{Source: s.code, Query: query, BaseURL: s.rig.BaseOf(s.code), From: operatorsFrom}
	if s.code == sim.IETF { // which is asked for numbers, and not for times
		req.From = time.Time{}
	}
	if s.code == sim.SemanticScholar { // which does not tell of changes
		req.Operation = harvest.Backfill
		req.Activity = "operators " + query
		req.To = operatorsNow.AddDate(0, 0, 50)
	}
	return s.rig.Node.Control.Harvest(t.Context(), req)
}

// fill reads all that the source has. What it has deleted is none of it.
func (s *shelfOf) fill(t *testing.T) {
	t.Helper()
	rep, err := s.harvest(t, "")
	if err != nil {
		t.Fatal(err)
	}
	s.records = map[string]heldRecord{}
	err = s.rig.Node.Store.Export(context.WithoutCancel(t.Context()), control.ExportQuery{Sources: []string{s.code}}, func(e *control.Exported) error {
		one := heldRecord{ID: e.ID, UpdatedAt: e.UpdatedAt}
		if e.Status == harvest.RecordGone {
			return nil
		}
		err := json.Unmarshal(e.Fields, &one)
		s.records[e.ID] = one
		return err
	})
	if err != nil || len(s.records) < 10 {
		t.Fatalf("%d records of everything, %v, %+v", len(s.records), err, rep)
	}
}

// found are the members of the selection that a plan was made for.
func (s *shelfOf) found(t *testing.T, plan string) map[string]bool {
	t.Helper()
	rows, err := s.raw.QueryContext(context.WithoutCancel(t.Context()), `SELECT r.ext_id FROM ing_plan p JOIN ing_selection_record m ON m.selection_id = p.selection_id
		JOIN ing_record r ON r.id = m.record_id WHERE p.plan_key = ? AND r.status_code <> 'GONE'`, plan)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	out := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		out[id] = true
	}
	return out
}

// The oracle's clock, and where its records begin.
var (
	operatorsNow  = time.Date(2026, 3, 28, 15, 0, 0, 0, time.UTC)
	operatorsFrom = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// TestQuery_EveryOperatorAtEverySource: whatever a source can be asked for, and whatever
// goes wrong on the way, what is kept of the oracle's records is what the query means of
// them, all of it and nothing else; of a record that cannot tell it may be either.
func TestQuery_EveryOperatorAtEverySource(t *testing.T) {
	records := 24
	if os.Getenv("PATRA_SOAK") != "" {
		records = 400
	}
	files := must(sources.FS.ReadDir("."))
	for _, file := range files {
		code, isPack := strings.CutSuffix(file.Name(), ".yaml")
		if !isPack || sourcefile.IsCases(file.Name()) {
			continue
		}
		if text := must(sources.FS.ReadFile(file.Name())); !strings.Contains(string(text), "\nquery:\n") {
			t.Errorf("%s does not say what of a query it can be sent", code)
		}
		if slices.Contains(sim.LookupOnly, code) {
			continue // a query selects nothing of what is asked for by name
		}
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { everyOperator(t, code, records) })
		})
	}
}

// telling are the operators that every source has records for and against.
var telling = []string{"word", "phrase", "OR", "NOT", "truncation", "author"}

func everyOperator(t *testing.T, code string, records int) {
	time.Sleep(time.Until(operatorsNow.AddDate(0, 0, 60))) // bubbles begin when some sources did not exist
	oracle := must(sim.New(sim.Config{
		Sources: []string{code}, Records: records, Seed: 21, LimitRPS: -1, Now: operatorsNow, Span: 20 * 24 * time.Hour, ListSize: 12,
		Churn: &sim.Churn{Changed: 0.2, Volatile: 0.2, Deleted: 0.05},
	}))
	oracle.Advance(40 * 24 * time.Hour) // also past what a source withholds
	s := &shelfOf{code: code, withheld: code == sim.SemanticScholar || code == sim.ELife}
	s.open(t, oracle)
	s.fill(t)
	heavy := must(sim.ParseFaults("heavy"))
	for kind := range heavy.Rates {
		heavy.Rates[kind] *= 2
	}
	if err := oracle.SetFaults(heavy); err != nil {
		t.Fatal(err)
	}
	for _, op := range s.operations() {
		rep, err := s.harvest(t, op.query)
		if err != nil {
			t.Errorf("%s: %s: %v", op.name, op.query, err)
			continue
		}
		kept := s.found(t, rep.PlanKey)
		count, wrong := map[reading]int{}, 0
		for id, r := range s.records {
			means := op.holds(r)
			if len(oracle.Versions(code, id)) > 1 && slices.Contains([]string{sim.BioRxiv, sim.MedRxiv}, code) {
				means = unsure // versions are listed one by one, and one may fit where the last does not
			}
			count[means]++
			if isKept := kept[id]; isKept != (means == yes) && means != unsure {
				wrong++
				if wrong == 1 {
					t.Errorf("%s: %s: %s is kept: %t: %+v", op.name, op.query, id, isKept, r)
				}
			}
		}
		for id := range kept {
			if _, known := s.records[id]; !known {
				t.Errorf("%s: %s: nobody knows %s", op.name, op.query, id)
			}
		}
		if rep.Status != "COMPLETED" || rep.BadIDs > 0 {
			t.Errorf("%s: %s: %s, %d bad ids, gaps %+v", op.name, op.query, rep.Status, rep.BadIDs, rep.Gaps)
		}
		if alike := max(count[yes], count[no]) == len(s.records); alike && slices.Contains(telling, op.name) {
			t.Errorf("%s: %s proves nothing: %v", op.name, op.query, count)
		}
	}
	if served := oracle.Stats().Sources[code].Faults; len(served) < 3 {
		t.Errorf("few faults were served: %v", served)
	}
}
