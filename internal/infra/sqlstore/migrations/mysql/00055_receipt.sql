-- +goose Up

-- A trigger is written down before anything is done for it, as RECEIVED, and answered later; what was asked wrongly is
-- REFUSED. Until it is answered, wish holds all that it takes to plan it, wish_hash what it is about, and claimed_until and
-- fence who is at it: a planner whose fence is no longer the row's answers nothing. claims counts the planners in a row that
-- left it unanswered. MariaDB replaces the CHECK of a column that is modified, MySQL adds one to it.
ALTER TABLE ing_schedule_instance /*!80019 DROP CHECK ing_schedule_instance_chk_2, */
  MODIFY COLUMN outcome_code VARCHAR(64) NOT NULL CHECK (outcome_code IN ('RECEIVED','PLANNED','EXISTING','NOOP','REFUSED','FAILED')),
  ADD COLUMN endpoint_name VARCHAR(64) NULL,
  ADD COLUMN wish MEDIUMTEXT NULL,
  ADD COLUMN wish_hash VARCHAR(64) NULL,
  ADD COLUMN fence BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN claims BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN claimed_until DATETIME(6) NULL,
  ADD COLUMN answered_at DATETIME(6) NULL,
  ADD KEY idx_sched_open (outcome_code, claimed_until);
UPDATE ing_schedule_instance SET answered_at=triggered_at;
