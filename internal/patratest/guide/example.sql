INSERT INTO reg_provenance (provenance_code, provenance_name, base_url_default, timezone_default)
VALUES ('pubmed', 'PubMed', 'https://eutils.ncbi.nlm.nih.gov/entrez', 'UTC'),
       ('crossref', 'Crossref', 'https://api.crossref.org', 'UTC');
SET @pubmed_id = (SELECT id
                  FROM reg_provenance
                  WHERE provenance_code = 'pubmed');
SET @crossref_id = (SELECT id
                    FROM reg_provenance
                    WHERE provenance_code = 'crossref');
INSERT INTO reg_prov_endpoint_def
(provenance_id, scope_code, task_type, endpoint_name, effective_from,
 endpoint_usage_code, http_method_code, path_template, default_query_params, request_content_type, is_auth_required)
VALUES (@pubmed_id, 'TASK', 'update', 'esearch', '2025-01-01', 'SEARCH', 'GET', '/eutils/esearch.fcgi',
        JSON_OBJECT('db', 'pubmed', 'retmode', 'json'), 'application/json', 0),
       (@pubmed_id, 'TASK', 'update', 'efetch', '2025-01-01', 'DETAIL', 'GET', '/eutils/efetch.fcgi',
        JSON_OBJECT('db', 'pubmed', 'retmode', 'xml'), 'application/xml', 0);
INSERT INTO reg_prov_endpoint_def
(provenance_id, scope_code, task_type, endpoint_name, effective_from,
 endpoint_usage_code, http_method_code, path_template, request_content_type, is_auth_required)
VALUES (@crossref_id, 'TASK', 'harvest', 'works', '2025-01-01', 'SEARCH', 'GET', '/works',
        'application/json', 0);
INSERT INTO reg_prov_window_offset_cfg
(provenance_id, scope_code, task_type, effective_from,
 window_mode_code, window_size_value, window_size_unit_code, overlap_value, overlap_unit_code,
 offset_type_code, default_date_field_name)
VALUES (@pubmed_id, 'TASK', 'update', '2025-01-01',
        'SLIDING', 1, 'DAY', 1, 'DAY',
        'DATE', 'EDAT');
INSERT INTO reg_prov_window_offset_cfg
(provenance_id, scope_code, task_type, effective_from,
 window_mode_code, window_size_value, window_size_unit_code,
 offset_type_code, default_date_field_name)
VALUES (@crossref_id, 'TASK', 'harvest', '2025-01-01',
        'SLIDING', 1, 'DAY',
        'DATE', 'indexed');
INSERT INTO reg_prov_pagination_cfg
(provenance_id, scope_code, task_type, effective_from,
 pagination_mode_code, page_size_value, page_number_param_name, page_size_param_name, start_page_number)
VALUES (@pubmed_id, 'TASK', 'update', '2025-01-01',
        'PAGE_NUMBER', 100, 'page', 'retmax', 1);
INSERT INTO reg_prov_pagination_cfg
(provenance_id, scope_code, task_type, effective_from,
 pagination_mode_code, cursor_param_name, next_cursor_jsonpath)
VALUES (@crossref_id, 'TASK', 'harvest', '2025-01-01',
        'CURSOR', 'cursor', '$.message["next-cursor"]');
INSERT INTO reg_prov_http_cfg
(provenance_id, scope_code, task_type, effective_from,
 default_headers_json, timeout_connect_millis, timeout_read_millis)
VALUES (@pubmed_id, 'SOURCE', NULL, '2025-01-01',
        JSON_OBJECT('User-Agent', 'PapertraceHarvester/1.0', 'From', 'ops@example.com'), 2000, 10000),
       (@crossref_id, 'SOURCE', NULL, '2025-01-01',
        JSON_OBJECT('User-Agent', 'PapertraceHarvester/1.0', 'mailto', 'ops@example.com'), 2000, 12000);
