-- Generated from migrations/mysql by go test ./internal/infra/sqlstore -run SchemaFiles -update. Do not edit.

CREATE TABLE `ing_alert` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `rule_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `subject` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `state_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `severity_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `message` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `measured` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `threshold` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `next_step` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `since` datetime(6) NOT NULL,
  `fired_at` datetime(6) DEFAULT NULL,
  `calm_since` datetime(6) DEFAULT NULL,
  `cleared_at` datetime(6) DEFAULT NULL,
  `firings` bigint NOT NULL DEFAULT '0',
  `flaps` bigint NOT NULL DEFAULT '0',
  `told_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `notified_at` datetime(6) DEFAULT NULL,
  `acked_by` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `acked_at` datetime(6) DEFAULT NULL,
  `ack_reason` mediumtext COLLATE utf8mb4_bin,
  `snoozed_until` datetime(6) DEFAULT NULL,
  `snoozed_by` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `updated_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_alert` (`rule_code`,`subject`),
  KEY `idx_alert_state` (`state_code`,`id`),
  CONSTRAINT `ing_alert_chk_1` CHECK ((`state_code` in (_utf8mb4'PENDING',_utf8mb4'FIRING',_utf8mb4'CLEARED'))),
  CONSTRAINT `ing_alert_chk_2` CHECK ((`severity_code` in (_utf8mb4'critical',_utf8mb4'warning',_utf8mb4'notice'))),
  CONSTRAINT `ing_alert_chk_3` CHECK ((`told_code` in (_utf8mb4'FIRING',_utf8mb4'CLEARED')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_alert_delivery` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `alert_id` bigint NOT NULL,
  `target_name` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `payload` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `attempts` bigint NOT NULL DEFAULT '0',
  `next_at` datetime(6) NOT NULL,
  `sent_at` datetime(6) DEFAULT NULL,
  `ended_at` datetime(6) DEFAULT NULL,
  `error` mediumtext COLLATE utf8mb4_bin,
  `created_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_alert_delivery_due` (`ended_at`,`target_name`,`id`),
  KEY `idx_alert_delivery_alert` (`alert_id`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_archive` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `file_name` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `sha256` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `bytes` bigint NOT NULL,
  `row_count` bigint NOT NULL,
  `contents` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `units` longtext COLLATE utf8mb4_bin NOT NULL,
  `status_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `trail_before` datetime(6) DEFAULT NULL,
  `versions_before` datetime(6) DEFAULT NULL,
  `actor` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `reason` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `created_at` datetime(6) NOT NULL,
  `done_at` datetime(6) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_archive_file` (`file_name`),
  KEY `idx_archive_status` (`status_code`,`id`),
  CONSTRAINT `ing_archive_chk_1` CHECK ((`status_code` in (_utf8mb4'WRITTEN',_utf8mb4'DONE')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_archived` (
  `kind_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `object_id` bigint NOT NULL,
  `archive_id` bigint NOT NULL,
  `plan_id` bigint DEFAULT NULL,
  `slice_id` bigint DEFAULT NULL,
  `task_id` bigint DEFAULT NULL,
  `run_id` bigint DEFAULT NULL,
  `window_from` datetime(6) DEFAULT NULL,
  `window_to` datetime(6) DEFAULT NULL,
  `selection_id` bigint DEFAULT NULL,
  PRIMARY KEY (`kind_code`,`object_id`),
  CONSTRAINT `ing_archived_chk_1` CHECK ((`kind_code` in (_utf8mb4'plan',_utf8mb4'batch')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_bad_id` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `record_type` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `ext_id` varbinary(512) NOT NULL,
  `batch_id` bigint NOT NULL,
  `reason` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `times` bigint NOT NULL DEFAULT '0',
  `first_seen_at` datetime(6) NOT NULL,
  `last_seen_at` datetime(6) NOT NULL,
  `check_after` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_bad_id` (`provenance_code`,`record_type`,`ext_id`),
  KEY `idx_bad_id_due` (`check_after`),
  KEY `idx_bad_id_batch` (`batch_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_breaker` (
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `endpoint_name` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `operation_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `failures` bigint NOT NULL,
  `rests_until` datetime(6) DEFAULT NULL,
  `trying` tinyint NOT NULL DEFAULT '0',
  `updated_at` datetime(6) NOT NULL,
  `break_after` bigint NOT NULL DEFAULT '3',
  PRIMARY KEY (`provenance_code`,`endpoint_name`,`operation_code`),
  CONSTRAINT `ing_breaker_chk_1` CHECK ((`failures` > 0)),
  CONSTRAINT `ing_breaker_chk_2` CHECK ((`trying` in (0,1)))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_coverage` (
  `cursor_id` bigint NOT NULL,
  `window_from` datetime(6) NOT NULL,
  `window_to` datetime(6) NOT NULL,
  `proven_at` datetime(6) NOT NULL,
  PRIMARY KEY (`cursor_id`,`window_from`),
  CONSTRAINT `ing_coverage_chk_1` CHECK ((`window_from` < `window_to`))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_credential_state` (
  `credential_id` bigint NOT NULL,
  `refused_count` bigint NOT NULL DEFAULT '0',
  `refused_until` datetime(6) DEFAULT NULL,
  `updated_at` datetime(6) NOT NULL,
  `origins_json` mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  PRIMARY KEY (`credential_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_cursor` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `operation_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `cursor_key` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `namespace_scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `namespace_key` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `direction_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `cursor_type_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `cursor_value` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `normalized_instant` datetime(6) DEFAULT NULL,
  `normalized_numeric` bigint DEFAULT NULL,
  `init_value` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `observed_max_value` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `plan_id` bigint DEFAULT NULL,
  `slice_id` bigint DEFAULT NULL,
  `task_id` bigint DEFAULT NULL,
  `run_id` bigint DEFAULT NULL,
  `batch_id` bigint DEFAULT NULL,
  `version` bigint NOT NULL DEFAULT '0',
  `created_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  `schedule_instance_id` bigint DEFAULT NULL,
  `expr_hash` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_cursor_ns` (`provenance_code`,`operation_code`,`cursor_key`,`namespace_scope_code`,`namespace_key`),
  CONSTRAINT `ing_cursor_chk_1` CHECK ((`direction_code` in (_utf8mb4'FORWARD',_utf8mb4'BACKFILL'))),
  CONSTRAINT `ing_cursor_chk_2` CHECK ((`cursor_type_code` in (_utf8mb4'TIME',_utf8mb4'ID',_utf8mb4'TOKEN')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_cursor_event` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `cursor_id` bigint NOT NULL,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `operation_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `cursor_key` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `namespace_scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `namespace_key` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `direction_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `kind_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `prev_value` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `new_value` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `prev_instant` datetime(6) DEFAULT NULL,
  `new_instant` datetime(6) DEFAULT NULL,
  `observed_max_value` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `idempotent_key` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `plan_id` bigint DEFAULT NULL,
  `slice_id` bigint DEFAULT NULL,
  `task_id` bigint DEFAULT NULL,
  `run_id` bigint DEFAULT NULL,
  `batch_id` bigint DEFAULT NULL,
  `expr_hash` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `record_remarks` mediumtext COLLATE utf8mb4_bin,
  `event_time` datetime(6) NOT NULL,
  `schedule_instance_id` bigint DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_cur_evt_idem` (`idempotent_key`),
  KEY `idx_cur_evt_timeline` (`cursor_id`,`id`),
  KEY `idx_cur_evt_batch` (`batch_id`),
  KEY `idx_cur_evt_lineage` (`plan_id`,`cursor_id`,`event_time`),
  CONSTRAINT `ing_cursor_event_chk_1` CHECK ((`kind_code` in (_utf8mb4'INIT',_utf8mb4'ADVANCE',_utf8mb4'CHECKPOINT')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_dictionary` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `record_type` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `content` mediumblob NOT NULL,
  `content_sha256` binary(32) NOT NULL,
  `trained_from` bigint NOT NULL,
  `created_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_dictionary_key` (`provenance_code`,`record_type`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_endpoint_state` (
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `endpoint_name` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `paused` bigint NOT NULL DEFAULT '0',
  `reason` mediumtext COLLATE utf8mb4_bin,
  `since` datetime(6) DEFAULT NULL,
  `updated_at` datetime(6) NOT NULL,
  `stopped` bigint NOT NULL DEFAULT '0',
  PRIMARY KEY (`provenance_code`,`endpoint_name`),
  CONSTRAINT `ing_endpoint_state_chk_1` CHECK ((`paused` in (0,1)))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_error_group` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `endpoint_name` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `level_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `error_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `field_path` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `faults` bigint NOT NULL,
  `queued_again` bigint NOT NULL DEFAULT '0',
  `walked_again` bigint NOT NULL DEFAULT '0',
  `cut_smaller` bigint NOT NULL DEFAULT '0',
  `left_gap` bigint NOT NULL DEFAULT '0',
  `put_aside` bigint NOT NULL DEFAULT '0',
  `source_stopped` bigint NOT NULL DEFAULT '0',
  `sample` mediumtext COLLATE utf8mb4_bin,
  `batch_id` bigint DEFAULT NULL,
  `first_at` datetime(6) NOT NULL,
  `last_at` datetime(6) NOT NULL,
  `state_code` varchar(64) COLLATE utf8mb4_bin NOT NULL DEFAULT 'OPEN',
  `state_at` datetime(6) NOT NULL,
  `state_by` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `state_reason` mediumtext COLLATE utf8mb4_bin,
  `muted_until` datetime(6) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_error_group` (`provenance_code`,`endpoint_name`,`level_code`,`error_code`,`field_path`),
  KEY `idx_error_group_last` (`last_at`),
  CONSTRAINT `ing_error_group_chk_1` CHECK ((`level_code` in (_utf8mb4'L1',_utf8mb4'L2',_utf8mb4'L3',_utf8mb4'L4'))),
  CONSTRAINT `ing_error_group_chk_2` CHECK ((`faults` > 0)),
  CONSTRAINT `ing_error_group_chk_3` CHECK ((`state_code` in (_utf8mb4'OPEN',_utf8mb4'ACKNOWLEDGED',_utf8mb4'MUTED',_utf8mb4'RESOLVED',_utf8mb4'CAME_BACK')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_error_hour` (
  `group_id` bigint NOT NULL,
  `operation_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `hour_at` datetime(6) NOT NULL,
  `faults` bigint NOT NULL,
  `first_at` datetime(6) NOT NULL,
  `last_at` datetime(6) NOT NULL,
  PRIMARY KEY (`group_id`,`hour_at`,`operation_code`),
  CONSTRAINT `ing_error_hour_chk_1` CHECK ((`faults` > 0))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_meta` (
  `name` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `value` mediumtext COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_outage` (
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `endpoint_name` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `operation_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `error_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `error` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `faults` bigint NOT NULL,
  `first_at` datetime(6) NOT NULL,
  `last_at` datetime(6) NOT NULL,
  `retry_at` datetime(6) DEFAULT NULL,
  `told` tinyint NOT NULL,
  PRIMARY KEY (`provenance_code`,`endpoint_name`,`operation_code`),
  CONSTRAINT `ing_outage_chk_1` CHECK ((`faults` > 0)),
  CONSTRAINT `ing_outage_chk_2` CHECK ((`told` in (0,1)))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_outbox` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `record_id` bigint NOT NULL,
  `revision` bigint NOT NULL,
  `created_at` datetime(6) NOT NULL,
  `feed_no` bigint DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_outbox_rev` (`record_id`,`revision`),
  UNIQUE KEY `uk_outbox_feed` (`feed_no`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_outbox_held` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `target_id` bigint NOT NULL,
  `record_id` bigint NOT NULL,
  `revision` bigint NOT NULL,
  `state_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `attempts` bigint NOT NULL DEFAULT '0',
  `error` mediumtext COLLATE utf8mb4_bin,
  `next_at` datetime(6) NOT NULL,
  `created_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_outbox_held` (`target_id`,`record_id`,`revision`),
  KEY `idx_outbox_held_due` (`target_id`,`state_code`,`next_at`),
  CONSTRAINT `ing_outbox_held_chk_1` CHECK ((`state_code` in (_utf8mb4'WAITING',_utf8mb4'PARKED')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_outbox_target` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `target_name` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `kind_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `position` bigint NOT NULL,
  `snapshot_after` bigint DEFAULT NULL,
  `fence` bigint NOT NULL DEFAULT '0',
  `lease_owner` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `leased_until` datetime(6) DEFAULT NULL,
  `sent` bigint NOT NULL DEFAULT '0',
  `sent_at` datetime(6) DEFAULT NULL,
  `failures` bigint NOT NULL DEFAULT '0',
  `error` mediumtext COLLATE utf8mb4_bin,
  `next_at` datetime(6) NOT NULL,
  `asked_at` datetime(6) DEFAULT NULL,
  `created_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_outbox_target` (`target_name`),
  CONSTRAINT `ing_outbox_target_chk_1` CHECK ((`kind_code` in (_utf8mb4'feed',_utf8mb4'file',_utf8mb4'stdout',_utf8mb4'nats',_utf8mb4'kafka',_utf8mb4'webhook')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_plan` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `schedule_instance_id` bigint NOT NULL,
  `plan_key` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `endpoint_name` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `operation_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `cursor_id` bigint NOT NULL,
  `namespace_scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `namespace_key` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `activity_id` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `window_from` datetime(6) NOT NULL,
  `window_to` datetime(6) NOT NULL,
  `sliced_to` datetime(6) NOT NULL,
  `slice_strategy_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `slice_params` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `expr_proto_hash` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `expr_proto_snapshot` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `provenance_config_hash` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `spec_version` bigint NOT NULL DEFAULT '0',
  `spec_fingerprint` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `spec_snapshot` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `base_url` varchar(1000) COLLATE utf8mb4_bin DEFAULT NULL,
  `status_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `record_remarks` mediumtext COLLATE utf8mb4_bin,
  `created_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  `plan_key_live` varchar(160) COLLATE utf8mb4_bin GENERATED ALWAYS AS ((case when (`status_code` not in (_utf8mb4'CANCELLED',_utf8mb4'FAILED')) then `plan_key` end)) STORED,
  `watches_cursor_id` bigint DEFAULT NULL,
  `selection_id` bigint DEFAULT NULL,
  `group_digits` bigint NOT NULL DEFAULT '0',
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_plan_key_live` (`plan_key_live`),
  KEY `idx_plan_prov_op` (`provenance_code`,`operation_code`,`created_at`),
  KEY `idx_plan_cursor` (`cursor_id`,`window_to`),
  KEY `idx_plan_watches` (`watches_cursor_id`,`created_at`),
  KEY `idx_plan_partial` (`status_code`,`cursor_id`),
  KEY `idx_plan_list` (`provenance_code`),
  KEY `idx_plan_selection` (`selection_id`,`id`),
  KEY `idx_plan_state` (`status_code`,`provenance_code`,`operation_code`,`id`),
  CONSTRAINT `ing_plan_chk_1` CHECK ((`operation_code` in (_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `ing_plan_chk_2` CHECK ((`namespace_scope_code` in (_utf8mb4'GLOBAL',_utf8mb4'EXPR',_utf8mb4'CUSTOM'))),
  CONSTRAINT `ing_plan_chk_3` CHECK ((`status_code` in (_utf8mb4'DRAFT',_utf8mb4'SLICING',_utf8mb4'READY',_utf8mb4'PARTIAL',_utf8mb4'FAILED',_utf8mb4'COMPLETED',_utf8mb4'CANCELLED'))),
  CONSTRAINT `ing_plan_chk_4` CHECK ((`window_from` < `window_to`))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_plan_candidate` (
  `plan_id` bigint NOT NULL,
  `ordinal` bigint NOT NULL,
  `ext_id` varbinary(512) NOT NULL,
  PRIMARY KEY (`plan_id`,`ordinal`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_plan_group` (
  `plan_id` bigint NOT NULL,
  `place` varchar(26) COLLATE utf8mb4_bin NOT NULL,
  `status_code` varchar(32) COLLATE utf8mb4_bin NOT NULL,
  `slices` bigint NOT NULL,
  `expected` bigint NOT NULL DEFAULT '0',
  `estimated` bigint NOT NULL DEFAULT '0',
  `records` bigint NOT NULL DEFAULT '0',
  `pages_asked` bigint NOT NULL DEFAULT '0',
  `latency_ms` bigint NOT NULL DEFAULT '0',
  `http_429` bigint NOT NULL DEFAULT '0',
  `first_from` datetime(6) NOT NULL,
  `last_to` datetime(6) NOT NULL,
  PRIMARY KEY (`plan_id`,`place`,`status_code`),
  CONSTRAINT `ing_plan_group_chk_1` CHECK ((`status_code` in (_utf8mb4'PENDING',_utf8mb4'READY',_utf8mb4'FAILED',_utf8mb4'DONE',_utf8mb4'RESLICED',_utf8mb4'CANCELLED')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_plan_slice` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `plan_id` bigint NOT NULL,
  `parent_id` bigint DEFAULT NULL,
  `cursor_id` bigint NOT NULL,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `slice_no` bigint NOT NULL,
  `slice_signature_hash` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `slice_spec` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `window_from` datetime(6) NOT NULL,
  `window_to` datetime(6) NOT NULL,
  `expr_hash` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `expr_snapshot` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `status_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `gap_accepted` tinyint NOT NULL DEFAULT '0',
  `fail_count` bigint NOT NULL DEFAULT '0',
  `reason` mediumtext COLLATE utf8mb4_bin,
  `created_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  `schedule_instance_id` bigint DEFAULT NULL,
  `gap_of` varchar(64) COLLATE utf8mb4_bin GENERATED ALWAYS AS ((case when (`status_code` in (_utf8mb4'FAILED',_utf8mb4'CANCELLED')) then `provenance_code` end)) STORED,
  `expected` bigint DEFAULT NULL,
  `records` bigint NOT NULL DEFAULT '0',
  `pages_asked` bigint NOT NULL DEFAULT '0',
  `latency_ms` bigint NOT NULL DEFAULT '0',
  `http_429` bigint NOT NULL DEFAULT '0',
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_slice_sig` (`plan_id`,`slice_signature_hash`),
  KEY `idx_slice_status` (`plan_id`,`status_code`),
  KEY `idx_slice_cursor_from` (`cursor_id`,`window_from`),
  KEY `idx_slice_cursor_to` (`cursor_id`,`window_to`),
  KEY `idx_slice_gap` (`gap_of`,`gap_accepted`,`cursor_id`,`window_from`),
  KEY `idx_slice_plan` (`plan_id`),
  KEY `idx_slice_window` (`plan_id`,`window_from`,`id`,`status_code`,`window_to`),
  CONSTRAINT `ing_plan_slice_chk_1` CHECK ((`status_code` in (_utf8mb4'PENDING',_utf8mb4'READY',_utf8mb4'FAILED',_utf8mb4'DONE',_utf8mb4'RESLICED',_utf8mb4'CANCELLED'))),
  CONSTRAINT `ing_plan_slice_chk_2` CHECK ((`gap_accepted` in (0,1))),
  CONSTRAINT `ing_plan_slice_chk_3` CHECK ((`window_from` < `window_to`))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_plan_total` (
  `plan_id` bigint NOT NULL,
  `sent` bigint NOT NULL DEFAULT '0',
  `retried` bigint NOT NULL DEFAULT '0',
  `http_429` bigint NOT NULL DEFAULT '0',
  `http_5xx` bigint NOT NULL DEFAULT '0',
  `bytes` bigint NOT NULL DEFAULT '0',
  `inserted` bigint NOT NULL DEFAULT '0',
  `updated` bigint NOT NULL DEFAULT '0',
  `remapped` bigint NOT NULL DEFAULT '0',
  `unchanged` bigint NOT NULL DEFAULT '0',
  `stale` bigint NOT NULL DEFAULT '0',
  `filtered` bigint NOT NULL DEFAULT '0',
  `quarantined` bigint NOT NULL DEFAULT '0',
  `missing` bigint NOT NULL DEFAULT '0',
  `gone` bigint NOT NULL DEFAULT '0',
  `merged` bigint NOT NULL DEFAULT '0',
  `undecided` bigint NOT NULL DEFAULT '0',
  PRIMARY KEY (`plan_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_quarantine` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `batch_id` bigint NOT NULL,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `record_type` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `ext_id` varbinary(512) DEFAULT NULL,
  `code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `path` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `detail` mediumtext COLLATE utf8mb4_bin,
  `raw` longblob NOT NULL,
  `raw_sha256` binary(32) NOT NULL,
  `created_at` datetime(6) NOT NULL,
  `seen_at` datetime(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  `discarded_at` datetime(6) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_quarantine_item` (`provenance_code`,`record_type`,`raw_sha256`,`code`),
  KEY `idx_quarantine_prov` (`provenance_code`,`code`,`created_at`),
  KEY `idx_quarantine_batch` (`batch_id`),
  KEY `idx_quarantine_open` (`discarded_at`,`provenance_code`,`id`),
  KEY `idx_quarantine_ext` (`provenance_code`,`ext_id`),
  KEY `idx_quarantine_list` (`discarded_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_queue_history` (
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `operation_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `hour_at` datetime(6) NOT NULL,
  `looks` bigint NOT NULL,
  `total` bigint NOT NULL,
  `squares` bigint NOT NULL,
  PRIMARY KEY (`provenance_code`,`operation_code`,`hour_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_rate_gate` (
  `gate_key` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `state` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  PRIMARY KEY (`gate_key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_record` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `record_type` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `ext_id` varbinary(512) NOT NULL,
  `status_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `revision` bigint NOT NULL,
  `updated_at` datetime(6) DEFAULT NULL,
  `provider_version` bigint NOT NULL DEFAULT '0',
  `observed_at` datetime(6) NOT NULL,
  `content_hash` binary(32) NOT NULL,
  `raw_sha256` binary(32) NOT NULL,
  `mapping_version` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `created_at` datetime(6) NOT NULL,
  `changed_at` datetime(6) NOT NULL,
  `merged_into` varbinary(512) DEFAULT NULL,
  `missing_since` datetime(6) DEFAULT NULL,
  `missing_checks` int NOT NULL DEFAULT '0',
  `first_revision` bigint NOT NULL DEFAULT '1',
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_record_key` (`provenance_code`,`record_type`,`ext_id`),
  CONSTRAINT `ing_record_chk_1` CHECK ((`status_code` in (_utf8mb4'ACTIVE',_utf8mb4'RETRACTED',_utf8mb4'MERGED',_utf8mb4'GONE')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_record_version` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `record_id` bigint NOT NULL,
  `revision` bigint NOT NULL,
  `effect_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `status_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `updated_at` datetime(6) DEFAULT NULL,
  `provider_version` bigint NOT NULL DEFAULT '0',
  `observed_at` datetime(6) NOT NULL,
  `content_hash` binary(32) NOT NULL,
  `raw_sha256` binary(32) NOT NULL,
  `mapping_version` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `batch_id` bigint NOT NULL,
  `raw` longblob NOT NULL,
  `fields` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `created_at` datetime(6) NOT NULL,
  `codec_code` varchar(16) COLLATE utf8mb4_bin NOT NULL DEFAULT 'apart',
  `dictionary_id` bigint DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_record_version` (`record_id`,`revision`),
  KEY `idx_version_batch` (`batch_id`),
  CONSTRAINT `ing_record_version_chk_1` CHECK ((`effect_code` in (_utf8mb4'inserted',_utf8mb4'updated',_utf8mb4'remapped')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_schedule` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `schedule_name` varchar(128) COLLATE utf8mb4_bin NOT NULL,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `operation_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `query_text` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `cron_line` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `zone_name` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `priority` int NOT NULL,
  `params` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `enabled` tinyint NOT NULL,
  `since` datetime(6) NOT NULL,
  `removed_at` datetime(6) DEFAULT NULL,
  `created_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_schedule_name` (`schedule_name`),
  CONSTRAINT `ing_schedule_chk_1` CHECK ((`operation_code` in (_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `ing_schedule_chk_2` CHECK ((`priority` >= 0)),
  CONSTRAINT `ing_schedule_chk_3` CHECK ((`enabled` in (0,1)))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_schedule_instance` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `scheduler_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `scheduler_job_id` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `scheduler_log_id` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `trigger_type_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `operation_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `trigger_params` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `expr_proto_hash` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `expr_proto_snapshot` mediumtext COLLATE utf8mb4_bin,
  `outcome_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `plan_id` bigint DEFAULT NULL,
  `record_remarks` mediumtext COLLATE utf8mb4_bin,
  `triggered_at` datetime(6) NOT NULL,
  `created_at` datetime(6) NOT NULL,
  `endpoint_name` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `wish` mediumtext COLLATE utf8mb4_bin,
  `wish_hash` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `fence` bigint NOT NULL DEFAULT '0',
  `claims` bigint NOT NULL DEFAULT '0',
  `claimed_until` datetime(6) DEFAULT NULL,
  `answered_at` datetime(6) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_sched_src` (`scheduler_code`,`scheduler_job_id`,`scheduler_log_id`),
  KEY `idx_sched_prov` (`provenance_code`,`operation_code`,`triggered_at`),
  KEY `idx_sched_plan` (`plan_id`),
  KEY `idx_sched_open` (`outcome_code`,`claimed_until`),
  CONSTRAINT `ing_schedule_instance_chk_1` CHECK ((`operation_code` in (_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `ing_schedule_instance_chk_2` CHECK ((`outcome_code` in (_utf8mb4'RECEIVED',_utf8mb4'PLANNED',_utf8mb4'EXISTING',_utf8mb4'NOOP',_utf8mb4'REFUSED',_utf8mb4'FAILED')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_search` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `search_name` varchar(128) COLLATE utf8mb4_bin NOT NULL,
  `version_no` int NOT NULL,
  `query_text` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `begins_at` datetime(6) DEFAULT NULL,
  `superseded_at` datetime(6) DEFAULT NULL,
  `removed_at` datetime(6) DEFAULT NULL,
  `created_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_search_version` (`search_name`,`version_no`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_search_outcome` (
  `run_id` bigint NOT NULL,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `status_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `reason` mediumtext COLLATE utf8mb4_bin,
  `members` bigint NOT NULL,
  `first_seen` bigint NOT NULL,
  `facts` longtext COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`run_id`,`provenance_code`),
  CONSTRAINT `ing_search_outcome_chk_1` CHECK ((`status_code` in (_utf8mb4'COMPLETED',_utf8mb4'PARTIAL',_utf8mb4'FAILED')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_search_run` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `search_id` bigint NOT NULL,
  `run_no` int NOT NULL,
  `status_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `program_version` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `started_at` datetime(6) NOT NULL,
  `ended_at` datetime(6) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_search_run` (`search_id`,`run_no`),
  CONSTRAINT `ing_search_run_chk_1` CHECK ((`status_code` in (_utf8mb4'RUNNING',_utf8mb4'COMPLETED',_utf8mb4'PARTIAL',_utf8mb4'FAILED')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_search_source` (
  `search_id` bigint NOT NULL,
  `ordinal` int NOT NULL,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `selection_id` bigint NOT NULL,
  PRIMARY KEY (`search_id`,`ordinal`),
  UNIQUE KEY `uk_search_source` (`search_id`,`provenance_code`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_selection` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `selection_hash` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `query_text` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `created_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_selection` (`provenance_code`,`selection_hash`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_selection_bad_id` (
  `selection_id` bigint NOT NULL,
  `bad_id` bigint NOT NULL,
  PRIMARY KEY (`selection_id`,`bad_id`),
  KEY `idx_selection_bad_id` (`bad_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_selection_item` (
  `selection_id` bigint NOT NULL,
  `item_id` bigint NOT NULL,
  PRIMARY KEY (`selection_id`,`item_id`),
  KEY `idx_selection_item` (`item_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_selection_record` (
  `selection_id` bigint NOT NULL,
  `record_id` bigint NOT NULL,
  `first_batch_id` bigint NOT NULL,
  `last_batch_id` bigint NOT NULL,
  `first_seen_at` datetime(6) NOT NULL,
  `last_seen_at` datetime(6) NOT NULL,
  PRIMARY KEY (`selection_id`,`record_id`),
  KEY `idx_selection_seen` (`selection_id`,`first_seen_at`,`record_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_signal` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `record_type` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `ext_id` varbinary(512) NOT NULL,
  `kind_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `batch_id` bigint NOT NULL,
  `plan_id` bigint DEFAULT NULL,
  `created_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_signal` (`provenance_code`,`record_type`,`ext_id`,`kind_code`),
  KEY `idx_signal_open` (`provenance_code`,`plan_id`),
  KEY `idx_signal_batch` (`batch_id`),
  CONSTRAINT `ing_signal_chk_1` CHECK ((`kind_code` in (_utf8mb4'RETRACTION',_utf8mb4'CORRECTION')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_source_state` (
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `paused` tinyint NOT NULL DEFAULT '0',
  `stopped` tinyint NOT NULL DEFAULT '0',
  `reason` mediumtext COLLATE utf8mb4_bin,
  `since` datetime(6) DEFAULT NULL,
  `clock_skew_us` bigint DEFAULT NULL,
  `updated_at` datetime(6) NOT NULL,
  `max_walks` int NOT NULL DEFAULT '0',
  PRIMARY KEY (`provenance_code`),
  CONSTRAINT `ing_source_state_chk_1` CHECK ((`paused` in (0,1))),
  CONSTRAINT `ing_source_state_chk_2` CHECK ((`stopped` in (0,1)))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_task` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `schedule_instance_id` bigint NOT NULL,
  `plan_id` bigint NOT NULL,
  `slice_id` bigint NOT NULL,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `endpoint_name` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `operation_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `credential_ref` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `params` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `expr_hash` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `idempotent_key` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `spec_version` bigint NOT NULL DEFAULT '0',
  `status_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `priority` bigint NOT NULL DEFAULT '0',
  `scheduled_at` datetime(6) NOT NULL,
  `lease_owner` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `leased_until` datetime(6) DEFAULT NULL,
  `fence` bigint NOT NULL,
  `attempts` bigint NOT NULL DEFAULT '0',
  `renewals` bigint NOT NULL DEFAULT '0',
  `walk_no` bigint NOT NULL,
  `walks` bigint NOT NULL DEFAULT '0',
  `deaths` bigint NOT NULL DEFAULT '0',
  `spent_runs` bigint NOT NULL DEFAULT '0',
  `error_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `error` mediumtext COLLATE utf8mb4_bin,
  `created_at` datetime(6) NOT NULL,
  `updated_at` datetime(6) NOT NULL,
  `deaths_in_hand` bigint NOT NULL DEFAULT '0',
  `reply_fence` bigint NOT NULL DEFAULT '0',
  `lease_count` bigint GENERATED ALWAYS AS ((`attempts` + `renewals`)) VIRTUAL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_task_slice` (`slice_id`),
  UNIQUE KEY `uk_task_idem` (`idempotent_key`),
  KEY `idx_task_plan` (`plan_id`,`status_code`),
  KEY `idx_task_queue` (`status_code`,`provenance_code`,`endpoint_name`,`operation_code`,`priority`,`scheduled_at`,`id`),
  CONSTRAINT `ing_task_chk_1` CHECK ((`status_code` in (_utf8mb4'QUEUED',_utf8mb4'DISPATCHED',_utf8mb4'EXECUTING',_utf8mb4'SUCCEEDED',_utf8mb4'FAILED',_utf8mb4'PARTIAL',_utf8mb4'CANCELLED')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_task_run` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `task_id` bigint NOT NULL,
  `attempt_no` bigint NOT NULL,
  `fence` bigint NOT NULL,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `operation_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `lease_owner` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `status_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `window_from` datetime(6) NOT NULL,
  `window_to` datetime(6) NOT NULL,
  `stats` mediumtext COLLATE utf8mb4_bin,
  `error_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `error` mediumtext COLLATE utf8mb4_bin,
  `started_at` datetime(6) NOT NULL,
  `finished_at` datetime(6) DEFAULT NULL,
  `plan_id` bigint NOT NULL DEFAULT '0',
  `created_at` datetime(6) GENERATED ALWAYS AS (`started_at`) VIRTUAL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_run_attempt` (`task_id`,`attempt_no`),
  KEY `idx_run_task_status` (`task_id`,`status_code`),
  KEY `idx_run_list` (`status_code`,`provenance_code`),
  KEY `idx_run_plan` (`plan_id`,`status_code`),
  CONSTRAINT `ing_task_run_chk_1` CHECK ((`status_code` in (_utf8mb4'RUNNING',_utf8mb4'SUCCEEDED',_utf8mb4'PARTIAL',_utf8mb4'FAILED',_utf8mb4'CANCELLED')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_task_run_batch` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `run_id` bigint NOT NULL,
  `task_id` bigint NOT NULL,
  `slice_id` bigint NOT NULL,
  `plan_id` bigint NOT NULL,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `operation_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `batch_no` bigint NOT NULL,
  `walk_no` bigint NOT NULL,
  `phase` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `ordinal` bigint NOT NULL,
  `fence` bigint NOT NULL,
  `status_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `before_position` mediumtext COLLATE utf8mb4_bin NOT NULL,
  `after_position` mediumtext COLLATE utf8mb4_bin,
  `items` bigint NOT NULL DEFAULT '0',
  `inserted` bigint NOT NULL DEFAULT '0',
  `updated` bigint NOT NULL DEFAULT '0',
  `remapped` bigint NOT NULL DEFAULT '0',
  `unchanged` bigint NOT NULL DEFAULT '0',
  `stale` bigint NOT NULL DEFAULT '0',
  `filtered` bigint NOT NULL DEFAULT '0',
  `quarantined` bigint NOT NULL DEFAULT '0',
  `asked` bigint NOT NULL DEFAULT '0',
  `bad_ids` bigint NOT NULL DEFAULT '0',
  `id_list` mediumtext COLLATE utf8mb4_bin,
  `id_hashes` longblob,
  `end_proof` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `observed_max` datetime(6) DEFAULT NULL,
  `sent` bigint NOT NULL DEFAULT '0',
  `retried` bigint NOT NULL DEFAULT '0',
  `http_429` bigint NOT NULL DEFAULT '0',
  `http_5xx` bigint NOT NULL DEFAULT '0',
  `bytes` bigint NOT NULL DEFAULT '0',
  `http_status` bigint DEFAULT NULL,
  `request` mediumtext COLLATE utf8mb4_bin,
  `request_sha256` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `reply_sha256` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `stats` mediumtext COLLATE utf8mb4_bin,
  `error_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `error` mediumtext COLLATE utf8mb4_bin,
  `opened_at` datetime(6) NOT NULL,
  `committed_at` datetime(6) DEFAULT NULL,
  `batch_done` varchar(160) COLLATE utf8mb4_bin GENERATED ALWAYS AS ((case when (`status_code` = _utf8mb4'SUCCEEDED') then concat_ws(_utf8mb4'/',`task_id`,`walk_no`,`phase`,`ordinal`) end)) STORED,
  `fresh` int NOT NULL DEFAULT '0',
  `late` int DEFAULT NULL,
  `missing` int NOT NULL DEFAULT '0',
  `gone` int NOT NULL DEFAULT '0',
  `merged` int NOT NULL DEFAULT '0',
  `schedule_instance_id` bigint DEFAULT NULL,
  `expr_hash` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `credential_ref` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `response_digest` mediumtext COLLATE utf8mb4_bin,
  `reply_sample` varbinary(1024) DEFAULT NULL,
  `asked_ids` mediumtext COLLATE utf8mb4_bin,
  `undecided` bigint NOT NULL DEFAULT '0',
  `record_count` bigint GENERATED ALWAYS AS (`items`) VIRTUAL,
  `created_at` datetime(6) GENERATED ALWAYS AS (`opened_at`) VIRTUAL,
  `request_digest` varchar(64) COLLATE utf8mb4_bin GENERATED ALWAYS AS (`request_sha256`) VIRTUAL,
  `idempotent_key` varchar(160) COLLATE utf8mb4_bin GENERATED ALWAYS AS (concat(`run_id`,_utf8mb4'/',`batch_no`)) VIRTUAL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_run_batch_no` (`run_id`,`batch_no`),
  UNIQUE KEY `uk_batch_done` (`batch_done`),
  KEY `idx_batch_task` (`task_id`,`status_code`,`walk_no`,`phase`,`ordinal`),
  KEY `idx_batch_plan` (`plan_id`,`status_code`),
  KEY `idx_batch_prov` (`provenance_code`,`operation_code`,`status_code`,`committed_at`),
  CONSTRAINT `ing_task_run_batch_chk_1` CHECK ((`phase` in (_utf8mb4'SEARCH',_utf8mb4'DETAIL'))),
  CONSTRAINT `ing_task_run_batch_chk_2` CHECK ((`status_code` in (_utf8mb4'RUNNING',_utf8mb4'SUCCEEDED',_utf8mb4'FAILED',_utf8mb4'SKIPPED')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_tuning` (
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `namespace_key` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `declared_lag_us` bigint DEFAULT NULL,
  `safety_lag_us` bigint DEFAULT NULL,
  `late_rate` double DEFAULT NULL,
  `tuned_at` datetime(6) DEFAULT NULL,
  `sentinel_at` datetime(6) DEFAULT NULL,
  `updated_at` datetime(6) NOT NULL,
  PRIMARY KEY (`provenance_code`,`namespace_key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_work_block` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `run_no` bigint NOT NULL,
  `first_key` bigint NOT NULL,
  `body` mediumblob NOT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_work_block` (`run_no`,`first_key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_work_decision` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `kind_code` varchar(8) COLLATE utf8mb4_bin NOT NULL,
  `revokes_id` bigint DEFAULT NULL,
  `actor` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `reason` text COLLATE utf8mb4_bin NOT NULL,
  `decided_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_work_revoke` (`revokes_id`),
  CONSTRAINT `ing_work_decision_chk_1` CHECK ((`kind_code` in (_utf8mb4'JOIN',_utf8mb4'SPLIT',_utf8mb4'REVOKE')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_work_decision_record` (
  `decision_id` bigint NOT NULL,
  `part_no` int NOT NULL,
  `record_id` bigint NOT NULL,
  PRIMARY KEY (`decision_id`,`part_no`,`record_id`),
  KEY `idx_work_decision_record` (`record_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_work_edge` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `from_record` bigint NOT NULL,
  `to_record` bigint NOT NULL,
  `basis_code` varchar(8) COLLATE utf8mb4_bin NOT NULL,
  `polarity_code` varchar(8) COLLATE utf8mb4_bin NOT NULL,
  `rule_no` int NOT NULL,
  `rules_version` int NOT NULL,
  `relation_name` varchar(32) COLLATE utf8mb4_bin NOT NULL,
  `evidence` varchar(700) COLLATE utf8mb4_bin NOT NULL,
  `why` varchar(700) COLLATE utf8mb4_bin NOT NULL,
  `score` int NOT NULL,
  `found_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_work_edge_from` (`from_record`),
  KEY `idx_work_edge_to` (`to_record`),
  KEY `idx_work_edge_list` (`polarity_code`,`id`),
  CONSTRAINT `ing_work_edge_chk_1` CHECK ((`basis_code` in (_utf8mb4'ID',_utf8mb4'PAIR'))),
  CONSTRAINT `ing_work_edge_chk_2` CHECK ((`polarity_code` in (_utf8mb4'LINK',_utf8mb4'SUGGEST',_utf8mb4'FAMILY')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_work_event` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `record_id` bigint NOT NULL,
  `from_work` bigint NOT NULL,
  `to_work` bigint NOT NULL,
  `happened_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_work_event_record` (`record_id`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_work_facts` (
  `first_record` bigint NOT NULL,
  `queue_id` bigint NOT NULL,
  `lookup_keys` mediumblob NOT NULL,
  `facts` mediumblob NOT NULL,
  PRIMARY KEY (`first_record`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_work_member` (
  `record_id` bigint NOT NULL,
  `work_id` bigint NOT NULL,
  `since` datetime(6) NOT NULL,
  `links` mediumblob,
  PRIMARY KEY (`record_id`),
  KEY `idx_work_member` (`work_id`,`record_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_work_queue` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `body` mediumblob NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_work_record` (
  `record_id` bigint NOT NULL,
  `revision` bigint NOT NULL,
  `lookup_keys` varbinary(4000) NOT NULL,
  `facts` mediumblob,
  PRIMARY KEY (`record_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_work_section` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `run_no` bigint NOT NULL,
  `first_key` bigint NOT NULL,
  `body` mediumblob NOT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_work_section` (`run_no`,`first_key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `ing_work_value` (
  `key_no` bigint NOT NULL,
  `value_text` varchar(700) COLLATE utf8mb4_bin NOT NULL,
  `holders` bigint NOT NULL,
  `why` varchar(700) COLLATE utf8mb4_bin NOT NULL,
  `found_at` datetime(6) NOT NULL,
  PRIMARY KEY (`key_no`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_expr_field_dict` (
  `field_key` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `display_name` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `description` mediumtext COLLATE utf8mb4_bin,
  `data_type_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `is_multi` tinyint NOT NULL DEFAULT '0',
  `exposable` tinyint NOT NULL DEFAULT '1',
  `is_date` tinyint NOT NULL DEFAULT '0',
  `aliases` mediumtext COLLATE utf8mb4_bin,
  PRIMARY KEY (`field_key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_api_param_map` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `std_key` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `provider_param_name` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `transform_code` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `joiner` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `repeat_param` tinyint DEFAULT NULL,
  `name_mark` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  PRIMARY KEY (`id`),
  KEY `idx_api_param_map_pick` (`provenance_id`,`scope_code`,`task_type_key`,`std_key`,`effective_from`),
  CONSTRAINT `reg_prov_api_param_map_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_api_param_map_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_api_param_map_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_auth_cfg` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `auth_type_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `inbound_location_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `field_name` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `value_prefix` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `credential_pool` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `allow_anonymous` tinyint DEFAULT NULL,
  `restricted_endpoints` mediumtext COLLATE utf8mb4_bin,
  `rate_with_credential` mediumtext COLLATE utf8mb4_bin,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `page_size_with_credential` int DEFAULT NULL,
  `token_grant` mediumtext COLLATE utf8mb4_bin,
  `signing_hook` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `signing_options` mediumtext COLLATE utf8mb4_bin,
  `further_secrets` mediumtext COLLATE utf8mb4_bin,
  PRIMARY KEY (`id`),
  KEY `idx_auth_cfg_pick` (`provenance_id`,`scope_code`,`task_type_key`,`effective_from`),
  CONSTRAINT `reg_prov_auth_cfg_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_auth_cfg_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_auth_cfg_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_batching_cfg` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `id_batch_size` bigint DEFAULT NULL,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `ids_param_name` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `ids_join_delimiter` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `max_id_batch_size` bigint DEFAULT NULL,
  `max_parallel_requests` bigint DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_batching_cfg_pick` (`provenance_id`,`scope_code`,`task_type_key`,`effective_from`),
  CONSTRAINT `reg_prov_batching_cfg_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_batching_cfg_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_batching_cfg_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_credential` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `endpoint_name` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `credential_name` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `secret_kind_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `secret_ref` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `secret_sealed` longblob,
  `secret_mac` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `is_default_preferred` tinyint NOT NULL DEFAULT '0',
  `weight` bigint NOT NULL DEFAULT '1',
  `lifecycle_status_code` varchar(64) COLLATE utf8mb4_bin NOT NULL DEFAULT 'ACTIVE',
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `refused_count` bigint NOT NULL DEFAULT '0',
  `refused_until` datetime(6) DEFAULT NULL,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `origins_json` mediumtext COLLATE utf8mb4_bin,
  `endpoint_id` bigint DEFAULT NULL,
  `deleted` tinyint NOT NULL DEFAULT '0',
  PRIMARY KEY (`id`),
  KEY `idx_cred_pick` (`provenance_id`,`credential_name`),
  CONSTRAINT `reg_prov_credential_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_credential_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_credential_chk_3` CHECK ((`secret_kind_code` in (_utf8mb4'ENV',_utf8mb4'FILE',_utf8mb4'SEALED'))),
  CONSTRAINT `reg_prov_credential_chk_4` CHECK ((`lifecycle_status_code` in (_utf8mb4'ACTIVE',_utf8mb4'DISABLED'))),
  CONSTRAINT `reg_prov_credential_chk_5` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL'))),
  CONSTRAINT `reg_prov_credential_chk_6` CHECK (((`secret_kind_code` = _utf8mb4'SEALED') = (`secret_sealed` is not null))),
  CONSTRAINT `reg_prov_credential_chk_7` CHECK (((`secret_kind_code` = _utf8mb4'SEALED') = (`secret_ref` is null)))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_cut_cfg` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `pages_soft` bigint DEFAULT NULL,
  `pages_hard` bigint DEFAULT NULL,
  `page_bytes` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `throttled` bigint DEFAULT NULL,
  `throttled_within` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `failed_percent` bigint DEFAULT NULL,
  `failed_over` bigint DEFAULT NULL,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `retry_after_sum` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `walk_time` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `over_estimate` bigint DEFAULT NULL,
  `slow_page` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_cut_cfg_pick` (`provenance_id`,`scope_code`,`task_type_key`,`effective_from`),
  CONSTRAINT `reg_prov_cut_cfg_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_cut_cfg_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_cut_cfg_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_endpoint_def` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `endpoint_name` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `endpoint_usage_code` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `http_method_code` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `path_template` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `default_query_params` mediumtext COLLATE utf8mb4_bin,
  `default_body_payload` mediumtext COLLATE utf8mb4_bin,
  `default_headers_json` mediumtext COLLATE utf8mb4_bin,
  `response_format_code` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `response_paths` mediumtext COLLATE utf8mb4_bin,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `body_template` mediumtext COLLATE utf8mb4_bin,
  `content_type` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `following_pages` mediumtext COLLATE utf8mb4_bin,
  `post_over` int DEFAULT NULL,
  `request_cost` int DEFAULT NULL,
  `reply_hook` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `id_pattern` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `request_content_type` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `is_auth_required` tinyint DEFAULT NULL,
  `page_param_name` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `page_size_param_name` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `cursor_param_name` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `is_default` bigint DEFAULT NULL,
  `search_endpoint` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_endpoint_def_pick` (`provenance_id`,`scope_code`,`task_type_key`,`endpoint_name`,`effective_from`),
  CONSTRAINT `reg_prov_endpoint_def_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_endpoint_def_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_endpoint_def_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_expr_capability` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `field_key` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `ops` mediumtext COLLATE utf8mb4_bin,
  `negatable_ops` mediumtext COLLATE utf8mb4_bin,
  `supports_not` tinyint DEFAULT NULL,
  `term_matches` mediumtext COLLATE utf8mb4_bin,
  `term_case_sensitive` tinyint DEFAULT NULL,
  `term_min_len` bigint DEFAULT NULL,
  `term_max_len` bigint DEFAULT NULL,
  `term_pattern` mediumtext COLLATE utf8mb4_bin,
  `prefix_min_len` bigint DEFAULT NULL,
  `in_max_size` bigint DEFAULT NULL,
  `in_case_sensitive` tinyint DEFAULT NULL,
  `range_precision` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `range_open_start` tinyint DEFAULT NULL,
  `range_open_end` tinyint DEFAULT NULL,
  `range_exclusive` tinyint DEFAULT NULL,
  `range_min` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `range_max` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `token_pattern` mediumtext COLLATE utf8mb4_bin,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `accents` tinyint DEFAULT NULL,
  `shown` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_expr_capability_pick` (`provenance_id`,`scope_code`,`task_type_key`,`field_key`,`effective_from`),
  CONSTRAINT `reg_prov_expr_capability_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_expr_capability_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_expr_capability_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_expr_render_rule` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `rule_key` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `field_key` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `op_code` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `match_type_code` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `value_type_code` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `negated` tinyint DEFAULT NULL,
  `emit_type_code` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `template` mediumtext COLLATE utf8mb4_bin,
  `item_template` mediumtext COLLATE utf8mb4_bin,
  `joiner` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `wrap_group` tinyint DEFAULT NULL,
  `params` mediumtext COLLATE utf8mb4_bin,
  `value_table` mediumtext COLLATE utf8mb4_bin,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `finds` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_expr_render_rule_pick` (`provenance_id`,`scope_code`,`task_type_key`,`rule_key`,`effective_from`),
  CONSTRAINT `reg_prov_expr_render_rule_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_expr_render_rule_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_expr_render_rule_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_fault_cfg` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `fault_rules` mediumtext COLLATE utf8mb4_bin,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  PRIMARY KEY (`id`),
  KEY `idx_fault_cfg_pick` (`provenance_id`,`scope_code`,`task_type_key`,`effective_from`),
  CONSTRAINT `reg_prov_fault_cfg_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_fault_cfg_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_fault_cfg_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_grant` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `kind_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `granted` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `created_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_prov_grant` (`provenance_id`,`kind_code`,`granted`),
  CONSTRAINT `reg_prov_grant_chk_1` CHECK ((`kind_code` in (_utf8mb4'ORIGIN',_utf8mb4'POOL',_utf8mb4'RATE')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_http_cfg` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `base_url_override` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `default_headers_json` mediumtext COLLATE utf8mb4_bin,
  `timeout_connect` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `timeout_read` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `timeout_total` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `allow_http` tinyint DEFAULT NULL,
  `allow_private` tinyint DEFAULT NULL,
  `max_body` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `proxy` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `redirects` mediumtext COLLATE utf8mb4_bin,
  `timeout_connect_millis` bigint DEFAULT NULL,
  `timeout_read_millis` bigint DEFAULT NULL,
  `timeout_total_millis` bigint DEFAULT NULL,
  `tls` mediumtext COLLATE utf8mb4_bin,
  PRIMARY KEY (`id`),
  KEY `idx_http_cfg_pick` (`provenance_id`,`scope_code`,`task_type_key`,`effective_from`),
  CONSTRAINT `reg_prov_http_cfg_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_http_cfg_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_http_cfg_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_mapping_cfg` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `output_fields` mediumtext COLLATE utf8mb4_bin,
  `volatile_paths` mediumtext COLLATE utf8mb4_bin,
  `retracted_paths` mediumtext COLLATE utf8mb4_bin,
  `required_fields` mediumtext COLLATE utf8mb4_bin,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  PRIMARY KEY (`id`),
  KEY `idx_mapping_cfg_pick` (`provenance_id`,`scope_code`,`task_type_key`,`effective_from`),
  CONSTRAINT `reg_prov_mapping_cfg_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_mapping_cfg_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_mapping_cfg_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_pagination_cfg` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `pagination_mode_code` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `page_size_value` bigint DEFAULT NULL,
  `start_page_number` bigint DEFAULT NULL,
  `token_repeat` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `token_stateful` tinyint DEFAULT NULL,
  `total_code` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `snapshot` tinyint DEFAULT NULL,
  `sort_order` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `end_proofs` mediumtext COLLATE utf8mb4_bin,
  `max_items` bigint DEFAULT NULL,
  `max_pages` bigint DEFAULT NULL,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `token_lifetime` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `page_number_param_name` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `page_size_param_name` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `cursor_param_name` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `next_cursor_jsonpath` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `max_page_size` bigint DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_pagination_cfg_pick` (`provenance_id`,`scope_code`,`task_type_key`,`effective_from`),
  CONSTRAINT `reg_prov_pagination_cfg_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_pagination_cfg_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_pagination_cfg_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_rate_limit_cfg` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `provider_limit` bigint DEFAULT NULL,
  `provider_window` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `rate_tokens_per_second` double DEFAULT NULL,
  `burst_capacity` bigint DEFAULT NULL,
  `max_concurrent_requests` bigint DEFAULT NULL,
  `bucket_key` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `limit_headers` mediumtext COLLATE utf8mb4_bin,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `quotas` mediumtext COLLATE utf8mb4_bin,
  `budget_headers` mediumtext COLLATE utf8mb4_bin,
  `retry_after_on` mediumtext COLLATE utf8mb4_bin,
  `bucket_scope_code` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `jitter` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `adapt_settings` mediumtext COLLATE utf8mb4_bin,
  `quota_reserve` bigint DEFAULT NULL,
  `quota_shares` mediumtext COLLATE utf8mb4_bin,
  PRIMARY KEY (`id`),
  KEY `idx_rate_limit_cfg_pick` (`provenance_id`,`scope_code`,`task_type_key`,`effective_from`),
  CONSTRAINT `reg_prov_rate_limit_cfg_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_rate_limit_cfg_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_rate_limit_cfg_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_retry_cfg` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `max_retry_times` bigint DEFAULT NULL,
  `initial_delay` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `max_delay` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `initial_delay_millis` bigint DEFAULT NULL,
  `max_delay_millis` bigint DEFAULT NULL,
  `retry_http_status_json` mediumtext COLLATE utf8mb4_bin,
  `giveup_http_status_json` mediumtext COLLATE utf8mb4_bin,
  `factor` double DEFAULT NULL,
  `jitter` bigint DEFAULT NULL,
  `circuit_break_threshold` bigint DEFAULT NULL,
  `circuit_cooldown` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `circuit_cooldown_millis` bigint DEFAULT NULL,
  `circuit_cooldown_most` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_retry_cfg_pick` (`provenance_id`,`scope_code`,`task_type_key`,`effective_from`),
  CONSTRAINT `reg_prov_retry_cfg_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_retry_cfg_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_retry_cfg_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_schedule_cfg` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `harvest_cron` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `update_cron` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `update_older_than` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `timezone` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `quiet_hours` mediumtext COLLATE utf8mb4_bin,
  `sentinel` tinyint DEFAULT NULL,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  PRIMARY KEY (`id`),
  KEY `idx_schedule_cfg_pick` (`provenance_id`,`scope_code`,`task_type_key`,`effective_from`),
  CONSTRAINT `reg_prov_schedule_cfg_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_schedule_cfg_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_schedule_cfg_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_prov_window_offset_cfg` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_id` bigint NOT NULL,
  `scope_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `task_type` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `task_type_key` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (upper(ifnull(`task_type`,_utf8mb4'ALL'))) STORED,
  `effective_from` datetime(6) NOT NULL,
  `effective_to` datetime(6) DEFAULT NULL,
  `supersedes_id` bigint DEFAULT NULL,
  `default_date_field_name` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `filters` mediumtext COLLATE utf8mb4_bin,
  `time_precision_code` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `timezone` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `bound_style_code` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `updated_at_code` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `safety_lag` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `align_to` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `overlap_size` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `initial_lookback` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `window_size` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `window_min_size` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `target_records` bigint DEFAULT NULL,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '(sql)',
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `slice_strategy_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `split_dimension` mediumtext COLLATE utf8mb4_bin,
  `max_requests` int DEFAULT NULL,
  `max_records` bigint DEFAULT NULL,
  `max_duration` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `max_open_slices` int DEFAULT NULL,
  `pages_per_slice` bigint DEFAULT NULL,
  `records_per_day` bigint DEFAULT NULL,
  `beginning` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `window_mode_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `window_size_value` bigint DEFAULT NULL,
  `window_size_unit_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `overlap_value` bigint DEFAULT NULL,
  `overlap_unit_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `lookback_value` bigint DEFAULT NULL,
  `lookback_unit_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `offset_type_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `lag_least` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `lag_most` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `priority` bigint DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_window_offset_cfg_pick` (`provenance_id`,`scope_code`,`task_type_key`,`effective_from`),
  CONSTRAINT `reg_prov_window_offset_cfg_chk_1` CHECK ((`scope_code` in (_utf8mb4'SOURCE',_utf8mb4'TASK'))),
  CONSTRAINT `reg_prov_window_offset_cfg_chk_2` CHECK ((`task_type_key` in (_utf8mb4'ALL',_utf8mb4'HARVEST',_utf8mb4'BACKFILL',_utf8mb4'UPDATE'))),
  CONSTRAINT `reg_prov_window_offset_cfg_chk_3` CHECK (((`scope_code` = _utf8mb4'TASK') = (`task_type_key` <> _utf8mb4'ALL')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `reg_provenance` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `provenance_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `provenance_name` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `homepage` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `base_url_default` varchar(255) COLLATE utf8mb4_bin DEFAULT NULL,
  `timezone_default` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `record_type` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `identity_code` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `origin_code` varchar(64) COLLATE utf8mb4_bin NOT NULL DEFAULT 'SQL',
  `origin_hash` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `created_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  `updated_at` datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_prov_code` (`provenance_code`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sys_api_reply` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `actor` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `idempotency_key` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `request_hash` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `http_status` bigint NOT NULL DEFAULT '0',
  `body` mediumblob,
  `created_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_api_reply` (`actor`,`idempotency_key`),
  KEY `idx_api_reply_age` (`created_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sys_api_token` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `token_name` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `token_hash` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `role_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `expires_at` datetime(6) DEFAULT NULL,
  `revoked_at` datetime(6) DEFAULT NULL,
  `created_by` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `created_at` datetime(6) NOT NULL,
  `live_name` varchar(64) COLLATE utf8mb4_bin GENERATED ALWAYS AS ((case when (`revoked_at` is null) then `token_name` end)) STORED,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_api_token_hash` (`token_hash`),
  UNIQUE KEY `uk_api_token_live` (`live_name`),
  CONSTRAINT `sys_api_token_chk_1` CHECK ((`role_code` in (_utf8mb4'viewer',_utf8mb4'operator',_utf8mb4'admin')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sys_audit` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `actor` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `action_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `object` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  `reason` mediumtext COLLATE utf8mb4_bin,
  `before_state` mediumtext COLLATE utf8mb4_bin,
  `after_state` mediumtext COLLATE utf8mb4_bin,
  `preview_hash` varchar(64) COLLATE utf8mb4_bin DEFAULT NULL,
  `created_at` datetime(6) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_audit_object` (`object`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sys_dict_item` (
  `type_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `item_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `item_name` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`type_code`,`item_code`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sys_dict_item_alias` (
  `type_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `alias_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `item_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`type_code`,`alias_code`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sys_dict_type` (
  `type_code` varchar(64) COLLATE utf8mb4_bin NOT NULL,
  `type_name` varchar(255) COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`type_code`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
