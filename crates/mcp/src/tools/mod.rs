//! The tools. Each reads its arguments, calls use cases and makes an answer.

mod create_table;
mod delete_rows;
mod describe_table;
mod get_row;
mod list_column_kinds;
mod list_tables;
mod query_rows;
mod run;
mod run_status;
mod set_column;
mod stop_run;
mod try_column;
mod upsert_rows;

use crate::arguments::Arguments;
use crate::context::Context;
use crate::refusal::Outcome;
use crate::tool::Tool;

pub(crate) use describe_table::described;

pub(crate) async fn call(tool: Tool, context: &Context<'_>, arguments: &mut Arguments) -> Outcome {
    match tool {
        Tool::ListTables => list_tables::call(context, arguments).await,
        Tool::DescribeTable => describe_table::call(context, arguments).await,
        Tool::QueryRows => query_rows::call(context, arguments).await,
        Tool::GetRow => get_row::call(context, arguments).await,
        Tool::ListColumnKinds => list_column_kinds::call(context, arguments).await,
        Tool::RunStatus => run_status::call(context, arguments).await,
        Tool::CreateTable => create_table::call(context, arguments).await,
        Tool::SetColumn => set_column::call(context, arguments).await,
        Tool::TryColumn => try_column::call(context, arguments).await,
        Tool::UpsertRows => upsert_rows::call(context, arguments).await,
        Tool::DeleteRows => delete_rows::call(context, arguments).await,
        Tool::Run => run::call(context, arguments).await,
        Tool::StopRun => stop_run::call(context, arguments).await,
    }
}
