package control

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/work"
)

// WorkMembers are the records of a work, by their numbers. The number of a work is the
// smallest of them; a number that was a work's before leads to where its record is now.
type WorkMembers struct {
	ID      int64   `json:"id"`
	Records []int64 `json:"records"`
}

// WorkRecord is a record of a work.
type WorkRecord struct {
	Number   int64                `json:"number"`
	Source   string               `json:"source"`
	Type     string               `json:"type"`
	ID       string               `json:"id"`
	Status   harvest.RecordStatus `json:"status"`
	Revision int64                `json:"revision"`
	Title    string               `json:"title,omitempty"`
	// Identifiers are those that it has, each with whether it is its own, is listed
	// by its source, or was taken from others.
	Identifiers []WorkIdentifier `json:"identifiers"`
	// Path are the links that lead to it from the first record of its work.
	Path   []WorkLink `json:"path,omitempty"`
	Fields []byte     `json:"-"`
}

// WorkIdentifier is an identifier of a record in its normal form.
type WorkIdentifier struct {
	Scheme string `json:"scheme"`
	Value  string `json:"value"`
	// Word is own, listed or second_hand; alias if it is that of a record said to be identical.
	Word string `json:"word"`
}

// WorkLink is what is known of two records.
type WorkLink struct {
	// ID is its number among what is suggested and related; links have none.
	ID   int64      `json:"id,omitzero"`
	From RecordName `json:"from"`
	To   RecordName `json:"to"`
	// Polarity is LINK for one work, SUGGEST for perhaps, FAMILY for related works.
	Polarity string `json:"polarity"`
	Rule     int    `json:"rule"`
	// Means says the rule in words.
	Means    string `json:"means"`
	Relation string `json:"relation,omitempty"`
	Evidence string `json:"evidence"`
	// Why says of a suggestion why it is no link.
	Why     string  `json:"why,omitempty"`
	Score   float64 `json:"score"`
	FoundAt Time    `json:"found_at"`
}

// RecordName names a record, and the work that it is of.
type RecordName struct {
	Number int64  `json:"number"`
	Work   int64  `json:"work"`
	Source string `json:"source"`
	ID     string `json:"id"`
	Title  string `json:"title,omitempty"`
}

// WorkRow is a work in a list.
type WorkRow struct {
	ID      int64        `json:"id"`
	Title   string       `json:"title,omitempty"`
	Year    int          `json:"year,omitempty"`
	Sources []string     `json:"sources"`
	Records []WorkRecord `json:"records"`
}

