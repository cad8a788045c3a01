SELECT id
INTO @pid
FROM reg_provenance
WHERE provenance_code = 'pubmed';
SET @now = UTC_TIMESTAMP();
WITH ep AS ((SELECT *
             FROM reg_prov_endpoint_def
             WHERE provenance_id = @pid
               AND scope_code = 'TASK'
               AND task_type = 'update'
               AND endpoint_usage_code = 'SEARCH'
               AND effective_from <= @now
               AND (effective_to IS NULL OR effective_to > @now)
             ORDER BY effective_from DESC, id DESC
             LIMIT 1)
            UNION ALL
            (SELECT *
             FROM reg_prov_endpoint_def
             WHERE provenance_id = @pid
               AND scope_code = 'SOURCE'
               AND endpoint_usage_code = 'SEARCH'
               AND effective_from <= @now
               AND (effective_to IS NULL OR effective_to > @now)
             ORDER BY effective_from DESC, id DESC
             LIMIT 1)
            LIMIT 1),
     pg AS (
         (SELECT *
          FROM reg_prov_pagination_cfg
          WHERE provenance_id = @pid
            AND scope_code = 'TASK'
            AND task_type = 'update'
            AND effective_from <= @now
            AND (effective_to IS NULL OR effective_to > @now)
          ORDER BY effective_from DESC, id DESC
          LIMIT 1)
         UNION ALL
         (SELECT *
          FROM reg_prov_pagination_cfg
          WHERE provenance_id = @pid
            AND scope_code = 'SOURCE'
            AND effective_from <= @now
            AND (effective_to IS NULL OR effective_to > @now)
          ORDER BY effective_from DESC, id DESC
          LIMIT 1)
         LIMIT 1),
     http AS (
         (SELECT *
          FROM reg_prov_http_cfg
          WHERE provenance_id = @pid
            AND scope_code = 'TASK'
            AND task_type = 'update'
            AND effective_from <= @now
            AND (effective_to IS NULL OR effective_to > @now)
          ORDER BY effective_from DESC, id DESC
          LIMIT 1)
         UNION ALL
         (SELECT *
          FROM reg_prov_http_cfg
          WHERE provenance_id = @pid
            AND scope_code = 'SOURCE'
            AND effective_from <= @now
            AND (effective_to IS NULL OR effective_to > @now)
          ORDER BY effective_from DESC, id DESC
          LIMIT 1)
         LIMIT 1),
     win AS (
         (SELECT *
          FROM reg_prov_window_offset_cfg
          WHERE provenance_id = @pid
            AND scope_code = 'TASK'
            AND task_type = 'update'
            AND effective_from <= @now
            AND (effective_to IS NULL OR effective_to > @now)
          ORDER BY effective_from DESC, id DESC
          LIMIT 1)
         UNION ALL
         (SELECT *
          FROM reg_prov_window_offset_cfg
          WHERE provenance_id = @pid
            AND scope_code = 'SOURCE'
            AND effective_from <= @now
            AND (effective_to IS NULL OR effective_to > @now)
          ORDER BY effective_from DESC, id DESC
          LIMIT 1)
         LIMIT 1),
     bt AS (
         (SELECT *
          FROM reg_prov_batching_cfg
          WHERE provenance_id = @pid
            AND scope_code = 'TASK'
            AND task_type = 'update'
            AND effective_from <= @now
            AND (effective_to IS NULL OR effective_to > @now)
          ORDER BY effective_from DESC, id DESC
          LIMIT 1)
         UNION ALL
         (SELECT *
          FROM reg_prov_batching_cfg
          WHERE provenance_id = @pid
            AND scope_code = 'SOURCE'
            AND effective_from <= @now
            AND (effective_to IS NULL OR effective_to > @now)
          ORDER BY effective_from DESC, id DESC
          LIMIT 1)
         LIMIT 1),
     rt AS (
         (SELECT *
          FROM reg_prov_retry_cfg
          WHERE provenance_id = @pid
            AND scope_code = 'TASK'
            AND task_type = 'update'
            AND effective_from <= @now
            AND (effective_to IS NULL OR effective_to > @now)
          ORDER BY effective_from DESC, id DESC
          LIMIT 1)
         UNION ALL
         (SELECT *
          FROM reg_prov_retry_cfg
          WHERE provenance_id = @pid
            AND scope_code = 'SOURCE'
            AND effective_from <= @now
            AND (effective_to IS NULL OR effective_to > @now)
          ORDER BY effective_from DESC, id DESC
          LIMIT 1)
         LIMIT 1),
     rl AS (
         (SELECT *
          FROM reg_prov_rate_limit_cfg
          WHERE provenance_id = @pid
            AND scope_code = 'TASK'
            AND task_type = 'update'
            AND effective_from <= @now
            AND (effective_to IS NULL OR effective_to > @now)
          ORDER BY effective_from DESC, id DESC
          LIMIT 1)
         UNION ALL
         (SELECT *
          FROM reg_prov_rate_limit_cfg
          WHERE provenance_id = @pid
            AND scope_code = 'SOURCE'
            AND effective_from <= @now
            AND (effective_to IS NULL OR effective_to > @now)
          ORDER BY effective_from DESC, id DESC
          LIMIT 1)
         LIMIT 1),
     cred AS (
         (SELECT *
          FROM reg_prov_credential
          WHERE provenance_id = @pid
            AND lifecycle_status_code = 'ACTIVE'
            AND deleted = 0
            AND endpoint_id = (SELECT id FROM ep LIMIT 1)
            AND effective_from <= @now
            AND (effective_to IS NULL OR effective_to > @now)
            AND ((scope_code = 'TASK' AND task_type = 'update') OR scope_code = 'SOURCE')
          ORDER BY is_default_preferred DESC, effective_from DESC, id DESC
          LIMIT 1)
         UNION ALL
         (SELECT *
          FROM reg_prov_credential
          WHERE provenance_id = @pid
            AND lifecycle_status_code = 'ACTIVE'
            AND deleted = 0
            AND endpoint_id IS NULL
            AND effective_from <= @now
            AND (effective_to IS NULL OR effective_to > @now)
            AND ((scope_code = 'TASK' AND task_type = 'update') OR scope_code = 'SOURCE')
          ORDER BY is_default_preferred DESC, effective_from DESC, id DESC
          LIMIT 1)
         LIMIT 1)
SELECT *
FROM ep,
     pg,
     http,
     win,
     bt,
     rt,
     rl,
     cred;
