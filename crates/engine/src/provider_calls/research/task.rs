//! What is to be researched for a cell, by whom and how far.

use std::sync::Arc;

use rowmill_model::column::{AiConfig, Research};
use rowmill_providers::attachment::Attachment;
use rowmill_providers::llm::{Prefix, Tool};
use rowmill_store::spending::TeamSpending;

use super::super::ai_model::Model;
use super::super::prompt::Prompt;
use super::super::{identity, invalid, team_part};
use super::answer::Shape;
use super::instructions;
use super::prices::Prices;
use super::web_search::{SearchAccess, engines};
use crate::cell_runner::{CallOutcome, Cell};
use crate::credentials::TeamCredentials;
use crate::digest::Digest;

/// A cell to be researched.
pub(in super::super) struct Task<'a> {
    pub(super) cell: &'a Cell,
    pub(super) model: &'a Model,
    pub(super) config: &'a AiConfig,
    pub(super) limits: &'a Research,
    pub(super) shape: Shape,
    pub(super) engines: Vec<SearchAccess>,
    pub(super) tools: Vec<Tool>,
    /// The model's name, and what it is told.
    pub(super) name: String,
    pub(super) system: String,
    pub(super) prompt: &'a str,
    pub(in super::super) attachments: Arc<[Attachment]>,
    pub(super) prices: Prices,
    /// What rows of the column share.
    pub(super) prefix: Prefix,
}

impl<'a> Task<'a> {
    pub(in super::super) fn new(
        cell: &'a Cell,
        credentials: &TeamCredentials,
        (model, name): (&'a Model, String),
        (config, limits): (&'a AiConfig, &'a Research),
        prompt: &'a Prompt,
        spending: Arc<TeamSpending>,
    ) -> Result<Self, CallOutcome> {
        let shape = Shape::new(config.schema().as_ref())
            .map_err(|words| invalid(format!("The column's output schema is not usable: {words}.")))?;
        let engines = engines(limits, credentials)?;
        let tools = instructions::tools(limits);
        let system = instructions::system(prompt.system.as_deref(), limits, &shape);
        let prices = Prices { spending, provider: model.provider.about.id, model: name.clone() };
        let prefix = prompt.prefix(cell, &name);
        let (prompt, attachments) = (prompt.text.as_str(), Arc::default());
        Ok(Self {
            cell,
            model,
            config,
            limits,
            shape,
            engines,
            tools,
            name,
            system,
            prompt,
            attachments,
            prices,
            prefix,
        })
    }

    /// Names all that is asked, and whom.
    pub(in super::super) fn digest(&self) -> Digest {
        let limits = serde_json::to_string(self.limits).unwrap_or_default();
        let account = format!("{:?}", identity(self.model.provider, &self.model.access));
        let settings = format!("{:?} {:?}", self.config.temperature, self.config.max_tokens);
        let team = team_part(self.cell.project.team);
        let parts = ["research", &team, &account, &self.name, &self.system, self.prompt, &limits, &settings];
        Digest::of(parts.into_iter().chain(self.attachments.iter().map(|file| file.data.as_ref())))
    }

    /// Names the records: those of another row, or of another question, are of no use.
    pub(super) fn steps_key(&self) -> Digest {
        let (asked, row) = (format!("{:?}", self.digest()), self.cell.row.to_string());
        let project = self.cell.project.id.to_string();
        Digest::of([asked.as_str(), &project, self.cell.column.id.as_str(), &row])
    }

    /// Names the server and the model, for what they are found to take.
    pub(super) fn wire_key(&self) -> Digest {
        Digest::of(["wire", self.model.provider.about.id, self.model.access.base_url.as_str(), &self.name])
    }
}
