"""Reads all works of a simulated Crossref with Airbyte's CDK: with_airbyte.py URL FOLDER.

A described source, as its builder makes them; what it says is written to a file, as a
destination would get it. It prints how many records it said.
"""
import json
import os
import sys

url, folder = sys.argv[1:3]

from airbyte_cdk.entrypoint import AirbyteEntrypoint  # noqa: E402
from airbyte_cdk.sources.declarative.concurrent_declarative_source import ConcurrentDeclarativeSource  # noqa: E402

manifest = {
    "version": "6.0.0",
    "type": "DeclarativeSource",
    "check": {"type": "CheckStream", "stream_names": ["works"]},
    "streams": [{
        "type": "DeclarativeStream",
        "name": "works",
        "primary_key": ["DOI"],
        "schema_loader": {"type": "InlineSchemaLoader", "schema": {"type": "object", "additionalProperties": True, "properties": {"DOI": {"type": "string"}}}},
        "retriever": {
            "type": "SimpleRetriever",
            "requester": {
                "type": "HttpRequester", "url_base": url, "path": "/works", "http_method": "GET",
                "request_parameters": {"rows": "1000"},
            },
            "record_selector": {"type": "RecordSelector", "extractor": {"type": "DpathExtractor", "field_path": ["message", "items"]}},
            "paginator": {
                "type": "DefaultPaginator",
                "page_token_option": {"type": "RequestOption", "inject_into": "request_parameter", "field_name": "cursor"},
                "pagination_strategy": {
                    "type": "CursorPagination",
                    "cursor_value": "{{ response.get('message', {}).get('next-cursor') }}",
                    "stop_condition": "{{ last_page_size == 0 }}",
                },
            },
        },
    }],
    "spec": {"type": "Spec", "connection_specification": {"type": "object", "properties": {}}},
}
manifest["streams"][0]["retriever"]["requester"]["request_parameters"]["cursor"] = "{{ next_page_token['next_page_token'] if next_page_token else '*' }}"
del manifest["streams"][0]["retriever"]["paginator"]["page_token_option"]

config = os.path.join(folder, "config.json")
catalog = os.path.join(folder, "catalog.json")
with open(config, "w") as f:
    json.dump({}, f)
with open(catalog, "w") as f:
    stream = {"name": "works", "json_schema": {}, "supported_sync_modes": ["full_refresh"]}
    json.dump({"streams": [{"stream": stream, "sync_mode": "full_refresh", "destination_sync_mode": "append"}]}, f)
with open(catalog) as f:
    chosen = json.load(f)
from airbyte_cdk.models import ConfiguredAirbyteCatalogSerializer  # noqa: E402

source = ConcurrentDeclarativeSource(catalog=ConfiguredAirbyteCatalogSerializer.load(chosen), config={}, state=[], source_config=manifest)
said = 0
with open(os.path.join(folder, "records.jsonl"), "w") as out:
    for line in AirbyteEntrypoint(source).run(AirbyteEntrypoint.parse_args(["read", "--config", config, "--catalog", catalog])):
        if '"type":"RECORD"' in line[:40]:
            said += 1
        out.write(line)
        out.write("\n")
print(said)
