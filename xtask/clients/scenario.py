"""A client by openapi-python-client."""

import os
import time
from io import BytesIO
from typing import TypeVar

from rowmill_client import AuthenticatedClient
from rowmill_client.api.columns import create_column, list_columns, update_column
from rowmill_client.api.processing import get_status, trigger, watch_events
from rowmill_client.api.projects import create_project, delete_project, get_project
from rowmill_client.api.rows import delete_rows, export_file, get_row, import_file, insert_rows, list_rows
from rowmill_client.api.views import create_view
from rowmill_client.models import (
    ApiColumn,
    ApiConfigInput,
    ApiSettingsInput,
    ColumnCreate,
    ColumnCreateTemplateId,
    ColumnPatch,
    ColumnList,
    CreatedColumnBrief,
    ColumnPatched,
    Deleted,
    EventIntegration,
    EventMetadata,
    EventMetadataIntegration,
    Failure,
    Filter,
    FilterGroup,
    FilterGroupConjunction,
    FilterOperator,
    ImportResult,
    ProjectCreate,
    ProjectCreated,
    ProjectSettingsInput,
    RetryPatch,
    RowAnswer,
    RowBatch,
    RowBody,
    RowList,
    RowsDelete,
    RowsInserted,
    Status,
    TaskColumn,
    TriggerBody,
    Triggered,
    ViewAnswer,
    ViewCreate,
    WaterfallTask,
)
from rowmill_client.types import UNSET, File, Unset

T = TypeVar("T")


def expect(answer: object, kind: type[T]) -> T:
    """The answer, if it is of this kind."""
    assert isinstance(answer, kind), f"expected {kind.__name__}, got {answer}"
    return answer


def row(name: str, city: str) -> RowBody:
    body = RowBody()
    body["Name"], body["City"] = name, city
    return body


url = os.environ["CLIENT_URL"]
client = AuthenticatedClient(base_url=url, token=os.environ["CLIENT_KEY"])
manual = ColumnCreateTemplateId.MANUAL

event = EventIntegration(event_id="evt-1", webhook_enabled=False)
body = ProjectCreate(
    title="Leads",
    settings=ProjectSettingsInput(api=ApiSettingsInput(create_columns_from_keys=False)),
    metadata=EventMetadata(integration=EventMetadataIntegration.EVENTPLATFORM_EVENT, eventplatform=event),
    columns=[ColumnCreate(template_id=manual, header="Name"), ColumnCreate(template_id=manual, header="City")],
)
project = expect(create_project.sync(client=client, body=body), ProjectCreated).project
metadata = expect(project.metadata, EventMetadata)
assert metadata.eventplatform.event_id == "evt-1"

config = ApiConfigInput(url=f"{url}/healthz", response_path="status")
health = ColumnCreate(template_id=ColumnCreateTemplateId.HTTP_API, header="Health", api_config=config)
expect(create_column.sync(project.id, client=client, body=health), CreatedColumnBrief)
email = ColumnCreate(template_id=ColumnCreateTemplateId.WATERFALL_EMAIL, header="E-mail")
expect(create_column.sync(project.id, client=client, body=email), CreatedColumnBrief)
columns = expect(list_columns.sync(project.id, client=client), ColumnList).columns
api = next(column for column in columns if isinstance(column, ApiColumn))
assert api.api_config.url == config.url
task = next(column for column in columns if isinstance(column, TaskColumn))
assert expect(task.task_config, WaterfallTask).waterfall_email.input_mapping.first_name == ""
patch = ColumnPatch(retry=RetryPatch(max_attempts=2))
patched = expect(update_column.sync(project.id, api.id, client=client, body=patch), ColumnPatched)
assert expect(patched.column, ApiColumn).retry.max_attempts == 2

batch = RowBatch(rows=[row("Ada", "London"), row("Alan", "London"), row("Barbara", "Boston")])
inserted = expect(insert_rows.sync(project.id, client=client, body=batch), RowsInserted)
assert inserted.inserted_count == 3
file = File(payload=BytesIO(b"Name,City\r\nGrace,New York\r\nEdsger,Austin\r\n"))
imported = expect(import_file.sync(project.id, client=client, body=file), ImportResult)
assert (imported.imported_count, imported.rejected) == (2, [])

ids: list[str] = []
cursor: str | Unset | None = UNSET
while cursor is not None:
    page = expect(list_rows.sync(project.id, client=client, page_size=2, cursor=cursor), RowList)
    assert page.pagination.total_rows == 5
    ids.extend(item.id for item in page.rows)
    cursor = page.pagination.next_cursor
assert ids[:3] == inserted.rows

named = FilterGroup(
    conjunction=FilterGroupConjunction.NOT, filters=[Filter(column_id="Name", operator=FilterOperator.ISEMPTY)]
)
london = Filter(column_id="City", operator=FilterOperator.EQUALS, value="London")
view_body = ViewCreate(name="London", filters=[london, named])
view = expect(create_view.sync(project.id, client=client, body=view_body), ViewAnswer).view
assert len(view.filters) == 2 and expect(view.filters[1], FilterGroup).filters
assert len(expect(list_rows.sync(project.id, client=client, view_id=view.id), RowList).rows) == 2

run = expect(trigger.sync(project.id, client=client, body=TriggerBody(column_ids=[api.id])), Triggered)
assert run.triggered_count == 5
for _ in range(300):
    if not expect(get_status.sync(project.id, client=client), Status).processing:
        break
    time.sleep(0.1)
cell = expect(get_row.sync(project.id, ids[0], client=client), RowAnswer).row.cells[api.id]
assert cell.value == "ok", cell

assert "Grace,New York" in expect(export_file.sync(project.id, client=client), str)
assert "event: status" in expect(watch_events.sync(project.id, client=client, seconds=0), str)

gone = expect(delete_rows.sync(project.id, client=client, body=RowsDelete(row_ids=ids)), Deleted)
assert gone.deleted_count == 5
expect(delete_project.sync(project.id, client=client), Deleted)
assert expect(get_project.sync(project.id, client=client), Failure).code == "project_not_found"
