package query

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Format writes e in the text form, so that [Parse] reads it back.
func Format(e Expr, dict *FieldDict) string {
	f := formatter{dict: dict}
	f.expr(e)
	return f.String()
}

type formatter struct {
	strings.Builder
	dict *FieldDict
}

func (f *formatter) expr(e Expr) {
	switch e := e.(type) {
	case And:
		f.joined(e.Of, " AND ")
	case Or:
		f.joined(e.Of, " OR ")
	case Not:
		f.WriteString("NOT ")
		f.part(e.Of)
	case Term:
		f.term(e)
	case In:
		f.in(e)
	case Range:
		f.ranged(e)
	case Exists:
		f.WriteString("has:" + e.Field)
	case Token:
		f.WriteString("@" + e.Source + ":" + quote(e.Text))
	case All:
		f.WriteByte('*')
	}
}

func (f *formatter) joined(list []Expr, op string) {
	if len(list) == 0 {
		f.WriteByte('*')
	}
	for i, e := range list {
		if i > 0 {
			f.WriteString(op)
		}
		if len(list) == 1 {
			f.expr(e)
		} else {
			f.part(e)
		}
	}
}

// part of a greater whole: groups get parentheses, so that nobody has to know
// what binds stronger.
func (f *formatter) part(e Expr) {
	for e.Op() != OpNot && len(kids(e)) == 1 {
		e = kids(e)[0]
	}
	if t, ok := e.(Term); ok && t.Match == MatchWords {
		e = wordTerms(t)
	}
	if len(kids(e)) > 1 {
		f.WriteByte('(')
		f.expr(e)
		f.WriteByte(')')
		return
	}
	f.expr(e)
}

func (f *formatter) term(t Term) {
	if t.Match == MatchWords {
		e := wordTerms(t)
		if and, ok := e.(And); ok {
			f.joined(and.Of, " AND ")
			return
		}
		t = e.(Term)
	}
	field, _ := f.dict.Lookup(t.Field)
	mark, value := ":", quote(t.Text)
	switch {
	case t.Match == MatchWords:
		value = escapeWord(t.Text)
	case t.Match == MatchExact && field.DataType == DataText:
		mark = "="
	case t.Match != MatchPhrase && !t.CaseSensitive && simple(t.Text):
		value = t.Text
	}
	if t.Match == MatchPrefix {
		value += "*"
	}
	if t.CaseSensitive {
		value += "cs"
	}
	if t.Field == FieldFull && mark == ":" && (t.Match == MatchPhrase || t.Match == MatchWords) {
		f.WriteString(value)
		return
	}
	f.WriteString(t.Field + mark + value)
}

func (f *formatter) in(e In) {
	f.WriteString(e.Field + ":(")
	for i, v := range e.Values {
		if i > 0 {
			f.WriteString(", ")
		}
		if simple(v.Text) {
			f.WriteString(v.Text)
		} else {
			f.WriteString(quote(v.Text))
		}
	}
	if len(e.Values) == 1 {
		f.WriteByte(',')
	}
	f.WriteByte(')')
	if e.CaseSensitive {
		f.WriteString("cs")
	}
}

func (f *formatter) ranged(r Range) {
	from, to := r.From, r.To
	f.WriteString(r.Field + ":")
	plain := r.Type != TypeText && !from.Open && !to.Open
	if r.Type == TypeDate {
		// Whole days are written as people do, both ends in.
		first, last, ok := wholeDays(from, to)
		plain = ok
		if ok {
			from.Value, to.Value = first, last
		} else {
			from.Value, to.Value = shortInstant(from.Value), shortInstant(to.Value)
		}
	}
	switch {
	case plain && from.Value == to.Value:
		f.WriteString(from.Value)
	case plain:
		f.WriteString(from.Value + ".." + to.Value)
	default:
		f.WriteByte("[{"[btoi(from.Open)])
		f.bound(r.Type, from)
		f.WriteString(" TO ")
		f.bound(r.Type, to)
		f.WriteByte("]}"[btoi(to.Open)])
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (f *formatter) bound(t Type, b Bound) {
	switch {
	case b.Absent():
		f.WriteByte('*')
	case t == TypeText:
		f.WriteString(quote(b.Value))
	default:
		f.WriteString(b.Value)
	}
}

// wholeDays gives the first and the last day of a range of instants, if it is
// made of days.
func wholeDays(from, to Bound) (first, last string, ok bool) {
	day := func(b Bound, back time.Duration) (string, bool) {
		if b.Absent() {
			return "", true
		}
		t, err := time.Parse(InstantLayout, b.Value)
		return t.Add(-back).Format(time.DateOnly), err == nil && t.Truncate(24*time.Hour).Equal(t)
	}
	first, ok1 := day(from, 0)
	last, ok2 := day(to, time.Microsecond)
	return first, last, ok1 && ok2 && !from.Open && (to.Open || to.Absent())
}

// shortInstant leaves out a fraction that is zero.
func shortInstant(s string) string { return strings.Replace(s, ".000000Z", "Z", 1) }

// quote writes a text between quotes.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// simple reports whether a value can stand without quotes behind a field.
func simple(s string) bool {
	for _, r := range s {
		if !(unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_/.;#%+'", r)) {
			return false
		}
	}
	if first, _ := utf8.DecodeRuneInString(s); strings.ContainsRune(singleQuotes, first) {
		return false
	}
	return s != "" && !strings.Contains(s, "..") && !operator(s)
}

func operator(s string) bool {
	return slices.Contains([]string{"AND", "OR", "NOT", "TO"}, strings.ToUpper(s))
}

// escapeWord writes a single word without quotes.
func escapeWord(s string) string {
	var b strings.Builder
	for i, r := range s {
		if strings.ContainsRune(wordEnd+`:\!@&`, r) || curly(r) || i == 0 && strings.ContainsRune(singleQuotes, r) || r == '.' && strings.HasPrefix(s[i:], "..") ||
			i == 0 && (r == '-' || r == '+' || operator(s)) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
