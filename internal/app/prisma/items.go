package prisma

import (
	"fmt"
	"strings"
)

// Item is an item of PRISMA-S and what is known of it.
type Item struct {
	No    int
	Name  string
	Facts []string
}

// forThePerson is said of what only a person knows.
const forThePerson = "(to be filled in by the reviewers)"

// Items are the sixteen items of PRISMA-S.
func (r Document) Items() []Item {
	return []Item{
		{1, "Database name", r.names(false)},
		{2, "Multi-database searching", r.together()},
		{3, "Study registries", orNone(r.names(true))},
		{4, "Online resources and browsing", []string{forThePerson}},
		{5, "Citation searching", []string{"none was done by this search"}},
		{6, "Contacts", []string{forThePerson}},
		{7, "Other methods", []string{forThePerson}},
		{8, "Full search strategies", []string{"as written: " + r.Query, "as sent: see each source below"}},
		{9, "Limits and restrictions", r.limits()},
		{10, "Search filters", []string{forThePerson}},
		{11, "Prior work", r.prior()},
		{12, "Updates", r.updates()},
		{13, "Dates of searches", r.dates()},
		{14, "Peer review", []string{forThePerson}},
		{15, "Total records", r.totals()},
		{16, "Deduplication", r.deduplication()},
	}
}

func orNone(facts []string) []string {
	if len(facts) == 0 {
		return []string{"none was searched"}
	}
	return facts
}

func (r Document) names(register bool) (out []string) {
	for _, s := range r.Sources {
		if s.Register == register {
			out = append(out, fmt.Sprintf("%s (%s), asked at %s", s.Name, s.Source, s.Host))
		}
	}
	return out
}

func (r Document) together() []string {
	out := make([]string, len(r.Sources))
	for i, s := range r.Sources {
		out[i] = s.Name
	}
	return []string{fmt.Sprintf("one query was asked of %d sources, each by its own interface: %s", len(out), strings.Join(out, ", "))}
}

func (r Document) limits() (out []string) {
	from := "no limit of time was set"
	if r.From != "" {
		from = "only records changed since " + r.From
	}
	out = append(out, from+"; everything else that limits stands in the query")
	for _, s := range r.Sources {
		if s.From != "" {
			out = append(out, fmt.Sprintf("%s was read by its date %q from %s to %s", s.Name, s.Date, s.From, s.To))
		}
	}
	return out
}

func (r Document) prior() (out []string) {
	for _, v := range r.Earlier {
		out = append(out, fmt.Sprintf("version %d of this search, until %s: %s in %s", v.Version, v.Until, v.Query, v.Sources))
	}
	if len(out) == 0 {
		return []string{"this is the first version of the search"}
	}
	return out
}

func (r Document) updates() (out []string) {
	for _, run := range r.Runs {
		out = append(out, fmt.Sprintf("run %d, %s to %s, %s: %d records, %d of them new", run.No, run.Started, run.Ended, run.Status, run.Records, run.New))
	}
	return out
}

func (r Document) dates() (out []string) {
	for _, s := range r.Sources {
		out = append(out, fmt.Sprintf("%s: last searched %s", s.Name, s.LastRun))
	}
	return out
}

func (r Document) totals() (out []string) {
	for _, s := range r.Sources {
		said := "did not say how many there are"
		if s.Announced != nil {
			said = fmt.Sprintf("announced %d", *s.Announced)
		}
		if s.Uncounted > 0 {
			said += fmt.Sprintf(", %d kept of pages that are not counted any more", s.Uncounted)
		}
		if s.Older > 0 {
			said += fmt.Sprintf(", %d changed before the search begins", s.Older)
		}
		out = append(out, fmt.Sprintf("%s: %s, %d received: %d filtered here, %d received again, %d could not be read, %d kept; ids without details: %d",
			s.Name, said, s.Received, s.Filtered, s.ReadAgain, s.Quarantined, s.Kept, s.BadIDs))
	}
	return append(out, fmt.Sprintf("together: %d identified", r.Flow.Identified))
}

func (r Document) deduplication() []string {
	again := fmt.Sprintf("%s: %d removed", receivedAgain, r.Flow.ReadAgain)
	if !r.Flow.Compared {
		return []string{"records were not compared with each other: the same paper from two sources counts twice", again}
	}
	out := []string{"by " + r.Software + ", rules of identifiers", again}
	for _, c := range r.Flow.Duplicates {
		out = append(out, fmt.Sprintf("%s: %d removed", c.Name, c.N))
	}
	return out
}
