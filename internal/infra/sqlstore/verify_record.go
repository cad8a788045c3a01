package sqlstore

// checkRevisions reports records that do not have one version for each revision, numbered
// from the first that is not archived, whose rows of the outbox have a hole, or that
// differ from their newest version. While somebody is told, the last of these rows is
// about the newest revision.
func (v *verifier) checkRevisions() error {
	if err := v.reportRows("record", `SELECT r.id,
		CONCAT('has revision ', r.revision, ' and ', COUNT(o.id), ' rows in ing_record_version, from ', COALESCE(MIN(o.revision),0), ' to ',
		COALESCE(MAX(o.revision),0))
		FROM ing_record r LEFT JOIN ing_record_version o ON o.record_id=r.id GROUP BY r.id, r.revision, r.first_revision
		HAVING COUNT(o.id) <> r.revision-r.first_revision+1 OR COALESCE(MIN(o.revision),0) <> r.first_revision
		OR COALESCE(MAX(o.revision),0) <> r.revision`); err != nil {
		return err
	}
	if err := v.reportRows("record", `SELECT r.id,
		CONCAT('has revision ', r.revision, ' and ', COUNT(o.id), ' rows in ing_outbox, from ', MIN(o.revision), ' to ', MAX(o.revision))
		FROM ing_outbox o JOIN ing_record r ON r.id=o.record_id GROUP BY r.id, r.revision
		HAVING COUNT(o.id) <> MAX(o.revision)-MIN(o.revision)+1 OR MAX(o.revision) > r.revision
		OR MAX(o.revision) < r.revision AND EXISTS (SELECT 1 FROM ing_meta m WHERE m.name='outbox' AND m.value='1')`); err != nil {
		return err
	}
	if err := v.reportRows("record", `SELECT r.id, 'differs from its newest version'
		FROM ing_record r JOIN ing_record_version v ON v.record_id=r.id AND v.revision=r.revision
		WHERE r.content_hash<>v.content_hash OR r.raw_sha256<>v.raw_sha256 OR r.status_code<>v.status_code`); err != nil {
		return err
	}
	if err := v.reportRows("record", `SELECT id, CONCAT('is ', status_code, ' and merged into ', COALESCE(merged_into, 'nothing'))
		FROM ing_record WHERE (status_code='MERGED') <> (merged_into IS NOT NULL)`); err != nil {
		return err
	}
	return v.reportRows("record", `SELECT MIN(id), CONCAT(COUNT(*), ' rows for one key') FROM ing_record
		GROUP BY provenance_code, record_type, ext_id HAVING COUNT(*) > 1`)
}