// WorkList are works of several records.
type WorkList struct {
	Works []WorkRow `json:"works"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// SuggestionList are pairs of records that may be of one work, or related.
type SuggestionList struct {
	Suggestions []WorkLink `json:"suggestions"`
	Next        string     `json:"next,omitempty"`
}

// BadIdentifier is an identifier that links nothing, and why.
type BadIdentifier struct {
	Key     int64  `json:"-"`
	Value   string `json:"value"`
	Holders int64  `json:"holders"`
	Why     string `json:"why"`
	FoundAt Time   `json:"found_at"`
}

// BadIdentifierList are identifiers that link nothing.
type BadIdentifierList struct {
	Identifiers []BadIdentifier `json:"identifiers"`
	Next        string          `json:"next,omitempty"`
}

// WorkField is the best value of a field of a work, and the records that it came from.
type WorkField struct {
	Value json.RawMessage `json:"value"`
	From  []string        `json:"from"`
}

// WorkDecided is what a person decided about records.
type WorkDecided struct {
	ID     int64     `json:"id"`
	Kind   string    `json:"kind"`
	Parts  [][]int64 `json:"parts"`
	Actor  string    `json:"actor"`
	Reason string    `json:"reason"`
	At     Time      `json:"at"`
	// RevokedBy is the number of the decision that revoked it, 0 if none did.
	RevokedBy int64 `json:"revoked_by,omitempty"`
}

// WorkMove is that a record went from one work to another.
type WorkMove struct {
	Record   int64 `json:"record"`
	FromWork int64 `json:"from_work"`
	ToWork   int64 `json:"to_work"`
	At       Time  `json:"at"`
}

// WorkView is a work with what is known of it.
type WorkView struct {
	ID int64 `json:"id"`
	// RedirectedFrom is the number that was asked for, if its record is of this work by now.
	RedirectedFrom int64        `json:"redirected_from,omitempty"`
	Records        []WorkRecord `json:"records"`
	// Fields are the best values, each with where it came from.
	Fields      map[string]WorkField `json:"fields"`
	Links       []WorkLink           `json:"links"`
	Family      []WorkLink           `json:"family"`
	Suggestions []WorkLink           `json:"suggestions"`
	Decisions   []WorkDecided        `json:"decisions"`
	Moves       []WorkMove           `json:"moves"`
}

// WorkStore keeps which records are of one work.
type WorkStore interface {
	// LinkWorks links the next records that were stored or changed, at most so many, and
	// says how many; 0 if none is left. RelinkWorks lets all be linked again.
	LinkWorks(ctx context.Context, most int) (int, error)
	RelinkWorks(ctx context.Context) error
	// Works lists works of several records behind one.
	Works(ctx context.Context, after int64, limit int) ([]WorkMembers, error)
	// WorkOf is the work of a record and its members, [harvest.ErrNotFound] if there is
	// no such record.
	WorkOf(ctx context.Context, record int64) (WorkMembers, error)
	// WorkRecords reads records by their numbers.
	WorkRecords(ctx context.Context, numbers []int64) ([]WorkRecord, error)
	// WorkLinks reads the edges at records; Suggestions lists suggestions behind one.
	WorkLinks(ctx context.Context, numbers []int64) ([]WorkLink, error)
	Suggestions(ctx context.Context, after int64, limit int) ([]WorkLink, error)
	BadIdentifiers(ctx context.Context, after int64, limit int) ([]BadIdentifier, error)
	WorkDecisions(ctx context.Context, numbers []int64) ([]WorkDecided, error)
	WorkMoves(ctx context.Context, numbers []int64, limit int) ([]WorkMove, error)
	WorkChanger
}

// linkedAtOnce is how many records are linked in one transaction at most. Whoever writes waits
// for it, a second or so; and the more there are at once, the less each costs.
const linkedAtOnce = 30_000

// LinkWorks links all records that were stored or changed since it was done last.
func (c *Control) LinkWorks(ctx context.Context) error {
	_, err := c.linkAll(ctx)
	return err
}

// LinkHarvested links what a command has read in the foreground, with all else that waits for
// it: whoever harvests one source after the other wants to know which records are the same. What
// was read is kept whatever comes of this, also when somebody interrupts it; the next time makes
// up for it.
func (c *Control) LinkHarvested(ctx context.Context) error {
	err := c.LinkWorks(ctx)
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("what was read is kept, but was not compared with other records: %w", err)
}

func (c *Control) linkAll(ctx context.Context) (int64, error) {
	var all int64
	for {
		n, err := c.store.LinkWorks(ctx, linkedAtOnce)
		if err != nil || n == 0 {
			return all, err
		}
		all += int64(n)
	}
}

// Linked is what linking has come to.
type Linked struct {
	// Records is how many records were looked at.
	Records int64 `json:"records"`
}

// LinkOrder asks for linking.
type LinkOrder struct {
	By
	// Again looks at all records once more, not only at what is new.
	Again bool
	// DryRun only counts what would be looked at.
	DryRun bool
}

// Link links what is new, or all records once more.
func (c *Control) Link(ctx context.Context, o LinkOrder) (Linked, error) {
	if o.DryRun {
		n, err := c.store.CountUnlinked(ctx, ExportQuery{}, o.Again)
		return Linked{Records: n}, err
	}
	if o.Again {
		if err := c.store.RelinkWorks(ctx); err != nil {
			return Linked{}, err
		}
	}
	n, err := c.linkAll(ctx)
	if err == nil && n > 0 {
		err = c.store.Audit(ctx, o.line("WORK_LINK", "works"), Linked{Records: n})
	}
	return Linked{Records: n}, err
}

// Works lists works that several records are of.
func (c *Control) Works(ctx context.Context, p Page) (WorkList, error) {
	after, err := p.Number()
	if err != nil {
		return WorkList{}, err
	}
	works, err := c.store.Works(ctx, after, p.Limit+1)
	if err != nil {
		return WorkList{}, err
	}
	out := WorkList{Works: []WorkRow{}}
	works, out.Next = firstOf(works, p.Limit, func(w WorkMembers) int64 { return w.ID })
	var numbers []int64
	for _, w := range works {
		numbers = append(numbers, w.Records...)
	}
	records, err := c.workRecords(ctx, numbers)
	if err != nil {
		return out, err
	}
	for _, w := range works {
		row := WorkRow{ID: w.ID, Sources: []string{}, Records: []WorkRecord{}}
		var members []work.Member
		for _, r := range records {
			if !slices.Contains(w.Records, r.Number) {
				continue
			}
			row.Records = append(row.Records, r)
			members = append(members, r.member())
			if !slices.Contains(row.Sources, r.Source) {
				row.Sources = append(row.Sources, r.Source)
			}
		}
		row.Title, row.Year = c.headOf(members)
		out.Works = append(out.Works, row)
	}
	return out, nil
}

// headOf is the title and the year of a work.
func (c *Control) headOf(members []work.Member) (title string, year int) {
	chosen, err := work.Best(members, time.Time{}.AddDate(9998, 0, 0))
	if err != nil {
		return "", 0
	}
	var published string
	_ = json.Unmarshal(chosen["title"].Value, &title)
	_ = json.Unmarshal(chosen["published"].Value, &published)
	if len(published) >= 4 {
		year, _ = strconv.Atoi(published[:4])
	}
	return c.clean(title), year
}

func (r WorkRecord) member() work.Member {
	return work.Member{
		Key: work.Key{Source: r.Source, Type: r.Type, ID: r.ID}, Revision: r.Revision,
		Retracted: r.Status == harvest.RecordRetracted, Fields: r.Fields,
	}
}

// workRecords reads records with the identifiers that they have.
func (c *Control) workRecords(ctx context.Context, numbers []int64) ([]WorkRecord, error) {
	records, err := c.store.WorkRecords(ctx, numbers)
	if err != nil {
		return nil, err
	}
	words := map[work.Strength]string{work.Own: "own", work.Listed: "listed", work.SecondHand: "second_hand", work.Alias: "alias"}
	for i := range records {
		r := &records[i]
		r.Fields, err = c.cleanJSON(r.Fields)
		if err != nil {
			return nil, err
		}
		r.Title = titleOf(r.Fields)
		r.Identifiers = []WorkIdentifier{}
		facts, err := work.Read(r.member().Key, r.Fields)
		if err != nil {
			continue // it is a work of its own, and says nothing
		}
		for _, claim := range facts.Claims {
			r.Identifiers = append(r.Identifiers, WorkIdentifier{Scheme: string(claim.Scheme), Value: claim.Value, Word: words[claim.Strength]})
		}
	}
	return records, nil
}

func titleOf(fields []byte) string {
	var f struct {
		Title string `json:"title"`
	}
	_ = json.Unmarshal(fields, &f) // without one it has none
	return f.Title
}

// Suggestions lists pairs of records that may be of one work, or preprint and article.
func (c *Control) Suggestions(ctx context.Context, p Page) (SuggestionList, error) {
	after, err := p.Number()
	if err != nil {
		return SuggestionList{}, err
	}
	links, err := c.store.Suggestions(ctx, after, p.Limit+1)
	if err != nil {
		return SuggestionList{}, err
	}
	out := SuggestionList{Suggestions: []WorkLink{}}
	for i := range links {
		c.explainLink(&links[i])
	}
	links, out.Next = firstOf(links, p.Limit, func(l WorkLink) int64 { return l.ID })
	out.Suggestions = append(out.Suggestions, links...)
	return out, nil
}

// BadIdentifiers lists identifiers that link nothing, because too many records have
// them or those that do contradict each other.
func (c *Control) BadIdentifiers(ctx context.Context, p Page) (BadIdentifierList, error) {
	after := int64(-1 << 63)
	if p.After != "" {
		n, err := strconv.ParseInt(p.After, 10, 64)
		if err != nil {
			return BadIdentifierList{}, ErrPage
		}
		after = n
	}
	rows, err := c.store.BadIdentifiers(ctx, after, p.Limit+1)
	if err != nil {
		return BadIdentifierList{}, err
	}
	out := BadIdentifierList{Identifiers: []BadIdentifier{}}
	rows, out.Next = firstOf(rows, p.Limit, func(b BadIdentifier) int64 { return b.Key })
	out.Identifiers = append(out.Identifiers, rows...)
	return out, nil
}
