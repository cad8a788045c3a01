INSERT INTO reg_provenance (provenance_code, provenance_name, base_url_default)
VALUES ('pubmed','PubMed','https://eutils.ncbi.nlm.nih.gov/entrez'),
       ('crossref','Crossref','https://api.crossref.org');
INSERT INTO reg_prov_window_offset_cfg
(provenance_id, scope_code, task_type, effective_from, window_mode_code, window_size_value, window_size_unit_code,
 overlap_value, overlap_unit_code, offset_type_code, default_date_field_name)
VALUES ( (SELECT id FROM reg_provenance WHERE provenance_code='pubmed'),
         'TASK','update','2025-01-01','SLIDING',1,'DAY',1,'DAY','DATE','EDAT');
INSERT INTO reg_prov_pagination_cfg
(provenance_id, scope_code, task_type, effective_from, pagination_mode_code,
 cursor_param_name, next_cursor_jsonpath)
VALUES ( (SELECT id FROM reg_provenance WHERE provenance_code='crossref'),
         'TASK','harvest','2025-01-01','CURSOR','cursor','$.message.next-cursor');
