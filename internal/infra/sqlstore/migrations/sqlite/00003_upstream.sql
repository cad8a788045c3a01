-- +goose Up

-- Ways in and out: proxy, redirects, tokens, hooks, bodies, quotas.
ALTER TABLE reg_prov_http_cfg ADD COLUMN proxy TEXT;
ALTER TABLE reg_prov_http_cfg ADD COLUMN redirects TEXT;
ALTER TABLE reg_prov_auth_cfg ADD COLUMN page_size_with_credential INTEGER;
ALTER TABLE reg_prov_auth_cfg ADD COLUMN token_grant TEXT;
ALTER TABLE reg_prov_auth_cfg ADD COLUMN signing_hook TEXT;
ALTER TABLE reg_prov_auth_cfg ADD COLUMN signing_options TEXT;
ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN quotas TEXT;
ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN budget_headers TEXT;
ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN retry_after_on TEXT;
ALTER TABLE reg_prov_endpoint_def ADD COLUMN body_template TEXT;
ALTER TABLE reg_prov_endpoint_def ADD COLUMN content_type TEXT;
ALTER TABLE reg_prov_endpoint_def ADD COLUMN following_pages TEXT;
ALTER TABLE reg_prov_endpoint_def ADD COLUMN post_over INTEGER;
ALTER TABLE reg_prov_endpoint_def ADD COLUMN request_cost INTEGER;
ALTER TABLE reg_prov_endpoint_def ADD COLUMN reply_hook TEXT;
