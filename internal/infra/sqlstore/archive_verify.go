package sqlstore

// notArchived is the condition that a row of a table, which a column names, is not known as
// archived. Only plans and pages may be: all else goes together with what names it.
func notArchived(table, column string) string {
	switch table {
	case "ing_plan":
		return ` AND NOT ` + isSealed(column)
	case "ing_task_run_batch":
		return ` AND NOT EXISTS (SELECT 1 FROM ing_archived z WHERE z.kind_code='batch' AND z.object_id=` + column + `)`
	}
	return ""
}

// checkArchived reports what is left of archived things and belongs to nothing: the stub of
// one whose archive is not known, and a proven interval without a cursor.
func (v *verifier) checkArchived() error {
	if err := v.reportRows("stub", `SELECT a.object_id, CONCAT('says that this ', a.kind_code, ' is in archive ', a.archive_id, ', which is not known')
		FROM ing_archived a LEFT JOIN ing_archive f ON f.id=a.archive_id WHERE f.id IS NULL`); err != nil {
		return err
	}
	return v.reportRows("interval", `SELECT i.cursor_id, 'is proven of a cursor that is not there' FROM ing_coverage i
		LEFT JOIN ing_cursor c ON c.id=i.cursor_id WHERE c.id IS NULL`)
}
