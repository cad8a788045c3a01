SET @now = UTC_TIMESTAMP();
(SELECT *
 FROM reg_prov_credential
 WHERE provenance_id = @pid
   AND lifecycle_status_code = 'ACTIVE'
   AND deleted = 0
   AND (@endpoint_id IS NOT NULL AND endpoint_id = @endpoint_id)
   AND ((scope_code = 'TASK' AND task_type = @taskType) OR (scope_code = 'SOURCE' AND @taskType IS NULL) OR
        (scope_code = 'SOURCE'))
   AND effective_from <= @now
   AND (effective_to IS NULL OR effective_to > @now)
 ORDER BY is_default_preferred DESC, effective_from DESC, id DESC
 LIMIT 1)
UNION ALL
(SELECT *
 FROM reg_prov_credential
 WHERE provenance_id = @pid
   AND lifecycle_status_code = 'ACTIVE'
   AND deleted = 0
   AND endpoint_id IS NULL
   AND ((scope_code = 'TASK' AND task_type = @taskType) OR (scope_code = 'SOURCE' AND @taskType IS NULL) OR
        (scope_code = 'SOURCE'))
   AND effective_from <= @now
   AND (effective_to IS NULL OR effective_to > @now)
 ORDER BY is_default_preferred DESC, effective_from DESC, id DESC
 LIMIT 1)
LIMIT 1;
