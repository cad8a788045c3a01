package sqlstore

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestC2_EveryChangeOfStateAsksTheTable: no statement of the store changes the state
// of a plan, slice, task, run or page without the condition that the domain's table
// allows it, and the state it asks for is the one it sets.
func TestC2_EveryChangeOfStateAsksTheTable(t *testing.T) {
	kinds := map[string]string{"ing_plan": "Plan", "ing_plan_slice": "Slice", "ing_task": "Task", "ing_task_run": "Run", "ing_task_run_batch": "Batch"}
	change := regexp.MustCompile(`(?s)UPDATE (ing_plan|ing_plan_slice|ing_task|ing_task_run|ing_task_run_batch) SET status_code=('(\w+)'|\?)`)
	asked := regexp.MustCompile(`mayBecome\((?:harvest\.)?(\w+)\)`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		for _, at := range change.FindAllStringSubmatchIndex(text, -1) {
			found++
			statement := text[at[0]:]
			if next := change.FindStringIndex(statement[1:]); next != nil {
				statement = statement[:next[0]+1]
			}
			table, literal := text[at[2]:at[3]], ""
			if at[6] >= 0 {
				literal = text[at[6]:at[7]]
			}
			line := 1 + strings.Count(text[:at[0]], "\n")
			m := asked.FindStringSubmatch(statement)
			switch {
			case m == nil:
				t.Errorf("%s:%d: a change of state in %s that does not ask whether it may", name, line, table)
			case literal != "" && strings.ToUpper(strings.TrimPrefix(m[1], kinds[table])) != literal:
				t.Errorf("%s:%d: %s is set to %s and asked for %s", name, line, table, literal, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("%d changes of state found: this test has lost them", found)
	}
}
