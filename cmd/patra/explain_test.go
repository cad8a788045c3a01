package main

import (
	"strings"
	"testing"
)

// TestExplain_FromTheCommandLine: a code in words and as JSON, all of them as a list,
// and a word that is none.
func TestExplain_FromTheCommandLine(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"explain", "circuit_open"}, 0, "what to do:"},
		{[]string{"explain", "circuit_open", "--json"}, 0, `"code":"circuit_open","kind":"waiting"`},
		{[]string{"explain"}, 0, "schema_drift"},
		{[]string{"explain", "RESLICED"}, 0, "states of a slice"},
		{[]string{"explain", "solr_error"}, 3, "patra source show NAME"},
	} {
		code, out, errOut := patra(t, c.args...)
		if code != c.code || !strings.Contains(out+errOut, c.want) {
			t.Errorf("%q: exit %d\n%s%s", c.args, code, out, errOut)
		}
	}
}
