-- +goose Up

-- The day before which a source has nothing: where the first harvest of a query begins.
ALTER TABLE reg_prov_window_offset_cfg ADD COLUMN beginning TEXT;

