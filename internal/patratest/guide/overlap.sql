SELECT 1
FROM reg_prov_pagination_cfg
WHERE provenance_id = :pid
  AND scope_code = :scope_code
  AND task_type_key = :task_type_key
  AND NOT(
    (effective_to   IS NOT NULL AND effective_to   <= :from)
    OR
    (:to IS NOT NULL AND :to <= effective_from)
  )
LIMIT 1;
