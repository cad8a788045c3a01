-- +goose Up

-- Ways in and out: proxy, redirects, tokens, hooks, bodies, quotas.
ALTER TABLE reg_prov_http_cfg ADD COLUMN proxy VARCHAR(255) NULL, ADD COLUMN redirects MEDIUMTEXT NULL;
ALTER TABLE reg_prov_auth_cfg ADD COLUMN page_size_with_credential INTEGER NULL, ADD COLUMN token_grant MEDIUMTEXT NULL, ADD COLUMN signing_hook VARCHAR(255) NULL, ADD COLUMN signing_options MEDIUMTEXT NULL;
ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN quotas MEDIUMTEXT NULL, ADD COLUMN budget_headers MEDIUMTEXT NULL, ADD COLUMN retry_after_on MEDIUMTEXT NULL;
ALTER TABLE reg_prov_endpoint_def ADD COLUMN body_template MEDIUMTEXT NULL, ADD COLUMN content_type VARCHAR(255) NULL, ADD COLUMN following_pages MEDIUMTEXT NULL,
  ADD COLUMN post_over INTEGER NULL, ADD COLUMN request_cost INTEGER NULL, ADD COLUMN reply_hook VARCHAR(255) NULL;
