package main

import (
	"cmp"
	"errors"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestAdvice_EveryCommandLineInTheCodeIsOne: what the code tells a person to enter, as the
// next step of an answer, in a message or a list, is a command that there is, with
// arguments and flags that it takes.
func TestAdvice_EveryCommandLineInTheCodeIsOne(t *testing.T) {
	t.Parallel()
	found := 0
	for _, root := range []string{"../../internal", "."} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for at, text := range textsOf(t, path) {
				for _, line := range advisedLines(text) {
					found++
					if why := refuseLine(line); why != "" {
						t.Errorf("%s advises `%s`: %s", at, line, why)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 200 {
		t.Errorf("only %d command lines were found", found)
	}
}

// filled stands in a text for what is only known when it is told.
const filled = "FILLED"

var formatVerbs = regexp.MustCompile(`%[-+#.0-9]*[a-z]`)

// textsOf are the texts in a file of code, by where they stand. A text that is put together
// of several is one.
func textsOf(t *testing.T, path string) map[string]string {
	t.Helper()
	files := gotoken.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		e, is := n.(ast.Expr)
		if !is {
			return true
		}
		text, told := textOf(e)
		if told {
			out[files.Position(e.Pos()).String()] = formatVerbs.ReplaceAllString(text, filled)
		}
		return !told
	})
	return out
}

// textOf is the text that an expression puts together; told is false if nothing of it is
// written there.
func textOf(e ast.Expr) (text string, told bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != gotoken.STRING {
			return filled, false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		if e.Op != gotoken.ADD {
			return filled, false
		}
		left, one := textOf(e.X)
		right, other := textOf(e.Y)
		return left + right, one || other
	}
	return filled, false
}

var (
	// advised is where a command line begins: a text does with it, or a step of it, or a
	// mark stands before it.
	advised = regexp.MustCompile("(^|[`;(]\\s?|, |next: |then |or |and |by |see )patra [a-z]")
	// ended is where it ends at the latest.
	ended = regexp.MustCompile("[`;:()>|\n]|[,.](\\s|$)")
	// ofSentence is a word of the sentence behind a command line, or behind the name of patra
	// where that is no command line: what patra does, not what is entered.
	ofSentence = regexp.MustCompile(`^(and|as|asks|at|beside|brings|changes|checks|copies|does|ends|for|gives|goes|harvests|has|if|in|itself|keeps|lets|lists|looks|makes|names|on|one|or|over|` +
		`prints|processes|puts|reads|resumes|runs|said|says|shows|slows|takes|tells|that|the|then|there|to|waits|what|when|where|which|while|with|without)$`)
)

// quotation is what stands in quotation marks in a command line.
var quotation = regexp.MustCompile(`"[^"]*"|'[^']*'`)

// onlyNamed look like command lines and are none to be entered: they name a flag of a
// command, a part of the command line is only known when it is told, or it is a title.
var onlyNamed = []string{
	"source new --from oai-pmh", "credential set --stdin", "plan create --apply", "source FILLED FILLED", "credential allow FILLED FILLED FILLED --reason WHY", "source pack",
}

// advisedLines are the command lines in a text, each with what is written behind it in the
// same clause.
func advisedLines(text string) (lines []string) {
	for _, at := range advised.FindAllStringIndex(text, -1) {
		line := text[strings.Index(text[at[0]:], "patra ")+at[0]:]
		if end := ended.FindStringIndex(line); end != nil {
			line = line[:end[0]]
		}
		lines = append(lines, line)
	}
	return lines
}

// refuseLine says why what begins like a command line is none. Words of the sentence around
// it may follow, but nothing that has to be a name or a flag.
func refuseLine(line string) string {
	words := strings.Fields(quotation.ReplaceAllString(line, "TEXT"))[1:]
	if slices.Contains(onlyNamed, strings.Join(words, " ")) {
		return ""
	}
	if ofSentence.MatchString(words[0]) {
		return ""
	}
	why := ""
	for end := len(words); end > 0; end-- {
		if end < len(words) && !ofSentence.MatchString(words[end]) {
			continue
		}
		for _, name := range []string{"1", "X"} {
			err := lineErr(fillWords(words[:end], name))
			if err == nil {
				return ""
			}
			why = cmp.Or(why, err.Error())
		}
	}
	return why
}

// lineErr says what is wrong with a command line. One that only names a command is none to
// be entered as it is, and --help is for every command.
func lineErr(args []string) error {
	root := commands()
	cmd, rest, err := root.Find(args)
	switch {
	case err != nil:
		return err
	case !cmd.Runnable() && !slices.Contains(rest, "--help"):
		return errors.New("it is no command")
	case len(rest) == 0 || slices.Equal(rest, []string{"--help"}):
		return nil
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// fillWords puts a name where one is to be filled in, which is said in capitals.
func fillWords(words []string, name string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ReplaceAll(w, filled, name)
		if strings.ToUpper(w) == w && !strings.HasPrefix(w, "-") {
			out[i] = name
		}
	}
	return out
}
