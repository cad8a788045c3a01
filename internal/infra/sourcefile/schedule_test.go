package sourcefile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/papertrace/patra/internal/infra/sourcefile"
)

const schedulePart = `schedule:
  harvest: "*/15 * * * *"
  update: '@weekly'
  olderThan: 90d
  zone: America/New_York
  quiet:
    - {days: Mon-Fri, from: 05:00, to: 21:00}
    - {from: "23:30", to: "01:00"}
`

func TestSchedule_ReadWrittenAndPlaced(t *testing.T) {
	p := parse(t, small+schedulePart)
	if s := p.Definition.Schedule; s == nil || s.Harvest != "*/15 * * * *" || len(s.Quiet) != 2 || s.Quiet[0].From != "05:00" || s.Quiet[1].To != "01:00" {
		t.Fatalf("%+v", s)
	}
	written := sourcefile.Format(p.Definition)
	if diff := cmp.Diff(p.Definition, parse(t, string(written)).Definition); diff != "" {
		t.Errorf("round trip: %s", diff)
	}
	s := schema(t)
	for what, text := range map[string][]byte{"as it is": []byte(small + schedulePart), "as written": written} {
		if err := valid(t, s, text); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, line := range []string{"@hourly", "*/15 * * * *", "* * * * *"} {
		_, err := sourcefile.Parse("demo.yaml", []byte(small+"schedule:\n  harvest: "+line+"\n"))
		if err == nil || !strings.Contains(err.Error(), "a value that begins with "+line[:1]+" is written in quotes") {
			t.Errorf("%s without quotes: %v", line, err)
		}
	}
	bad := parse(t, small+strings.NewReplacer("*/15 *", "*/15 25", "'@weekly'", "@weekly", "America/New_York", "New York", "05:00", "5pm").Replace(strings.Replace(schedulePart, "  update: '@weekly'\n  olderThan: 90d\n", "", 1)))
	_, err := bad.Check(nil, nil)
	for _, want := range []string{
		`schedule.harvest: hour "25": "25" is not a number from 0 to 23`, `schedule.zone: "New York" is not a time zone`, `schedule.quiet[0]: from: "5pm" is not a time of day such as 05:00`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in %v", want, err)
		}
	}
}
