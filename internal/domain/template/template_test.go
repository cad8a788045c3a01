package template

import (
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// given is a value of every type that a template can read.
type given struct {
	Text   string            `expr:"text_"`
	Number int64             `expr:"number"`
	On     bool              `expr:"on"`
	List   []string          `expr:"list"`
	At     Instant           `expr:"at"`
	Asked  Raw               `expr:"asked"`
	Done   Encoded           `expr:"done"`
	Some   map[string]string `expr:"some"`
	In     struct {
		Text string `expr:"text"`
	} `expr:"in_"`
}

var givenVars = NewVars(given{})

func someGiven() given {
	g := given{
		Text:   "Text",
		Number: 7,
		List:   []string{"https://x.org/1", "HTTPS://X.org/2"},
		At:     At(time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)),
		Asked:  Asked(`a "b"`),
		Done:   Safe("done"),
		Some:   map[string]string{"key": "value"},
	}
	g.In.Text = "inner"
	return g
}

func TestRender_EveryFunction(t *testing.T) {
	cases := map[string]string{
		"plain $ text":                       "plain $ text",
		"$${x} $$ $":                         "${x} $$ $",
		"a${text_}b${number}c":               "aTextb7c",
		"${in_.text}${some.key}${some.none}": "innervalue",
		"${date(at, '2006/01/02')}":          "2024/03/01",
		"${iso(at)}":                         "2024-03-01T00:00:00Z",
		"${at}":                              "2024-03-01T00:00:00Z",
		"${epoch(at)} ${epochms(at)}":        "1709251200 1709251200000",

		"${iso(time('2024-05-01T02:00:00+02:00'))}":     "2024-05-01T02:00:00+02:00",
		"${iso(time('2024-05-01T23:59:59.999Z'))}":      "2024-05-01T23:59:59.999Z",
		"${time('2024-05-01T23:59:59.999999Z')}":        "2024-05-01T23:59:59.999999Z",
		"${iso(time('2024-05-01T23:59:59.500000Z'))}":   "2024-05-01T23:59:59.5Z",
		"${iso(exclusive_year(at))}":                    "2024-01-01T00:00:00Z",
		"${iso(exclusive_month(at))}":                   "2024-02-01T00:00:00Z",
		"${iso(exclusive_day(at))}":                     "2024-02-29T00:00:00Z",
		"${iso(exclusive_hour(at))}":                    "2024-02-29T23:00:00Z",
		"${iso(exclusive_minute(at))}":                  "2024-02-29T23:59:00Z",
		"${iso(exclusive_second(at))}":                  "2024-02-29T23:59:59Z",
		"${join(list, ',')}":                            "https://x.org/1,HTTPS://X.org/2",
		"${join(cut(list, 'https://x.org/'), '|')}":     "1|2",
		"${json(list)}":                                 `["https://x.org/1","HTTPS://X.org/2"]`,
		"${cut(text_, 'TE')}":                           "xt",
		"${lower(text_)}${upper(text_)}":                "textTEXT",
		"${'n' + text(number)}":                         "n7",
		"${path('a/b')}":                                "a/b",
		"${coalesce('', some.none, text_)}":             "Text",
		"${default('', 'x')}":                           "x",
		"${quote(asked)}":                               `"a \"b\""`,
		"${filter(lower(asked))}":                       `a "b"`,
		"${urlsafe(asked)}":                             "a%20%22b%22",
		"${default(entrez_phrase(asked), 'x')}":         `"a b"`,
		"${done}":                                       "done",
		"${plain(text_)}":                               "Text",
		"${asked | lower() | quote()}":                  `"a \"b\""`,
		"${on ? 'y' : 'n'}${not on ? 'y' : 'n'}":        "ny",
		"${number > 5 and number != 8 ? 1 + 2 * 3 : 0}": "7",
		"${'ex' in ['ex', 'y']} ${text_ contains 'ex'}": "true true",
		"${text_ startsWith 'T'} ${text_ endsWith 'T'}": "true false",
		"${some['key'] ?? 'x'}${list[0]}":               "valuehttps://x.org/1",
		"${'}'}${\"{\"}${`\\`}":                         `}{\`,
	}
	for in, want := range cases {
		tpl, err := givenVars.Parse(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got, err := tpl.Render(someGiven()); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, name := range FunctionNames() {
		called := slices.ContainsFunc(slices.Collect(maps.Keys(cases)), func(s string) bool { return strings.Contains(s, name+"(") })
		if !called && !slices.Contains(Encoders(), name) {
			t.Errorf("no case calls %s", name)
		}
	}
}

// TestR51_ValuesKeepTheirPlace: what somebody asked for becomes text through an
// encoder only, and what an encoder has made is not taken apart, whatever way an
// expression goes about it.
func TestR51_ValuesKeepTheirPlace(t *testing.T) {
	for _, in := range []string{
		"${asked}", "${'x' + asked}", "${asked + 'x'}", "${not on ? asked : 'x'}", "${on ? 'x' : asked}", "${default(asked, 'x')}", "${coalesce('', asked)}", "${text(asked)}",
		"${lower(asked)}", "${cut(asked, 'a')}", "${asked ?? 'x'}", "${join([asked], ',')}", "${[asked][0]}", "${asked.text}", "${asked[0]}", "${path(asked)}", "${time(asked)}", "${json([asked])}",
		"${'x' + quote(asked)}", "${quote(asked) + 'x'}", "${cut(quote(asked), 'x')}", "${lower(quote(asked))}", "${cut(default(quote(asked), 'x'), '\"')}",
		"${'x' + default(quote(asked), 'y')}", "${'x' + text(quote(asked))}", "${(on ? 'x' : quote(asked)) + 'y'}", "${path(default(quote(asked), ''))}", "${filter(quote(asked))}",
		"${'x' + plain(asked)}", "${'x' + default(plain(asked), 'y')}", "${lower(plain(asked))}", "${quote(default(plain(asked), ''))}", "${'x' + done}", "${cut(done, 'd')}",
		"${asked == 'a'}", "${asked contains 'a'}", "${'a' in [asked]}", "${asked < 'b'}",
	} {
		tpl, err := givenVars.Parse(in)
		if err != nil {
			continue
		}
		if got, err := tpl.Render(someGiven()); err == nil && got != "false" {
			t.Errorf("%s: rendered %q", in, got)
		}
	}
}

// TestR51_OnlyThePlainestSyntax: no loops, closures, bindings or methods, no
// function but those of the table, and no way to what was not declared.
func TestR51_OnlyThePlainestSyntax(t *testing.T) {
	for in, want := range map[string]string{
		"${": "the closing } is missing", "${}": "the expression is empty", "${ }": "the expression is empty", "${'x}": "a quote is not closed",
		"${other}":                              "variable other is not known: ",
		"${in_}":                                "variable in_ is not known",
		"${in_.txt}":                            "variable in_.txt is not known: did you mean in_.text?",
		"${some.key.more}":                      "variable some.key.more is not known",
		"${some}":                               "variable some is not known",
		"${list}":                               "a list has no text of its own: use join() or json()",
		"${lowr(text_)}":                        "function lowr is not known: did you mean lower?",
		"${at.Format('2006')}":                  "only the functions of templates can be called",
		"${at.at}":                              "variable at.at is not known",
		"${date(text_, '2006')}":                "date does not take (text, text), only date(instant, text)",
		"${date(exclusive_day(text_), '2006')}": "exclusive_day does not take (text), only exclusive_day(instant)",
		"${quote(lower(at))}":                   "lower does not take (instant), only lower(text) or lower(value as asked for)",
		"${join(list)}":                         "not enough arguments to call join",
		"${now()}":                              "function now is not known",
		"${len(list)}":                          "function len is not known",
		"${map(list, #)}":                       "function map is not known",
		"${list | filter(# == 'a')}":            "",
		"${::filter(list, # == 'a')}":           "cannot be called so",
		"${reduce(list, #acc + #)}":             "",
		"${repeat('a', 99)}":                    "function repeat is not known",
		"${1..1000000000}":                      "operator .. does not belong in a template",
		"${let a = 'x'; a + a}":                 "VariableDeclaratorNode does not belong in a template",
		"${'a' matches '(a+)+'}":                "operator matches does not belong in a template",
		"${2 ** 999}":                           "operator ** does not belong in a template",
		"${$env}":                               "variable $env is not known",
		"${$env['some']}":                       "variable $env.some is not known",
		"${{'a': 1}}":                           "MapNode does not belong in a template",
		"${list[0:2]}":                          "SliceNode does not belong in a template",
		"${(() => 1)()}":                        "",
		"${if on {1} else {2}}":                 "",
		"${'x'; 'y'}":                           "",
		"${secret.key}":                         "variable secret.key is not known",
		"${date(at, '2006') + number}":          "invalid operation: + (mismatched types text and number)",
		"${fromJSON('{}')}${toJSON(1)}":         "function fromJSON is not known",
	} {
		_, err := givenVars.Parse(in)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q in one line", in, err, want)
		}
	}
}

// TestParse_Limits: each limit holds one step above, and not below.
func TestParse_Limits(t *testing.T) {
	nested := func(n int) string { return "${" + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) + "}" }
	sum := func(n int) string { return "${1" + strings.Repeat("+1", n) + "}" }
	for name, c := range map[string]struct{ good, bad, why string }{
		"length": {strings.Repeat("x", MaxText), strings.Repeat("x", MaxText+1), "the template is longer than 16384 bytes"},
		"depth":  {nested(maxDepth), nested(maxDepth + 1), "brackets are nested deeper than 32"},
		"nodes":  {sum(99), sum(100), "exceeds maximum allowed nodes"},
	} {
		if _, err := givenVars.Parse(c.good); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := givenVars.Parse(c.bad); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want %s", name, err, c.why)
		}
	}
	// A bracket in quotes is no bracket, and every kind of them counts.
	if _, err := givenVars.Parse("${'" + strings.Repeat("(", 100) + "'}"); err != nil {
		t.Error(err)
	}
	if _, err := givenVars.Parse("${" + strings.Repeat("[", 5000)); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("open brackets: %v", err)
	}
}

// TestRender_Limits: the work of the longest expression is bounded, which is seen
// by what it allocates, whatever the machine is busy with.
func TestRender_Limits(t *testing.T) {
	g := someGiven()
	g.List = []string{strings.Repeat("x", MaxRendered-1)}
	render := func(in string) (string, error) {
		tpl, err := givenVars.Parse(in)
		if err != nil {
			t.Fatalf("%.60s: %v", in, err)
		}
		return tpl.Render(g)
	}
	if got, err := render("${list[0]}y"); err != nil || len(got) != MaxRendered {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, in := range []string{"${list[0]}yy", "${list[0] + 'yy'}", "${join(list, 'yy')}", "${list[0]}${list[0]}"} {
		if got, err := render(in); err == nil {
			t.Errorf("%s: %d bytes", in, len(got))
		}
	}
	long, err := givenVars.Parse("${list[0] + 'yy'}")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := long.Parts[0].Eval(g); err == nil || !strings.Contains(err.Error(), "gives more than 1048576 bytes") {
		t.Errorf("alone: %d bytes, %v", len(v.Text), err)
	}
	most := "${list[0]" + strings.Repeat(" + list[0]", 40) + "}"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if got, err := render(most); err == nil {
		t.Errorf("%d bytes", len(got))
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
		t.Errorf("the greatest sum took %d MiB", used>>20)
	}
	for _, in := range []string{"${'\\n'}", "${'\\u0000'}", "line\nbreak", "a\rb"} {
		if _, err := render(in); !errors.Is(err, ErrControl) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// TestEval_AbsentStaysAbsent: a bound that is not given is nil, and cannot become
// half of a text.
func TestEval_AbsentStaysAbsent(t *testing.T) {
	vars := NewVars(map[string]any{"at": Instant{}, "asked": Raw{}, "text_": ""})
	for in, want := range map[string]string{
		"${default(date(exclusive_day(at), '2006'), '*')}": "*",
		"${default(quote(lower(asked)), 'x')}":             "x",
		"${default(text_, '1000')}":                        "1000",
		"${date(at, '2006')}":                              "",
		"${at == nil ? 'none' : iso(at)}":                  "none",
	} {
		tpl, err := vars.Parse(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got, err := tpl.Render(map[string]any{}); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"${'from:' + date(at, '2006')}", "${'from:' + text_}", "${text(text_) + 'x'}"} {
		tpl, err := vars.Parse(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got, err := tpl.Render(map[string]any{}); err == nil {
			t.Errorf("%s: %q", in, got)
		}
	}
}

func TestParse_NamesCallsAndBlanks(t *testing.T) {
	tpl, err := givenVars.WithBlanks("secret").Parse("a${ secret.key }b${default(some.key, text(number)) + in_.text}")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(tpl.Names(), " "); got != "some.key number in_.text" {
		t.Errorf("names: %s", got)
	}
	if got := strings.Join(tpl.Blanks(), " "); got != "key" {
		t.Errorf("blanks: %s", got)
	}
	if got := strings.Join(tpl.Parts[3].Calls, " "); got != "default text" {
		t.Errorf("calls: %s", got)
	}
	if _, err := givenVars.WithBlanks("secret").Parse("${lower(secret.key)}"); err == nil || !strings.Contains(err.Error(), "a secret stands alone, as in ${secret.NAME}") {
		t.Errorf("%v", err)
	}
}

// TestFromPipes writes every form that packs had in today's.
func TestFromPipes(t *testing.T) {
	for in, want := range map[string]string{
		"{{value}}":                         "${value}",
		"{{items}}":                         "${items}",
		"-({{items}})":                      "-(${items})",
		"TITLE:{{value|quote}}":             "TITLE:${quote(value)}",
		"{{ value | lower | filter }}":      "${filter(lower(value))}",
		"{{from}}-{{to}}":                   "${from}-${to}",
		"{{from|default:1000}}":             "${default(from, '1000')}",
		"{{from|entrez_word|default:1}}":    "${default(entrez_word(from), '1')}",
		"{{from|date:2006-01-02T15:04:05}}": "${date(from, '2006-01-02T15:04:05')}",
		"{{to|exclusive_day|date:2006/01/02|default:3000/12/31}}": "${default(date(exclusive_day(to), '2006/01/02'), '3000/12/31')}",
		"doi:{{value|strip:https://doi.org/|lower|filter}}":       "doi:${filter(lower(cut(value, 'https://doi.org/')))}",
		`{{value|strip:it's \|quote}}`:                            `${quote(cut(value, 'it\'s \\'))}`,
	} {
		if got, isOlder := FromPipes(in); !isOlder || got != want {
			t.Errorf("%s: %s, %v; want %s", in, got, isOlder, want)
		}
	}
	for _, in := range []string{"", "plain", "${quote(value)}", "{{value", "}}", "{{value}} ${value}"} {
		if got, isOlder := FromPipes(in); isOlder || got != in {
			t.Errorf("%s was taken for the older form: %s", in, got)
		}
	}
	for in, want := range map[string]string{
		"upper":                         "${upper(value)}",
		"exclusive_day|date:2006/01/02": "${date(exclusive_day(time(value)), '2006/01/02')}",
		"epochms":                       "${epochms(time(value))}",
		"strip:a|lower":                 "${lower(cut(value, 'a'))}",
	} {
		if got, isOlder := FromChain(in); !isOlder || got != want {
			t.Errorf("%s: %s, %v; want %s", in, got, isOlder, want)
		}
	}
}

// FuzzRender: whatever a template says and whatever the values are, what comes out
// is bounded, holds no control character, and shows nothing of a value that was
// asked for but what an encoder made of it.
func FuzzRender(f *testing.F) {
	for _, s := range []string{
		"${date(at, '2006/01/02')}", "a${join(list, ',')}b", "${on ? 'y' : ''}", "$${x}", "${'}'}", "${let a=1;a}", "${list[0]+text_}", "${quote(asked)}", "${default(asked, text_)}",
		"${lower(asked) | quote()}", "${cut(default(quote(asked), ''), text_)}", "${[asked][0]}", "${asked ?? 'x'}", "${(on ? asked : 'x') + text_}",
	} {
		f.Add(s, "tok\r\nX: y")
	}
	const secret = "zq\x01qz" // no encoder leaves it whole, and no template holds it
	f.Fuzz(func(t *testing.T, in, text string) {
		tpl, err := givenVars.parse(in)
		if err != nil || strings.Contains(in+text, "zq") {
			return
		}
		g := someGiven()
		g.Text = text
		g.List = []string{text, text}
		g.Asked = Asked(secret)
		out, err := tpl.Render(g)
		if err != nil {
			return
		}
		if strings.ContainsAny(out, "\r\n\x00") || len(out) > MaxRendered {
			t.Errorf("%q rendered %q", in, out)
		}
		encoded := slices.ContainsFunc(tpl.Parts, func(p Part) bool {
			return slices.ContainsFunc(p.Calls, func(name string) bool { return slices.Contains(Encoders(), name) })
		})
		if strings.Contains(out, secret) && !encoded {
			t.Errorf("%q rendered %q", in, out)
		}
	})
}

// A layout tells what changes when the instant does. The day of the week is no day, and the
// hour of a clock of twelve without its half no hour.
func TestTells(t *testing.T) {
	for layout, want := range map[string][]Unit{
		"2006-01-02":                     Units[:3],
		"Monday, 2 Jan 06":               Units[:3],
		"2006-002":                       Units[:3],
		"2006-01":                        Units[:2],
		"2006-MM-DD":                     Units[:1],
		"YYYY-01-02":                     Units[1:3],
		"YYYY-MM-DD":                     nil,
		"%Y-%m-%d":                       nil,
		"Mon":                            nil,
		"":                               nil,
		"15:04":                          Units[3:5],
		"03:04:05":                       Units[4:6],
		"03:04:05 PM":                    Units[3:6],
		"2006-01-02T15:04:05Z07:00":      Units[:6],
		"2006-01-02T15:04:05.000Z":       Units[:7],
		"2006-01-02T15:04:05.999999999Z": Units,
	} {
		var got []Unit
		for _, u := range Units {
			if Tells(layout, u) {
				got = append(got, u)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q tells %v, want %v", layout, got, want)
		}
	}
}

func TestParse_LayoutsThatTellNothingAreRefused(t *testing.T) {
	for _, text := range []string{"${date(at, 'YYYY-MM-DD')}", "${date(at, '%Y-%m-%d')}", "${on ? date(exclusive_day(at), '') : ''}", "${at | date('today')}"} {
		_, err := givenVars.Parse(text)
		if err == nil || !strings.Contains(err.Error(), "the same text for every instant") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
