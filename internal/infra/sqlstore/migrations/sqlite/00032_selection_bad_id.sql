-- +goose Up

-- Which ids without details a selection has seen. One id may be seen by several, and rests on the list for all of them.
CREATE TABLE ing_selection_bad_id (
  selection_id INTEGER NOT NULL,
  bad_id INTEGER NOT NULL,
  PRIMARY KEY (selection_id, bad_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_selection_bad_id ON ing_selection_bad_id (bad_id);

-- What is known of those that are there: the page that named each last.
INSERT INTO ing_selection_bad_id (selection_id, bad_id)
  SELECT p.selection_id, i.id FROM ing_bad_id i JOIN ing_task_run_batch b ON b.id=i.batch_id JOIN ing_plan p ON p.id=b.plan_id WHERE p.selection_id IS NOT NULL
  UNION SELECT z.selection_id, i.id FROM ing_bad_id i JOIN ing_archived z ON z.kind_code='batch' AND z.object_id=i.batch_id WHERE z.selection_id IS NOT NULL;
