package work

import (
	"encoding/binary"
	"errors"
	"slices"
)

// What is known of a record is kept in few bytes beside its keys, so that whoever
// compares it with others need not read its fields again.

// The lists give a number to each scheme, class and relation. New ones are added at the end.
var (
	packedSchemes   = []Scheme{DOI, PMID, PMCID, ArXiv, OpenAlex, EuropePMC, NCT}
	packedClasses   = []Class{Unknown, Article, Preprint, Dataset, Container, Notice, Thesis, Trial, Review}
	packedRelations = []Relation{
		PreprintOf, VersionOf, RetractionOf, CorrectionOf, NoticeOf, CommentOn, ReviewOf, TranslationOf, SupplementTo, PartOf, RelatedTo,
	}
)

// Pack appends what is known of a record, but for its number and revision, so that
// [Unpack] can read it.
func (r *Record) Pack(b []byte) []byte {
	b = binary.AppendUvarint(b, RulesVersion)
	for _, s := range []string{r.Key.Source, r.Key.Type, r.Key.ID, r.MergedInto, r.Title, r.Volume, r.Page, r.Language} {
		b = packText(b, s)
	}
	b = append(b, byte(slices.Index(packedClasses, r.Class)), packBool(r.Dead))
	b = binary.AppendUvarint(b, uint64(r.Year))
	b = binary.AppendUvarint(b, uint64(r.MainLen))
	for _, list := range [][]string{r.Stems, r.Authors, r.ISSN, r.Journal} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, s := range list {
			b = packText(b, s)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(r.Claims)))
	for _, c := range r.Claims {
		b = append(b, byte(c.Strength))
		b = packID(b, c.ID)
	}
	b = binary.AppendUvarint(b, uint64(len(r.Pointers)))
	for _, p := range r.Pointers {
		b = append(b, byte(slices.Index(packedRelations, p.Relation)), packBool(p.Back))
		b = packID(b, p.To)
	}
	return b
}

func packText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func packID(b []byte, id ID) []byte {
	b = append(b, byte(slices.Index(packedSchemes, id.Scheme)))
	return packText(b, id.Value)
}

func packBool(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// ErrPacked: what was packed cannot be read, or was found by other rules. The record has
// to be read again.
var ErrPacked = errors.New("what is known of a record was not packed by these rules")

// Unpack reads what [Record.Pack] wrote.
func Unpack(b []byte) (r Record, err error) {
	u := unpacker{b: b, text: string(b)}
	if u.number() != RulesVersion {
		return r, ErrPacked
	}
	for _, s := range []*string{&r.Key.Source, &r.Key.Type, &r.Key.ID, &r.MergedInto, &r.Title, &r.Volume, &r.Page, &r.Language} {
		*s = u.string()
	}
	r.Class = nameAt(&u, packedClasses)
	r.Dead = u.byte() == 1
	r.Year = u.number()
	r.MainLen = u.number()
	for _, list := range []*[]string{&r.Stems, &r.Authors, &r.ISSN, &r.Journal} {
		*list = unpackList(&u, u.string)
	}
	r.Claims = unpackList(&u, func() Claim {
		strength := Strength(u.byte())
		return Claim{ID: u.id(), Strength: strength}
	})
	r.Pointers = unpackList(&u, func() Pointer {
		p := Pointer{Relation: nameAt(&u, packedRelations), Back: u.byte() == 1}
		p.To = u.id()
		return p
	})
	if u.failed || len(u.b) > 0 || r.MainLen > len(r.Title) {
		return Record{}, ErrPacked
	}
	return r, nil
}

// unpacker reads bytes one after the other. Once it fails it yields nothing more.
type unpacker struct {
	b      []byte // what is left
	text   string // all, of which strings are parts
	failed bool
}

func (u *unpacker) fail() {
	u.failed = true
	u.b = nil
}

func (u *unpacker) byte() byte {
	if len(u.b) == 0 {
		u.fail()
		return 0
	}
	c := u.b[0]
	u.b = u.b[1:]
	return c
}

func (u *unpacker) number() int {
	v, n := binary.Uvarint(u.b)
	if n <= 0 || v > 1<<31 {
		u.fail()
		return 0
	}
	u.b = u.b[n:]
	return int(v)
}

func (u *unpacker) string() string {
	n := u.number()
	if n > len(u.b) {
		u.fail()
		return ""
	}
	from := len(u.text) - len(u.b)
	u.b = u.b[n:]
	return u.text[from : from+n]
}

func (u *unpacker) id() ID {
	scheme := nameAt(u, packedSchemes)
	return ID{scheme, u.string()}
}

// nameAt reads the number of one of a list.
func nameAt[T any](u *unpacker, names []T) (none T) {
	i := int(u.byte())
	if i >= len(names) {
		u.fail()
		return none
	}
	return names[i]
}

// unpackList reads a list of what one reads.
func unpackList[T any](u *unpacker, one func() T) []T {
	n := u.number()
	if n > len(u.b) { // each takes a byte at least
		u.fail()
	}
	if n == 0 || u.failed {
		return nil
	}
	out := make([]T, 0, n)
	for range n {
		out = append(out, one())
	}
	return out
}
