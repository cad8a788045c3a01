package control

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"strconv"
	"strings"
)

// FailingPart is where in an item something is wrong, in bytes of its text.
type FailingPart struct {
	At  int `json:"at"`
	End int `json:"end"`
	// Present is as much of the path as leads somewhere; all of it if Found.
	Present string `json:"present,omitempty"`
	Found   bool   `json:"found"`
}

// Locate finds the place of an item, JSON or XML, that a path of its source's
// description leads to: the first if there are several, and if there is none the last
// part of the way that is there. It is nil if not even that can be found.
func Locate(item, path string) *FailingPart {
	if path == "" {
		return nil
	}
	if strings.HasPrefix(strings.TrimSpace(item), "<") {
		return locateXML(item, xmlSteps(path))
	}
	return locateJSON(item, jsonSteps(path))
}

// pathStep is a step of a path as far as it can be followed without its conditions:
// of several places that differ only in those the first is found.
type pathStep struct {
	name string // key or element; * for any
	list bool   // an element of an array
	at   int    // which, -1 for any
	attr bool   // an attribute
	text string // as it was written
}

// jsonSteps reads a path such as $.a.b[0].c[*] or a[type=print].d.
func jsonSteps(path string) []pathStep {
	path = strings.TrimPrefix(path, "$")
	var out []pathStep
	for path != "" {
		if inner, rest, is := bracketed(path); is {
			out = append(out, listStep(inner))
			path = rest
			continue
		}
		path = strings.TrimPrefix(path, ".")
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		if end > 0 {
			out = append(out, pathStep{name: path[:end], text: path[:end]})
			path = path[end:]
		} else if _, _, is := bracketed(path); !is {
			return out
		}
	}
	return out
}

// bracketed takes the part in brackets off the beginning of a path.
func bracketed(path string) (inner, rest string, is bool) {
	if !strings.HasPrefix(path, "[") {
		return "", path, false
	}
	return strings.Cut(path[1:], "]")
}

// listStep is a step in brackets: a key in quotes, a position, or a choice of elements.
func listStep(inner string) pathStep {
	text := "[" + inner + "]"
	if name := strings.Trim(inner, `'"`); name != inner {
		return pathStep{name: name, text: text}
	}
	if n, err := strconv.Atoi(inner); err == nil {
		return pathStep{list: true, at: n, text: text}
	}
	return pathStep{list: true, at: -1, text: text}
}

// xmlSteps reads a path such as MedlineCitation/Article or PMID/@Version. Names are
// compared without their prefixes.
func xmlSteps(path string) []pathStep {
	var out []pathStep
	for part := range strings.SplitSeq(path, "/") {
		name, _, _ := strings.Cut(part, "[")
		if name == "." || name == "" {
			continue
		}
		step := pathStep{text: part}
		name, step.attr = strings.CutPrefix(name, "@")
		if at := strings.LastIndex(name, ":"); at >= 0 {
			name = name[at+1:]
		}
		step.name = name
		out = append(out, step)
	}
	return out
}

// wayTaken is the longest part of a path that was found.
type wayTaken struct {
	steps []pathStep
	best  *FailingPart
	taken int // steps that lead to it
}

// reached notes a place that a number of steps lead to.
func (w *wayTaken) reached(taken, at, end int) {
	if w.best != nil && taken <= w.taken {
		return
	}
	w.taken = taken
	w.best = &FailingPart{At: at, End: end, Found: taken == len(w.steps)}
	for i, s := range w.steps[:taken] {
		if i > 0 && !s.list {
			w.best.Present += "."
		}
		w.best.Present += s.text
	}
}

// deepest bounds how deep an item is followed.
const deepest = 1000

var errTooDeep = errors.New("nested too deep")

type jsonWay struct {
	wayTaken
	text string
	dec  *json.Decoder
}

func locateJSON(item string, steps []pathStep) *FailingPart {
	w := jsonWay{wayTaken: wayTaken{steps: steps}, text: item, dec: json.NewDecoder(strings.NewReader(item))}
	w.dec.UseNumber()
	_ = w.value(0, 0, true) // where the item cannot be read, what was found before is told
	if w.best != nil && w.taken == 0 && !w.best.Found {
		return nil
	}
	return w.best
}

// value reads the next value. It is on the way if so many steps lead to it.
func (w *jsonWay) value(taken, depth int, onWay bool) error {
	if depth > deepest {
		return errTooDeep
	}
	at := w.next()
	t, err := w.dec.Token()
	if err != nil {
		return err
	}
	if open, is := t.(json.Delim); is {
		for i := 0; w.dec.More(); i++ {
			follows := onWay && taken < len(w.steps)
			if open == '{' {
				key, err := w.dec.Token()
				if err != nil {
					return err
				}
				follows = follows && !w.steps[taken].list && (w.steps[taken].name == "*" || w.steps[taken].name == key)
			} else {
				follows = follows && w.steps[taken].element(i)
			}
			if err := w.value(taken+1, depth+1, follows); err != nil {
				return err
			}
		}
		if _, err := w.dec.Token(); err != nil {
			return err
		}
	}
	if onWay {
		w.reached(taken, at, int(w.dec.InputOffset()))
	}
	return nil
}

// element reports whether a step leads to an element of an array.
func (s pathStep) element(i int) bool {
	if s.list {
		return s.at < 0 || s.at == i
	}
	return s.name == strconv.Itoa(i)
}

// next is where the next value begins.
func (w *jsonWay) next() int {
	at := int(w.dec.InputOffset())
	for at < len(w.text) && strings.IndexByte(" \t\r\n:,", w.text[at]) >= 0 {
		at++
	}
	return at
}

func locateXML(item string, steps []pathStep) *FailingPart {
	w := wayTaken{steps: steps}
	dec := xml.NewDecoder(strings.NewReader(item))
	dec.Strict = false
	type open struct {
		at, taken int
		onWay     bool
	}
	var path []open
	for {
		at := int(dec.InputOffset())
		t, err := dec.RawToken()
		if err != nil || len(path) > deepest {
			break
		}
		switch e := t.(type) {
		case xml.StartElement:
			here := open{at: at, onWay: true}
			if len(path) > 0 {
				above := path[len(path)-1]
				here.taken = above.taken + 1
				here.onWay = above.onWay && above.taken < len(steps) && steps[above.taken].names(e.Name.Local)
			}
			path = append(path, here)
			if here.onWay && here.taken < len(steps) && steps[here.taken].attr && hasAttr(e, steps[here.taken].name) {
				w.reached(here.taken+1, at, int(dec.InputOffset()))
			}
		case xml.EndElement:
			if len(path) == 0 {
				continue
			}
			here := path[len(path)-1]
			path = path[:len(path)-1]
			if here.onWay {
				w.reached(here.taken, here.at, int(dec.InputOffset()))
			}
		}
	}
	if w.best != nil && w.taken == 0 && !w.best.Found {
		return nil
	}
	return w.best
}

// names reports whether a step leads to an element of that name.
func (s pathStep) names(name string) bool { return !s.attr && (s.name == "*" || s.name == name) }

func hasAttr(e xml.StartElement, name string) bool {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return true
		}
	}
	return false
}
