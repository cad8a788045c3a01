"""Reads all works of a simulated Crossref with dlt into Parquet: with_dlt.py URL FOLDER.

Set as fast as its documentation tells: no tables for nested values, files of one kind from
the beginning to the end, no progress, no telemetry. It prints how many records it loaded.
"""
import os
import sys

url, folder = sys.argv[1:3]
os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
os.environ["RUNTIME__LOG_LEVEL"] = "CRITICAL"
os.environ["DLT_DATA_DIR"] = os.path.join(folder, "state")
os.environ["DATA_WRITER__BUFFER_MAX_ITEMS"] = "10000"
os.environ["NORMALIZE__DATA_WRITER__DISABLE_COMPRESSION"] = "true"

import dlt  # noqa: E402  (its settings are read when it is loaded)
from dlt.sources.helpers.rest_client import RESTClient  # noqa: E402
from dlt.sources.helpers.rest_client.paginators import JSONResponseCursorPaginator  # noqa: E402


class UntilEmpty(JSONResponseCursorPaginator):
    """Crossref gives a cursor with every page; the end is a page without items."""

    def update_state(self, response, data=None):
        super().update_state(response, data)
        if not data:
            self._has_next_page = False


@dlt.resource(name="works", write_disposition="append", max_table_nesting=0)
def works():
    client = RESTClient(base_url=url, paginator=UntilEmpty(cursor_path="message.next-cursor", cursor_param="cursor"), data_selector="message.items")
    for page in client.paginate("works", params={"cursor": "*", "rows": 1000}):
        if page:
            yield page


pipeline = dlt.pipeline("peer", destination=dlt.destinations.filesystem(os.path.join(folder, "out")), dataset_name="d", pipelines_dir=os.path.join(folder, "pipelines"))
pipeline.run(works(), loader_file_format="parquet")
print(pipeline.last_trace.last_normalize_info.row_counts.get("works", 0))
