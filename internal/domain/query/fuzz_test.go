package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/papertrace/patra/internal/domain/template"
)

var seedTexts = []string{
	`tiab:"breast cancer" AND year:2020..2024 AND NOT type:review`,
	`a b OR (c NOT "d \" e")`, `title:(x OR "y z" au:w*)`, `type:(a, "b c",)cs`, `pubdate:[2020-05 TO 2021-01-01T10:00:00.5+02:00}`,
	`year>=2020 year<2024`, `has:abstract NOT oa:no`, `@pubmed:"x[sb]" *`, `\AND \-5 a\:b`, `doi:10.1/a..10.2/b`, `ti="x"cs`, `full:癌*`,
	`((((a))))`, `NOT NOT NOT a`, `year:..2020`, `f:(`, `"`, `[`, `a..`, `ti:(a,`, "ti:\"a\nb\"", `pubdate:(2020, 2021-05)`, `pmid:["1" TO *]`,
}

func FuzzParse(f *testing.F) {
	for _, s := range seedTexts {
		f.Add(s)
	}
	dict, renderer := Default(), mustRenderer(f, pubmed())
	f.Fuzz(func(t *testing.T, text string) {
		began := time.Now()
		e, err := Parse(text, dict)
		if d := time.Since(began); d > 5*time.Second {
			t.Fatalf("took %v", d)
		}
		if err != nil {
			for _, p := range problemsOf(t, err) {
				if p.Message == "" || p.At.Start < 0 || p.At.Start > len(text) || p.At.End < p.At.Start {
					t.Fatalf("problem out of place: %+v", p)
				}
				if shown := p.Show(text); len(shown) > 8<<10 || !utf8.ValidString(shown) {
					t.Fatalf("shown: %q", shown)
				}
			}
			return
		}
		if nodes, depth := size(e); nodes > MaxNodes || depth > MaxDepth {
			t.Fatalf("%d nodes, depth %d", nodes, depth)
		}
		if _, err := renderer.Render(e); err != nil {
			problemsOf(t, err)
		}
	})
}

func problemsOf(t *testing.T, err error) Problems {
	t.Helper()
	p, ok := errors.AsType[Problems](err)
	if !ok || len(p) == 0 {
		t.Fatalf("error without problems: %v", err)
	}
	return p
}

