package control

import (
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// Explanation is what a code or a state means.
type Explanation struct {
	Code string `json:"code"`
	// Kind of word it is: a group of codes, or what is in such a state.
	Kind string `json:"kind"`
	// Means is what happened, or what the state is.
	Means string `json:"means"`
	// Does is what patra does about it, Do what a person can; of a code only.
	Does string `json:"does,omitempty"`
	Do   string `json:"do,omitempty"`
}

// ExplanationList is what `patra explain` prints.
type ExplanationList struct {
	Explained []Explanation `json:"explained"`
}

// UnknownCodeError says that a word is none that patra uses itself.
type UnknownCodeError struct{ Word string }

func (e *UnknownCodeError) Error() string {
	return fmt.Sprintf("%q is no code or state of patra's own", e.Word)
}

// Problem implements problem.Error.
func (e *UnknownCodeError) Problem() problem.Problem {
	return problem.Problem{
		Code: "unknown_code", Kind: problem.NotFound,
		Next: "`patra explain` lists them; a source's description may declare more under faults: patra source show NAME",
	}
}

// ExplainCode says what a word means, in every sense it has: a code is one thing, a state
// such as FAILED may be that of a plan, a slice, a task. Without a word it lists all.
func ExplainCode(word string) (ExplanationList, error) {
	word = strings.TrimSpace(word)
	if word == "" {
		return ExplanationList{Explained: allExplained()}, nil
	}
	var out ExplanationList
	code := harvest.Code(strings.ToLower(word))
	if m, known := code.Meaning(); known {
		out.Explained = append(out.Explained, explained(m))
	}
	for _, e := range append(refusalsExplained(), wordsExplained()...) {
		if strings.EqualFold(e.Code, word) {
			out.Explained = append(out.Explained, e)
		}
	}
	if len(out.Explained) == 0 {
		return out, &UnknownCodeError{word}
	}
	return out, nil
}

// allExplained is every code of a fault and of a refusal, then every state and other word
// of the tables.
func allExplained() []Explanation {
	var out []Explanation
	for _, m := range harvest.Meanings() {
		out = append(out, explained(m))
	}
	out = append(out, refusalsExplained()...)
	return append(out, wordsExplained()...)
}

func explained(m harvest.Meaning) Explanation {
	return Explanation{Code: string(m.Code), Kind: m.Group, Means: m.Means, Does: "patra " + m.Does, Do: m.Do}
}

// wordsExplained are the words of the dictionary that plans, packs and tables use.
func wordsExplained() []Explanation {
	var out []Explanation
	for _, t := range source.Dictionary() {
		for _, it := range t.Items {
			out = append(out, Explanation{Code: it.Code, Kind: t.Name, Means: it.Name})
		}
	}
	return out
}