// checkAccounts reports pages whose items do not add up, and rows that came of a page
// which was not committed.
func (v *verifier) checkAccounts() error {
	for _, tab := range []string{"ing_record_version", "ing_quarantine", "ing_bad_id", "ing_signal"} {
		if err := v.reportRows(tab, `SELECT c.id, CONCAT('belongs to a page that was not committed, batch ', b.id)
			FROM `+tab+` c JOIN ing_task_run_batch b ON b.id=c.batch_id WHERE b.status_code<>'SUCCEEDED'`); err != nil {
			return err
		}
	}
	if err := v.reportRows("member", `SELECT m.record_id, CONCAT('of selection ', m.selection_id, ' was seen by a page that was not committed, batch ', b.id)
		FROM ing_selection_record m JOIN ing_task_run_batch b ON b.id IN (m.first_batch_id, m.last_batch_id)
		WHERE b.status_code<>'SUCCEEDED'`); err != nil {
		return err
	}
	if err := v.reportRows("record", `SELECT v.record_id, CONCAT('came by a page of selection ', p.selection_id, ' and is no member of it, batch ', b.id)
		FROM ing_plan p JOIN ing_task_run_batch b ON b.plan_id=p.id JOIN ing_record_version v ON v.batch_id=b.id
		LEFT JOIN ing_selection_record m ON m.selection_id=p.selection_id AND m.record_id=v.record_id
		WHERE p.selection_id IS NOT NULL AND m.record_id IS NULL`); err != nil {
		return err
	}
	if err := v.reportRows("batch", `SELECT id, CONCAT('is SKIPPED, yet ', sent, ' requests were sent for it')
		FROM ing_task_run_batch WHERE status_code='SKIPPED' AND sent > 0 AND COALESCE(error_code, '')<>'asked_beside'`); err != nil {
		return err
	}
	if err := v.reportRows("batch", `SELECT id, CONCAT('has ', items, ' items, its account sums to ',
		inserted+updated+remapped+unchanged+stale+filtered+quarantined)
		FROM ing_task_run_batch WHERE status_code='SUCCEEDED' AND items <> inserted+updated+remapped+unchanged+stale+filtered+quarantined`); err != nil {
		return err
	}
	for _, check := range []func() error{v.checkSliceSums, v.checkTotals, v.checkGroups} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkOrphans reports rows that name a parent which is neither there nor archived. The
// schema has no foreign keys that would refuse them (C11).
func (v *verifier) checkOrphans() error {
	for _, o := range [][3]string{
		{"ing_schedule_instance", "plan_id", "ing_plan"},
		{"ing_plan", "schedule_instance_id", "ing_schedule_instance"},
		{"ing_plan", "cursor_id", "ing_cursor"},
		{"ing_plan", "selection_id", "ing_selection"},
		{"ing_plan_slice", "plan_id", "ing_plan"},
		{"ing_plan_slice", "parent_id", "ing_plan_slice"},
		{"ing_plan_slice", "cursor_id", "ing_cursor"},
		{"ing_task", "schedule_instance_id", "ing_schedule_instance"},
		{"ing_task", "plan_id", "ing_plan"},
		{"ing_task", "slice_id", "ing_plan_slice"},
		{"ing_task_run", "task_id", "ing_task"},
		{"ing_task_run_batch", "run_id", "ing_task_run"},
		{"ing_task_run_batch", "task_id", "ing_task"},
		{"ing_task_run_batch", "slice_id", "ing_plan_slice"},
		{"ing_task_run_batch", "plan_id", "ing_plan"},
		{"ing_cursor", "plan_id", "ing_plan"},
		{"ing_cursor", "slice_id", "ing_plan_slice"},
		{"ing_cursor", "task_id", "ing_task"},
		{"ing_cursor", "run_id", "ing_task_run"},
		{"ing_cursor", "batch_id", "ing_task_run_batch"},
		{"ing_cursor_event", "cursor_id", "ing_cursor"},
		{"ing_cursor_event", "plan_id", "ing_plan"},
		{"ing_cursor_event", "slice_id", "ing_plan_slice"},
		{"ing_cursor_event", "task_id", "ing_task"},
		{"ing_cursor_event", "run_id", "ing_task_run"},
		{"ing_cursor_event", "batch_id", "ing_task_run_batch"},
		{"ing_record_version", "record_id", "ing_record"},
		{"ing_record_version", "batch_id", "ing_task_run_batch"},
		{"ing_record_version", "dictionary_id", "ing_dictionary"},
		{"ing_outbox", "record_id", "ing_record"},
		{"ing_outbox_held", "record_id", "ing_record"},
		{"ing_outbox_held", "target_id", "ing_outbox_target"},
		{"ing_quarantine", "batch_id", "ing_task_run_batch"},
		{"ing_bad_id", "batch_id", "ing_task_run_batch"},
		{"ing_signal", "batch_id", "ing_task_run_batch"},
		{"ing_signal", "plan_id", "ing_plan"},
	} {
		if err := v.reportRows(o[0], `SELECT c.id, CONCAT('names `+o[2]+` ', c.`+o[1]+`, ', which is not there')
			FROM `+o[0]+` c LEFT JOIN `+o[2]+` p ON p.id=c.`+o[1]+` WHERE c.`+o[1]+` IS NOT NULL AND p.id IS NULL`+
			notArchived(o[2], "c."+o[1])); err != nil {
			return err
		}
	}
	if err := v.checkMembers(); err != nil {
		return err
	}
	if err := v.checkArchived(); err != nil {
		return err
	}
	return v.reportRows("batch", `SELECT b.id, 'is SUCCEEDED without a record of its end' FROM ing_task_run_batch b
		WHERE b.status_code='SUCCEEDED' AND b.after_position IS NULL`)
}

// checkMembers reports members of selections that name a record, a selection or a page which
// is neither there nor archived. Their rows have no number of their own.
func (v *verifier) checkMembers() error {
	for _, o := range [][2]string{
		{"selection_id", "ing_selection"},
		{"record_id", "ing_record"},
		{"first_batch_id", "ing_task_run_batch"},
		{"last_batch_id", "ing_task_run_batch"},
	} {
		column := "c." + o[0]
		if err := v.reportRows("member", `SELECT c.record_id, CONCAT('of selection ', c.selection_id, ' names `+o[1]+` ', `+column+`, ', which is not there')
			FROM ing_selection_record c LEFT JOIN `+o[1]+` p ON p.id=`+column+` WHERE p.id IS NULL`+notArchived(o[1], column)); err != nil {
			return err
		}
	}
	if err := v.reportRows("item", `SELECT c.item_id, CONCAT('of selection ', c.selection_id, ' is not in quarantine')
		FROM ing_selection_item c LEFT JOIN ing_quarantine q ON q.id=c.item_id WHERE q.id IS NULL`); err != nil {
		return err
	}
	return v.reportRows("bad id", `SELECT c.bad_id, CONCAT('of selection ', c.selection_id, ' is not on the list')
		FROM ing_selection_bad_id c LEFT JOIN ing_bad_id i ON i.id=c.bad_id WHERE i.id IS NULL`)
}