func FuzzParsePrintParse(f *testing.F) {
	for _, s := range seedTexts {
		f.Add(s)
	}
	dict := Default()
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text, dict)
		if err != nil {
			return
		}
		printed := Format(e, dict)
		again, err := Parse(printed, dict)
		if err != nil {
			t.Fatalf("%q printed as %q: %v", text, printed, err)
		}
		if d := cmp.Diff(e, again, noPlaces); d != "" {
			t.Fatalf("%q printed as %q: -want +got\n%s", text, printed, d)
		}
		if twice := Format(again, dict); twice != printed {
			t.Fatalf("printed as %q, then as %q", printed, twice)
		}
		canonical := Canonical(e)
		back, err := ParseJSON(JSON(canonical), dict)
		if err != nil {
			t.Fatalf("%s: %v", JSON(canonical), err)
		}
		if Hash(back) != Hash(e) {
			t.Fatalf("hash changed on the way through JSON: %s", JSON(canonical))
		}
		shown, err := Parse(Format(canonical, dict), dict)
		if err != nil || Hash(shown) != Hash(e) {
			t.Fatalf("canonical form printed as %s: %v", Format(canonical, dict), err)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range seedTexts {
		if e, err := Parse(s, Default()); err == nil {
			f.Add(JSON(e))
		}
	}
	f.Add([]byte(`{"op":"AND","of":[{"op":"RANGE","field":"year","from":{"value":2020,"open":true}},{}]}`))
	f.Add([]byte(`{"op":"NOT","of":[{"op":"IN","field":"type","values":[1,true,"x"]}]}`))
	dict := Default()
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := ParseJSON(data, dict)
		if err != nil {
			for _, p := range problemsOf(t, err) {
				// The limits of the whole have no path.
				if p.At.Path == "" && !strings.Contains(p.Message, "the query") {
					t.Fatalf("problem without path: %v", p)
				}
			}
			return
		}
		back, err := ParseJSON(JSON(e), dict)
		if err != nil {
			t.Fatalf("%s: %v", JSON(e), err)
		}
		if d := cmp.Diff(e, back, noPlaces); d != "" {
			t.Fatalf("-want +got\n%s", d)
		}
		text, err := Parse(Format(e, dict), dict)
		if err != nil || Hash(text) != Hash(e) {
			t.Fatalf("%s as text %q: %v", JSON(e), Format(e, dict), err)
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{
		"${quote(value)}[ti]", "${default(date(from, '2006/01/02'), '1800')}:${date(exclusive_day(to), '2006')}", "${entrez_word(lower(cut(value, 'a')))}", "${", "}}", "${x(value, 'y')}", "${items}",
		"{{value|quote}}[ti]", "{{from|date:2006/01/02|default:1800}}:{{to|exclusive_day|date:2006}}", "{{value|strip:a|lower|entrez_word}}", "{{", "{{value|x:y}}", "{{items}}",
	} {
		f.Add(s, "breast cancer")
	}
	names := places{"value": template.Raw{}, "from": template.Instant{}, "to": template.Instant{}, "items": template.Encoded{}}
	f.Fuzz(func(t *testing.T, text, value string) {
		tpl, err := compileTemplate(text, names)
		if err != nil {
			return
		}
		at := template.At(day("2024-05-01"))
		out, err := execute(tpl, places{"value": template.Asked(value), "from": at, "to": at, "items": template.Safe("i")})
		if err != nil {
			return
		}
		if len(out) > MaxRendered || cleanText(out) != nil {
			t.Fatalf("%q with %q gives %q", text, value, out)
		}
	})
}

// hostile puts a value everywhere a source takes one. The structure does not
// depend on the value, but for the number of its words.
func hostile(source, v string) Expr {
	each := func(of ...Expr) Expr { return And{Of: of} }
	switch source {
	case "pubmed":
		return each(phrase("ti", v), words("tiab", v), prefix("au", v), exact("mesh", v), In{Field: "type", Values: []Value{{Text: v}, {Text: "review"}}},
			Not{Of: phrase("jo", v)}, Or{Of: []Expr{phrase("kw", v), phrase("af", v)}}, years("2020", ""))
	case "europepmc":
		return each(phrase("ti", v), words("tiab", v), prefix("au", v), exact("doi", v), In{Field: "type", Values: []Value{{Text: v}, {Text: "review"}}},
			Not{Of: phrase("jo", v)}, Or{Of: []Expr{phrase("kw", v), phrase("af", v)}}, years("2020", ""))
	case "crossref":
		// In one filter only: what broke out of two would be refused as said twice.
		return each(words("full", v), In{Field: "type", Values: []Value{{Text: v}, {Text: "review"}}}, years("2020", ""))
	}
	return each(words("tiab", v), phrase("ti", v), exact("doi", v), In{Field: "type", Values: []Value{{Text: v}, {Text: "review"}}}, Not{Of: exact("lang", v)},
		Or{Of: []Expr{phrase("full", v), phrase("full", "other")}}, years("2020", ""))
}

// benign has as many different words as v, all harmless.
func benign(v string) string {
	unique := strings.Fields(v)
	slices.Sort(unique)
	var out []string
	for i := range slices.Compact(unique) {
		out = append(out, fmt.Sprintf("word%d", i))
	}
	return strings.Join(out, " ")
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{
		"breast cancer", `x"[ti] OR "y`, `[tiab]`, `a" OR 1=1`, `x,type:y`, `x,funder:y`, `a|b`, `!a`, `AND`, `NOT x OR y`, `\`, `\"`, `a\`, `(`, `) OR (`, `x:y`, `#1`, `a*`, `*`,
		`“x” OR “y”`, `＂x＂`, "a\u2028b", `&api_key=1`, `../x`, `%0d%0aX: y`, `{{value}}`, `a..b`, `10.1016/S0140-6736(20)30183-5`, `1:9999[uid]`, `-x`, `+x`, `~2`, `^3`, `x TO y`,
		"e\u0301", `癌症 "研究"`, `<b>`, `>5`,
	} {
		f.Add(s)
	}
	renderers := make(map[string]*Renderer)
	for name, d := range dialects() {
		renderers[name] = mustRenderer(f, d)
	}
	f.Fuzz(func(t *testing.T, v string) {
		if len(v) > 1000 || cleanText(v) != nil || plainText(v) == "" || strings.EqualFold(plainText(v), "review") || plainText(v) == "other" {
			return
		}
		for name, r := range renderers {
			out, err := r.Render(hostile(name, v))
			if err != nil {
				continue // refused is safe
			}
			plain, err := r.Render(hostile(name, benign(v)))
			if err != nil {
				t.Fatalf("%s refuses %q: %v", name, benign(v), err)
			}
			got, err := skeleton(name, r, out)
			if err != nil {
				t.Fatalf("%s: %q broke out: %v\n%v", name, v, err, out)
			}
			want, err := skeleton(name, r, plain)
			if err != nil {
				t.Fatalf("%s: scanner: %v\n%v", name, err, plain)
			}
			if got != want {
				t.Fatalf("%s: %q changed the structure\n got %s\nwant %s\n%v", name, v, got, want, out)
			}
		}
	})
}

// skeleton reads a rendered query as the source does and leaves out the values.
func skeleton(source string, r *Renderer, out Rendered) (string, error) {
	switch source {
	case "pubmed":
		return entrezSkeleton(out.Query)
	case "europepmc":
		return luceneSkeleton(out.Query)
	}
	list := slices.Clone(out.Params[KeyFilter])
	joined := strings.Join(list, ",")
	var parts []string
	for one := range strings.SplitSeq(joined, ",") {
		name, value, ok := strings.Cut(one, ":")
		if !ok {
			return "", fmt.Errorf("%q is no filter", one)
		}
		mark := ""
		if source == "openalex" {
			if strings.HasPrefix(value, "!") {
				mark, value = "!", value[1:]
			}
			if strings.ContainsAny(value, "!<>+\\") || strings.Count(value, `"`)%2 != 0 {
				return "", fmt.Errorf("marks in %q", value)
			}
			mark += strings.Repeat("|", strings.Count(value, "|"))
			if strings.HasSuffix(name, ".search") {
				s, err := luceneSkeleton(value)
				if err != nil {
					return "", err
				}
				mark += s
			}
		}
		parts = append(parts, name+mark)
	}
	return strings.Join(parts, ","), nil
}

// entrezSkeleton: quotes without escapes, tags in brackets, no other marks.
func entrezSkeleton(s string) (string, error) {
	var out []string
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == ' ':
			s = s[n:]
		case r == '(' || r == ')':
			out = append(out, string(r))
			s = s[n:]
		case r == '"':
			inner, rest, ok := strings.Cut(s[1:], `"`)
			if !ok || strings.ContainsAny(inner, "[]“”＂") {
				return "", fmt.Errorf("quote in %q", s)
			}
			out, s = append(out, "V"), rest
		case r == '[':
			tag, rest, ok := strings.Cut(s[1:], "]")
			if !ok || strings.Trim(tag, "abcdefghijklmnopqrstuvwxyz") != "" {
				return "", fmt.Errorf("tag in %q", s)
			}
			out, s = append(out, "["+tag+"]"), rest
		default:
			end := strings.IndexAny(s, ` ()"[`)
			if end < 0 {
				end = len(s)
			}
			word := s[:end]
			s = s[end:]
			switch {
			case word == "AND" || word == "OR" || word == "NOT" || word == "2020:3000":
				out = append(out, word)
			case strings.ContainsFunc(strings.TrimSuffix(word, "*"), func(r rune) bool {
				return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '-'
			}):
				return "", fmt.Errorf("mark in bare word %q", word)
			default:
				out = append(out, "V")
			}
		}
	}
	return strings.Join(out, " "), nil
}

