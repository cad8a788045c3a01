-- +goose Up

-- Where a credential may be sent that nobody said it of, being entered by SQL or before credentials were bound: a JSON
-- list of the origins that its source had when it was first wanted. Whoever asks sources writes it, and no description;
-- what reg_prov_credential says goes before.
ALTER TABLE ing_credential_state ADD COLUMN origins_json MEDIUMTEXT COLLATE utf8mb4_bin NULL;
