package query

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cited is a dictionary with a number that is no year.
func cited(t testing.TB) *FieldDict {
	t.Helper()
	d, err := NewFieldDict(append(Default().Fields(), Field{Key: "cites", DataType: DataNumber}))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestParse_NumbersHaveOneForm(t *testing.T) {
	dict := cited(t)
	same := func(a, b string) {
		t.Helper()
		x, err := Parse(a, dict)
		if err != nil {
			t.Fatal(err)
		}
		y, err := Parse(b, dict)
		if err != nil {
			t.Fatal(err)
		}
		if Hash(x) != Hash(y) {
			t.Errorf("%s and %s differ: %s, %s", a, b, JSON(x), JSON(y))
		}
		again, err := Parse(Format(x, dict), dict)
		if err != nil || cmp.Diff(x, again, noPlaces) != "" {
			t.Errorf("%s printed as %s: %v", a, Format(x, dict), err)
		}
	}
	same(`cites:010.50..20`, `cites:[10.5 TO 20.0]`)
	same(`cites:-0`, `cites=0.00`)
	same(`cites>-.5`, `cites:{-0.50 TO *]`)
	same(`cites:(-5 OR 7)`, `cites:(7, -5)`)
	for _, text := range []string{`cites:1e3`, `cites:x`, `cites:5..4`, `cites:{5 TO 5]`, `cites:--5`} {
		if _, err := Parse(text, dict); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

func TestCheck_HoldsEveryLimit(t *testing.T) {
	dict := cited(t)
	caps := []Capability{
		{Field: "cites", Ops: []Op{OpRange}, RangeMin: "0", RangeMax: "100"},
		{Field: "ti", Ops: termOps, TermMinLen: 2, TermMaxLen: 5, NegatableOps: []Op{}},
		{Field: "ab", Ops: []Op{OpTerm, OpExists}, NegatableOps: []Op{OpExists}, TermCaseSensitive: true},
		{Field: "type", Ops: listOps, InMaxSize: 2, TermPattern: "^[a-z]+$"},
		{Field: "pubdate", Ops: []Op{OpRange}, RangePrecision: PrecisionYear, RangeOpenStart: new(false), RangeMax: "2030"},
		{Field: "created", Ops: []Op{OpRange}, RangePrecision: PrecisionMonth},
		{Field: "updated", Ops: []Op{OpRange}, RangePrecision: PrecisionHour},
		{Field: "lang", Ops: termOps},
	}
	for text, want := range map[string]string{
		`cites:0..100`:               ``,
		`cites>=-1`:                  "src knows no `cites` before 0",
		`cites<=100.5`:               "src knows no `cites` after 100",
		`cites>5`:                    "src includes the bounds of `cites`; use >=, <=, [ and ]",
		`ti:abc`:                     ``,
		`ti:a`:                       "src needs at least 2 characters in `ti`",
		`ti:äöüßéa`:                  "src takes at most 5 characters in `ti`, not 6",
		`NOT ti:abc`:                 "src cannot exclude by `ti`",
		`NOT has:ab`:                 ``,
		`NOT ab:x`:                   "src cannot exclude by `ab`",
		`NOT (ti:abc OR NOT ab:x)`:   "src cannot exclude by `ti`",
		`ab:"x"cs`:                   ``,
		`type:(a, b, c)`:             "src takes 2 values of `type` at once, not 3",
		`type:a OR type:b OR type:c`: "src takes 2 values of `type` at once, not 3",
		`type:(a, B)`:                "line 1, column 10: \"B\" is no `type` to src",
		`type:(a, b)cs`:              "does not tell capital from small letters in `type`",
		`pubdate:2020`:               ``,
		`pubdate:2020-05`:            "src knows `pubdate` by the year only; give whole years",
		`pubdate<2020`:               "src needs a lower bound of `pubdate`",
		`pubdate:2030..2031`:         "src knows no `pubdate` after 2030",
		`created:2020-05`:            ``,
		`created:2020-05-02`:         "by the month only",
		`updated:2020-05-02T10`:      ``,
		`updated>=2020-05-02T10:30`:  "by the hour only",
		`lang:(a, b)`:                "src takes one value of `lang`, not several",
		`has:lang`:                   "src cannot ask whether there is a `lang`; fields it can: ab",
		`@src:"x"`:                   "src takes no text of its own language",
		`NOT *`:                      "NOT of everything finds nothing",
		`*`:                          ``,
	} {
		e, err := Parse(text, dict)
		if err != nil {
			t.Fatal(err)
		}
		got := Check(e, "src", caps)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got.Error(), want)) {
			t.Errorf("%s\n got %v\nwant %s", text, got, want)
		}
	}
	e, err := ParseJSON([]byte(`{"op":"AND","of":[{"op":"EXISTS","field":"ab"},{"op":"TERM","field":"ti","text":"a"}]}`), dict)
	if err != nil {
		t.Fatal(err)
	}
	if got := Check(e, "src", caps).Error(); got != "$.of[1]: src needs at least 2 characters in `ti`" {
		t.Errorf("from JSON: %s", got)
	}
}

func TestNewFieldDict_RefusesClashes(t *testing.T) {
	_, err := NewFieldDict([]Field{
		{Key: "ti", DataType: DataText, Aliases: []string{"title"}},
		{Key: "title", DataType: DataText},
		{Key: "Bad", DataType: "BLOB"},
		{Key: "not", DataType: DataText},
		{Key: "x", DataType: DataText, Date: true},
	})
	for _, want := range []string{"fields[1]: title names two fields", `"Bad" cannot name a field`, `"BLOB" is not known`, "not is a word of the query language", "a TEXT field cannot be a date"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("not reported: %s\n%v", want, err)
		}
	}
}

func TestRenderer_OutputIsBounded(t *testing.T) {
	long := strings.Repeat("x", 900)
	r := mustRenderer(t, Dialect{
		Source:       "wide",
		Params:       []ParamMap{{StdKey: KeyQuery, Name: "q"}, {StdKey: "p", Name: "p", Joiner: " "}},
		Capabilities: []Capability{{Field: "full", Ops: termOps}, {Field: "ti", Ops: termOps}, {Field: "type", Ops: listOps}},
		Rules: []Rule{
			{Op: OpAnd, Joiner: " "},
			{Field: "full", Op: OpTerm, Template: "${quote(value)}" + long},
			{Field: "ti", Op: OpTerm, Emit: EmitParams, Params: map[string][]string{"p": {long + "${urlsafe(value)}"}}},
			{Field: "type", Op: OpTerm, Template: "${quote(value)}"},
			{Field: "type", Op: OpIn, ItemTemplate: long + "${quote(value)}", Joiner: " "},
		},
	})
	words := make([]string, 100)
	for i := range words {
		words[i] = strings.Repeat("w", i+1)
	}
	for _, text := range []string{strings.Join(words, " "), "ti:(" + strings.Join(words, " ") + ")", "type:(" + strings.Join(words, ",") + ")"} {
		if _, err := r.Render(mustParse(t, text)); err == nil || !strings.Contains(err.Error(), "the rendered text is longer than 65536 bytes") {
			t.Errorf("%.20s: %.200v", text, err)
		}
	}
	out, err := r.Render(mustParse(t, `ti:"a b&api_key=1"`))
	if err != nil || out.Params["p"][0] != long+"a%20b%26api_key%3D1" {
		t.Errorf("%v %v", out, err)
	}
}
