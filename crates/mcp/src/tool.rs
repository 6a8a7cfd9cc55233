//! The tools by name, with what each needs and may do.

use rmcp::model::ToolAnnotations;
use rowmill_model::Scopes;

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    ListTables,
    DescribeTable,
    QueryRows,
    GetRow,
    ListColumnKinds,
    RunStatus,
    CreateTable,
    SetColumn,
    TryColumn,
    UpsertRows,
    DeleteRows,
    Run,
    StopRun,
}

impl Tool {
    /// In the order in which they are listed.
    pub(crate) const ALL: [Self; 13] = [
        Self::ListTables,
        Self::DescribeTable,
        Self::QueryRows,
        Self::GetRow,
        Self::ListColumnKinds,
        Self::RunStatus,
        Self::CreateTable,
        Self::SetColumn,
        Self::TryColumn,
        Self::UpsertRows,
        Self::DeleteRows,
        Self::Run,
        Self::StopRun,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ListTables => "list_tables",
            Self::DescribeTable => "describe_table",
            Self::QueryRows => "query_rows",
            Self::GetRow => "get_row",
            Self::ListColumnKinds => "list_column_kinds",
            Self::RunStatus => "run_status",
            Self::CreateTable => "create_table",
            Self::SetColumn => "set_column",
            Self::TryColumn => "try_column",
            Self::UpsertRows => "upsert_rows",
            Self::DeleteRows => "delete_rows",
            Self::Run => "run",
            Self::StopRun => "stop_run",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// What a key must be allowed to do to use the tool. All of them read: answers and refusals name tables, columns and
    /// numbers of rows.
    pub(crate) fn scopes(self) -> Scopes {
        Scopes::READ.and(match self {
            Self::ListTables
            | Self::DescribeTable
            | Self::QueryRows
            | Self::GetRow
            | Self::ListColumnKinds
            | Self::RunStatus => Scopes::READ,
            Self::CreateTable | Self::SetColumn => Scopes::SCHEMA,
            Self::UpsertRows | Self::DeleteRows => Scopes::WRITE,
            // It calls providers, which may cost money, in a way that the caller chooses.
            Self::TryColumn => Scopes::RUN.and(Scopes::SCHEMA),
            Self::Run | Self::StopRun => Scopes::RUN,
        })
    }

    /// Whether it changes and spends nothing.
    pub(crate) fn is_read_only(self) -> bool {
        self.scopes() == Scopes::READ
    }

    pub(crate) fn annotations(self) -> ToolAnnotations {
        let annotations = ToolAnnotations::new().read_only(self.is_read_only());
        let is_open = matches!(self, Self::TryColumn | Self::Run);
        let annotations = annotations.open_world(is_open);
        if self.is_read_only() {
            return annotations;
        }
        // A column's change makes its results stale, an upsert overwrites cells: only what adds is not destructive.
        let is_destructive =
            matches!(self, Self::SetColumn | Self::UpsertRows | Self::DeleteRows | Self::Run);
        let is_idempotent = matches!(self, Self::SetColumn | Self::DeleteRows | Self::StopRun);
        annotations.destructive(is_destructive).idempotent(is_idempotent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_have_names_of_their_own() {
        for tool in Tool::ALL {
            assert_eq!(Tool::named(tool.name()), Some(tool));
        }
        assert_eq!(Tool::named("drop_table"), None);
    }

    #[test]
    fn what_spends_or_deletes_says_so() {
        let hints = |tool: Tool| {
            let annotations = tool.annotations();
            (annotations.read_only_hint, annotations.destructive_hint, annotations.open_world_hint)
        };
        assert_eq!(hints(Tool::QueryRows), (Some(true), None, Some(false)));
        assert_eq!(hints(Tool::DeleteRows), (Some(false), Some(true), Some(false)));
        assert_eq!(hints(Tool::Run), (Some(false), Some(true), Some(true)));
        assert_eq!(hints(Tool::StopRun), (Some(false), Some(false), Some(false)));
    }
}