// luceneSkeleton: quotes and words with backslash escapes, FIELD:, [a TO b].
func luceneSkeleton(s string) (string, error) {
	var out []string
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == ' ':
			s = s[n:]
		case r == '(' || r == ')':
			out = append(out, string(r))
			s = s[n:]
		case r == '[':
			inner, rest, ok := strings.Cut(s, "]")
			if !ok || inner != "[2020 TO *" {
				return "", fmt.Errorf("range in %q", s)
			}
			out, s = append(out, "R"), rest
		case r == '"':
			i := 1
			for ; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			if i >= len(s) {
				return "", fmt.Errorf("quote in %q", s)
			}
			out, s = append(out, "V"), s[i+1:]
		default:
			i := 0
			for i < len(s) && !strings.ContainsRune(` ()":`, rune(s[i])) {
				if s[i] == '\\' {
					_, m := utf8.DecodeRuneInString(s[i+1:])
					i += m
				} else if strings.ContainsRune(`[]{}~^?+!&|/`, rune(s[i])) {
					return "", fmt.Errorf("mark in %q", s)
				}
				i++
			}
			word := s[:i]
			s = s[i:]
			switch {
			case strings.HasPrefix(s, ":"):
				if strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" || word == "" {
					return "", fmt.Errorf("field %q", word)
				}
				out, s = append(out, word+":"), s[1:]
			case word == "AND" || word == "OR" || word == "NOT":
				out = append(out, word)
			default:
				out = append(out, "V")
			}
		}
	}
	return strings.Join(out, " "), nil
}
