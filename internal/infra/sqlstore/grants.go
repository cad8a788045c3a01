package sqlstore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/problem"
)

// Rights on tables, as a server names them. Everybody may read everything: what is decided
// here is decided by what is there.
const (
	mayAdd    = "INSERT"
	mayChange = "UPDATE"
	mayWrite  = "INSERT, UPDATE"
	mayAll    = "INSERT, UPDATE, DELETE"
)

// served is what every role writes that asks sources: through the gate, noting what they make
// of a credential, holding them when they refuse, queueing again what failed, and telling of it.
var served = map[string]string{
	"ing_task":             mayWrite,
	"ing_plan_slice":       mayWrite,
	"ing_plan":             mayWrite,
	"ing_plan_total":       mayWrite,
	"ing_plan_group":       mayWrite,
	"ing_source_state":     mayWrite,
	"ing_endpoint_state":   mayWrite,
	"ing_credential_state": mayWrite,
	"ing_rate_gate":        mayWrite,
	"ing_meta":             mayWrite,
	"ing_breaker":          mayAll,
	"ing_outage":           mayAll,
	"ing_error_group":      mayWrite,
	"ing_error_hour":       mayAll,
	"sys_audit":            mayAdd,
}

// planned is what making plans writes besides.
var planned = map[string]string{
	"ing_schedule_instance": mayWrite,
	"ing_cursor":            mayWrite,
	"ing_cursor_event":      mayAdd,
	"ing_plan_candidate":    mayAdd,
	"ing_signal":            mayWrite,
	"ing_selection":         mayAdd,
}

// grantsOf are the rights of roles by table.
var grantsOf = map[string]map[string]string{
	"reader":  {},
	"planner": rightsOf(served, planned),
	"executor": rightsOf(served, map[string]string{
		"ing_task_run":       mayWrite,
		"ing_task_run_batch": mayWrite,
		"ing_cursor":         mayWrite,
		"ing_cursor_event":   mayAdd,
		"ing_record":         mayWrite,
		"ing_record_version": mayWrite,
		"ing_outbox":         mayAdd,
		"ing_signal":         mayWrite,
		"ing_quarantine":     mayAll,

		"ing_selection_record": mayWrite,
		"ing_selection_item":   "INSERT, DELETE",
		"ing_selection_bad_id": "INSERT, DELETE",

		"ing_bad_id": mayAll,

		"ing_work_queue": mayAdd,
		"ing_work_facts": mayAdd,
		"ing_dictionary": mayAdd,
	}),
	// The relay asks no source. It gives revisions their places, by a counter in ing_meta, and
	// keeps how far its targets have come. Of the outbox it removes what is left from a time
	// when others were told.
	"relay": {
		"ing_outbox":        "UPDATE, DELETE",
		"ing_outbox_target": mayWrite,
		"ing_outbox_held":   mayAll,
		"ing_meta":          mayWrite,
	},
	// The scheduler plans, tunes, alerts, and moves what is old to files.
	"scheduler": rightsOf(served, planned, map[string]string{
		"ing_tuning":            mayWrite,
		"ing_alert":             mayAll,
		"ing_alert_delivery":    mayAll,
		"ing_queue_history":     mayAll,
		"ing_archive":           mayWrite,
		"ing_archived":          mayAll,
		"ing_coverage":          mayAll,
		"ing_schedule_instance": mayAll,
		"ing_rate_gate":         mayAll,
		"ing_plan":              mayAll,
		"ing_plan_total":        mayAll,
		"ing_plan_group":        mayAll,
		"ing_plan_slice":        mayAll,
		"ing_plan_candidate":    "INSERT, DELETE",
		"ing_task":              mayAll,
		"ing_task_run":          "DELETE",
		"ing_task_run_batch":    "DELETE",
		"ing_cursor":            mayAll,
		"ing_cursor_event":      mayAll,
		"ing_record":            mayChange,
		"ing_record_version":    "DELETE",
		"ing_outbox":            "UPDATE, DELETE",
		"ing_outbox_target":     "UPDATE, DELETE",
		"ing_work_queue":        mayAll,
		"ing_work_block":        mayAll,
		"ing_work_section":      mayAll,
		"ing_work_record":       mayWrite,
		"ing_work_facts":        mayAdd,
		"ing_work_member":       mayAll,
		"ing_work_edge":         mayAll,
		"ing_work_value":        mayAll,
		"ing_work_event":        mayAdd,
	}),
}

// rightsOf are the rights of several; of a table those of the last that names it.
func rightsOf(parts ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, p := range parts {
		maps.Copy(out, p)
	}
	return out
}

// UnknownRoleError says that there is no such role.
type UnknownRoleError struct{ Role string }

func (e *UnknownRoleError) Error() string { return fmt.Sprintf("there is no role %q", e.Role) }

// Problem implements problem.Error.
func (e *UnknownRoleError) Problem() problem.Problem {
	return problem.Problem{Code: "unknown_role", Kind: problem.Usage, Title: e.Error(), Next: "use reader, executor, planner, scheduler, relay, console, operator or owner"}
}

// Grants are the statements that let a user of a MySQL server do what a role does, and
// nothing else. An operator changes anything but the schema, the owner that too.
func Grants(role, dsn, user string) ([]string, error) {
	database := "patra"
	if cfg, err := mysqlConfig(dsn); err == nil {
		database = cfg.DBName
	}
	name, host, named := strings.Cut(user, "@")
	if !named {
		host = "%"
	}
	to := fmt.Sprintf(" TO %s@%s;", quoteText(name), quoteText(host))
	on := " ON " + quoteName(database) + "."
	switch role {
	case "owner":
		return []string{"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP, REFERENCES" + on + "*" + to}, nil
	case "operator":
		return []string{"GRANT SELECT, INSERT, UPDATE, DELETE" + on + "*" + to}, nil
	}
	tables, known := grantsOf[role]
	if !known {
		return nil, &UnknownRoleError{Role: role}
	}
	out := []string{"GRANT SELECT" + on + "*" + to}
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		out = append(out, "GRANT "+tables[table]+on+table+to)
	}
	return out, nil
}

func quoteText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(s) + "'"
}

func quoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }
