//! `rowmill columns`.

use std::sync::Arc;

use clap::Args;
use rowmill_clock::Clock;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::connection::ConnectionArgs;
use crate::failure::{Ending, Failure};
use crate::output::{Grid, JsonArray};
use crate::tables;
use crate::wire::Column;

#[derive(Debug, Args)]
pub struct ColumnsArgs {
    /// The table's id or title.
    table: String,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

#[derive(Deserialize)]
struct Columns {
    columns: Vec<Box<RawValue>>,
}

pub(crate) async fn run(args: ColumnsArgs, clock: Arc<dyn Clock>) -> Result<Ending, Failure> {
    let server = args.connection.connect(clock)?;
    let table = tables::find(&server, &args.table).await?;
    if args.connection.json {
        let answer = server.get(&table.path("/columns"), &[]).await?;
        let mut array = JsonArray::default();
        array.print(&answer.parse::<Columns>()?.columns)?;
        array.end()?;
        return Ok(Ending::Done);
    }
    let row = |column: Column| {
        let Column { id, header, kind, data_shape } = column;
        vec![id, header, kind, data_shape]
    };
    let rows: Vec<Vec<String>> = table.columns(&server).await?.into_iter().map(row).collect();
    Grid::new(&["ID", "HEADER", "TYPE", "SHAPE"]).print(&rows)?;
    Ok(Ending::Done)
}
