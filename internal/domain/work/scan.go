package work

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// errUnusual: the fields are not written as packs write them. Whoever meets it reads
// them the slow way, which decides what they mean.
var errUnusual = errors.New("fields are written in an unusual way")

// readFields takes the fields that matter out of a record's mapped fields. Most of
// these are never looked at here (the abstract, the references), and every record that
// is stored is read so: what does not matter is stepped over and not decoded, and the rest is not
// copied. Whoever has the fields must not change doc.
func readFields(doc []byte) (f fields, err error) {
	s := scanner{doc: unsafe.String(unsafe.SliceData(doc), len(doc))} // the texts below are parts of it
	err = s.object(func(name string) error { return s.field(&f, name) })
	if err == nil && !s.atEnd() {
		err = errUnusual
	}
	if err != nil {
		f = fields{}
		return f, json.Unmarshal(doc, &f)
	}
	return f, nil
}

// scanner steps through a JSON text.
type scanner struct {
	doc string
	at  int
}

// field reads the value of one field, or steps over it.
func (s *scanner) field(f *fields, name string) error {
	switch name {
	case "title":
		return s.text(&f.Title)
	case "subtitle":
		return s.text(&f.Subtitle)
	case "journal":
		return s.text(&f.Journal)
	case "journal_abbrev":
		return s.text(&f.Abbrev)
	case "volume":
		return s.text(&f.Volume)
	case "pages":
		return s.text(&f.Pages)
	case "published":
		return s.text(&f.Published)
	case "type":
		return s.text(&f.Type)
	case "language":
		return s.text(&f.Language)
	case "doi":
		return s.text(&f.DOI)
	case "pmid":
		return s.text(&f.PMID)
	case "pmcid":
		return s.text(&f.PMCID)
	case "retracts":
		return s.text(&f.Retracts)
	case "retracted_by":
		return s.text(&f.RetractedBy)
	case "corrects":
		return s.text(&f.Corrects)
	case "authors":
		return s.authors(f)
	case "issn":
		return s.texts(&f.ISSN)
	case "other_ids":
		return s.decode(&f.Other)
	}
	if !isPlainName(name) {
		return errUnusual
	}
	return s.skip()
}

// isPlainName reports whether a name is in small letters: others may mean the same as
// one of those above.
func isPlainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// authors reads the list of authors.
func (s *scanner) authors(f *fields) error {
	if f.Authors != nil {
		return errUnusual
	}
	if s.null() {
		return nil
	}
	f.Authors = make([]author, 0, 8)
	member := func(name string) error {
		a := &f.Authors[len(f.Authors)-1]
		switch name {
		case "family":
			return s.text(&a.Family)
		case "given":
			return s.text(&a.Given)
		case "name":
			return s.text(&a.Name)
		}
		if !isPlainName(name) {
			return errUnusual
		}
		return s.skip()
	}
	return s.list('[', ']', func() error {
		f.Authors = append(f.Authors, author{})
		if s.null() {
			return nil
		}
		return s.object(member)
	})
}

// texts reads a list of texts.
func (s *scanner) texts(into *[]string) error {
	if *into != nil {
		return errUnusual
	}
	if s.null() {
		return nil
	}
	*into = []string{}
	return s.list('[', ']', func() error {
		*into = append(*into, "")
		return s.text(&(*into)[len(*into)-1])
	})
}

// decode reads a value that is small or rare as the standard library does.
func (s *scanner) decode(into any) error {
	from := s.at
	if err := s.skip(); err != nil {
		return err
	}
	return json.Unmarshal([]byte(s.doc[from:s.at]), into)
}

// blanks steps over blanks, and returns the next byte, 0 at the end.
func (s *scanner) blanks() byte {
	for ; s.at < len(s.doc); s.at++ {
		switch c := s.doc[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) atEnd() bool { return s.blanks() == 0 && s.at == len(s.doc) }

// null steps over null, if it comes next.
func (s *scanner) null() bool {
	s.blanks()
	if !strings.HasPrefix(s.doc[s.at:], "null") {
		return false
	}
	s.at += len("null")
	return true
}

// object reads the members of an object; what each has behind its name is read by value.
func (s *scanner) object(value func(name string) error) error {
	return s.list('{', '}', func() error {
		name, plain, err := s.quoted()
		if err != nil {
			return err
		}
		if !plain || s.blanks() != ':' {
			return errUnusual
		}
		s.at++
		return value(name)
	})
}

// list reads what stands between two brackets, one by one.
func (s *scanner) list(open, end byte, one func() error) error {
	if s.blanks() != open {
		return errUnusual
	}
	s.at++
	if s.blanks() == end {
		s.at++
		return nil
	}
	for {
		if err := one(); err != nil {
			return err
		}
		c := s.blanks()
		s.at++
		switch c {
		case ',':
		case end:
			return nil
		default:
			return errUnusual
		}
	}
}

// shortText is how many bytes of a text are looked at one by one.
const shortText = 16

// quoted reads a text without its quotes, and says whether it stands there as it is:
// without escapes.
func (s *scanner) quoted() (text string, plain bool, err error) {
	if s.blanks() != '"' {
		return "", false, errUnusual
	}
	from := s.at + 1
	// Most are names and short: to look at a few bytes one by one is faster than to ask for
	// a search.
	i := from
	for end := min(from+shortText, len(s.doc)); i < end && s.doc[i] != '\\'; i++ {
		if s.doc[i] == '"' {
			s.at = i + 1
			return s.doc[from:i], true, nil
		}
	}
	plain = true
	for i < len(s.doc) {
		n := strings.IndexByte(s.doc[i:], '"')
		if n < 0 {
			break
		}
		i += n
		escapes := 0
		for i-escapes-1 >= from && s.doc[i-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			s.at = i + 1
			text = s.doc[from:i]
			return text, plain && strings.IndexByte(text, '\\') < 0, nil
		}
		plain = false
		i++
	}
	return "", false, errUnusual
}

// text reads a text.
func (s *scanner) text(into *string) error {
	if s.null() {
		return nil
	}
	from := s.at
	text, plain, err := s.quoted()
	if err != nil {
		return err
	}
	if plain && isClean(text) {
		*into = text
		return nil
	}
	return json.Unmarshal([]byte(s.doc[from:s.at]), into)
}

// isClean reports whether it is a text with nothing in it that JSON forbids.
func isClean(text string) bool {
	var all byte
	for i := range len(text) {
		if text[i] < ' ' {
			return false
		}
		all |= text[i]
	}
	return all < utf8.RuneSelf || utf8.ValidString(text)
}

// skip steps over a value. It trusts that the store holds JSON, and only finds its end.
func (s *scanner) skip() error {
	switch s.blanks() {
	case '"':
		_, _, err := s.quoted()
		return err
	case '{', '[':
		depth := 0
		for s.at < len(s.doc) {
			switch s.doc[s.at] {
			case '"':
				if _, _, err := s.quoted(); err != nil {
					return err
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			s.at++
			if depth == 0 {
				return nil
			}
		}
		return errUnusual
	}
	from := s.at
	for s.at < len(s.doc) && strings.IndexByte(",]} \t\r\n", s.doc[s.at]) < 0 {
		s.at++
	}
	if s.at == from {
		return errUnusual
	}
	return nil
}
