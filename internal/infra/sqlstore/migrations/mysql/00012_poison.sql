-- +goose Up

-- Owners that died in a row since the task got on or was given back: all of them, and those that had a reply in hand. barren counted the one that has the task too.
ALTER TABLE ing_task RENAME COLUMN barren TO deaths;
UPDATE ing_task SET deaths=deaths-1 WHERE deaths>0;
ALTER TABLE ing_task ADD COLUMN deaths_in_hand BIGINT NOT NULL DEFAULT 0;

-- The fence of the owner that has a reply in hand and has not stored it yet, 0 if none has. It is kept only of tasks whose owner has died before.
ALTER TABLE ing_task ADD COLUMN reply_fence BIGINT NOT NULL DEFAULT 0;
