package query

// Verdict is what an expression comes to on one record.
type Verdict int8

// The verdicts, in the order in which AND takes the least and OR the greatest.
const (
	False   Verdict = -1
	Unknown Verdict = 0 // the record cannot tell
	True    Verdict = 1
)

func (v Verdict) String() string {
	switch v {
	case True:
		return "true"
	case False:
		return "false"
	}
	return "unknown"
}

func verdictOf(holds bool) Verdict {
	if holds {
		return True
	}
	return False
}

// Document is a record as an expression looks at it.
type Document interface {
	// Content is what the record has in a field other than tiab, which is ti or ab.
	Content(field string) Content
}

// Content is what a record has in one field.
type Content struct {
	// Values are the texts of the field, each on its own: a phrase does not go from
	// one to the next. Of a DATE field and of the year they are dates as exact as
	// they are known: a year, a month, a day or an instant.
	Values []string
	// Kept: records of the source have the field. What is not kept cannot be known.
	Kept bool
	// Shown says what it means that the record does not have what is asked for.
	Shown Shown
}

// missed is the verdict on a field that does not have what was asked for.
func (c Content) missed() Verdict {
	switch {
	case !c.Kept, c.Shown == ShownPartly, c.Shown == ShownSometimes && len(c.Values) == 0:
		return Unknown
	}
	return False
}

// Shown says how far the records of a source show what the source has in a field.
type Shown string

// How far records show a field.
const (
	// ShownAlways, the same as nothing: what the record lacks is not there.
	ShownAlways Shown = "ALWAYS"
	// ShownSometimes: records may come without the field although the source has
	// it. One that has it shows it whole.
	ShownSometimes Shown = "SOMETIMES"
	// ShownPartly: the source searches more than its records show, so that only
	// what is there is certain.
	ShownPartly Shown = "PARTLY"
)

var shownKinds = []Shown{ShownAlways, ShownSometimes, ShownPartly}
