package sourcefile_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/infra/sourcefile"
)

var update = flag.Bool("update", false, "write docs/source-keys.md anew")

// schemaNode is what the index takes out of the schema.
type schemaNode struct {
	Ref         string                 `json:"$ref"`
	Description string                 `json:"description"`
	Type        any                    `json:"type"`
	Enum        []any                  `json:"enum"`
	Properties  map[string]*schemaNode `json:"properties"`
	Additional  json.RawMessage        `json:"additionalProperties"`
	Items       *schemaNode            `json:"items"`
	OneOf       []*schemaNode          `json:"oneOf"`
	AnyOf       []*schemaNode          `json:"anyOf"`
	Defs        map[string]*schemaNode `json:"$defs"`
}

// TestKeys_TheIndexIsThatOfTheCode: docs/source-keys.md lists every key a pack may
// hold, made of the declarations that packs are read by.
func TestKeys_TheIndexIsThatOfTheCode(t *testing.T) {
	const file = "../../../docs/source-keys.md"
	var root schemaNode
	if err := json.Unmarshal(sourcefile.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString("# Keys of packs\n\nEvery key that a pack may hold, made of the code by `go test ./internal/infra/sourcefile -run Keys -update`. `NAME` stands for a name\n" +
		"of your own. How they belong together says [write-a-source.md](write-a-source.md).\n\n| key | says |\n|---|---|\n")
	rows := 0
	first := map[string]string{} // where a part came first
	row := func(key, says string) {
		line := fmt.Sprintf("| `%s` | %s |\n", key, says)
		if bytes.HasSuffix(b.Bytes(), []byte(line)) {
			return // one of, or a list of the same
		}
		rows++
		b.WriteString(line)
	}
	var walk func(path string, n *schemaNode)
	walk = func(path string, n *schemaNode) {
		if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
			switch before := first[name]; before {
			case "":
				first[name] = path
			case path:
				return
			default:
				row(path+"...", "as `"+before+"`")
				return
			}
			n = root.Defs[name]
		}
		for _, name := range sortedNames(n.Properties) {
			at := strings.TrimPrefix(path+"."+name, ".")
			row(at, meaningOf(n.Properties[name]))
			walk(at, n.Properties[name])
		}
		var more schemaNode
		if len(n.Additional) > 0 && n.Additional[0] == '{' && json.Unmarshal(n.Additional, &more) == nil {
			walk(path+".NAME", &more)
		}
		if n.Items != nil {
			walk(path, n.Items)
		}
		for _, other := range slices.Concat(n.OneOf, n.AnyOf) {
			walk(path, other)
		}
	}
	walk("", &root)
	if rows < 150 {
		t.Errorf("only %d keys were found", rows)
	}
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, b.Bytes()) {
		t.Errorf("docs/source-keys.md is stale (%v): go test ./internal/infra/sourcefile -run Keys -update", err)
	}
}

func sortedNames(m map[string]*schemaNode) []string {
	var out []string
	for name := range m {
		out = append(out, name)
	}
	// What repeats parts of others comes after them.
	late := func(name string) int { return slices.Index([]string{"auth", "tasks"}, name) }
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(late(a), late(b)), cmp.Compare(a, b)) })
	return out
}

// meaningOf is what a key says, and the words it takes where there are few.
func meaningOf(n *schemaNode) string {
	text := strings.ReplaceAll(n.Description, "|", `\|`)
	if len(n.Enum) > 0 && len(n.Enum) < 12 {
		var words []string
		for _, v := range n.Enum {
			words = append(words, fmt.Sprint(v))
		}
		text = strings.TrimPrefix(text+": "+strings.Join(words, ", "), ": ")
	}
	return text
}
