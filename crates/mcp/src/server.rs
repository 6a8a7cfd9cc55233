//! The protocol's messages, each handed to whoever answers it.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, GetPromptRequestParams, GetPromptResponse,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, Tool as Definition,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use rowmill_app::App;
use rowmill_clock::Clock;
use rowmill_fairness::Tenant;
use rowmill_model::Scopes;
use rowmill_model::nearest::nearest;
use rowmill_telemetry::TraceContext;

use crate::answer_size::bounded;
use crate::arguments::Arguments;
use crate::call::Call;
use crate::context::Context;
use crate::definitions::{argument_names, definition, definitions};
use crate::prompts;
use crate::refusal::Refusal;
use crate::resources;
use crate::tool::Tool;
use crate::tools;

const INSTRUCTIONS: &str = "Rowmill holds tables whose columns fill themselves: by AI, web pages, HTTP APIs or e-mail \
     finders. Name tables by id or title and cells by header. Usual order: list_tables or create_table, \
     describe_table, upsert_rows, list_column_kinds, try_column, set_column, run (a dry run first: it tells the cost), \
     run_status, query_rows. Running costs money: ask before large runs. Never ask for API keys of providers: people \
     enter them on the page.";

/// Answers messages. It keeps nothing between them.
#[derive(Clone)]
pub(crate) struct Server {
    app: Arc<App>,
    clock: Arc<dyn Clock>,
}

impl Server {
    pub(crate) fn new(app: Arc<App>, clock: Arc<dyn Clock>) -> Self {
        Self { app, clock }
    }

    async fn call(
        &self,
        call: &Call,
        tool: Tool,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let context = Context { app: &self.app, clock: &*self.clock, call, request: context };
        let is_long = request.arguments.as_ref().is_some_and(|arguments| arguments.contains_key("maxChars"));
        let mut arguments = Arguments::new(request.arguments.unwrap_or_default(), &argument_names(tool));
        match tools::call(tool, &context, &mut arguments).await {
            Ok(answer) if is_long => CallToolResult::structured(answer),
            Ok(answer) => CallToolResult::structured(bounded(answer)),
            Err(refusal) => {
                if let Some(cause) = refusal.cause() {
                    let request_id = &*call.request_id;
                    let team = call.caller.team();
                    tracing::error!(request_id, %team, tool = tool.name(), error = ?cause, "tool failed");
                }
                refusal.into_result()
            }
        }
    }
}

/// Who calls, and whom the work is for. Messages are answered in tasks of their own, which must be told again.
fn caller(context: &RequestContext<RoleServer>) -> Result<(&Call, Tenant), ErrorData> {
    let parts = context.extensions.get::<http::request::Parts>();
    let call = parts.and_then(|parts| parts.extensions.get::<Call>());
    let call = call.ok_or_else(|| ErrorData::internal_error("The request came without its caller", None))?;
    Ok((call, Tenant::team(call.caller.team().0.as_u128())))
}

/// Whether a tool is offered to this caller.
fn is_offered(call: &Call, tool: Tool) -> bool {
    let is_in_reach = tool != Tool::CreateTable || call.caller.reaches_new_projects();
    (tool.is_read_only() || !call.read_only) && call.caller.needs(tool.scopes()).is_ok() && is_in_reach
}

/// That the caller may read: what is no tool shows tables, too.
fn reads(call: &Call) -> Result<(), ErrorData> {
    call.caller.needs(Scopes::READ).map_err(|error| ErrorData::invalid_request(error.to_string(), None))
}

fn not_offered(name: &str, call: &Call) -> Refusal {
    let tool = Tool::named(name);
    if let Some(Err(missing)) = tool.map(|tool| call.caller.needs(tool.scopes())) {
        return Refusal::from(missing)
            .next("Ask the person for a key with this scope; Settings, Agents makes one.");
    }
    if tool == Some(Tool::CreateTable) && !call.caller.reaches_new_projects() {
        return Refusal::new("This key is limited to some tables, and cannot create another.")
            .next("Ask the person for a key without that limit; Settings, Agents makes one.");
    }
    if tool.is_some() {
        return Refusal::new(format!("{name} changes things, and this connection only reads."))
            .next("Connect to /mcp without read_only=true to change things.");
    }
    let offered = Tool::ALL.into_iter().filter(|tool| is_offered(call, *tool)).map(Tool::name);
    match nearest(name, offered) {
        Some(meant) => Refusal::new(format!("There is no tool {name:?}; did you mean {meant}?")),
        None => Refusal::new("There is no such tool; tools/list shows them."),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources().build();
        let implementation = Implementation::new("rowmill", env!("CARGO_PKG_VERSION")).with_title("Rowmill");
        ServerConfig::new(capabilities).with_server_info(implementation).with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Definition> {
        definition(Tool::named(name)?).cloned()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (call, _) = caller(&context)?;
        let offered = Tool::ALL.into_iter().zip(definitions()).filter(|(tool, _)| is_offered(call, *tool));
        Ok(ListToolsResult::with_all_items(offered.map(|(_, definition)| definition.clone()).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (call, tenant) = caller(&context)?;
        let Some(tool) = Tool::named(&request.name) else {
            // To the protocol this is no tool's failure but a call of nothing.
            let name: String = request.name.chars().take(100).collect();
            return Err(ErrorData::invalid_params(not_offered(&name, call).message().to_owned(), None));
        };
        if !is_offered(call, tool) {
            return Ok(not_offered(tool.name(), call).into_result().into());
        }
        let answer = TraceContext::scope(call.trace, self.call(call, tool, request, &context));
        Ok(Box::pin(tenant.scope(answer)).await.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        Ok(prompts::prompt(&request.name, &arguments)?.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (call, tenant) = caller(&context)?;
        reads(call)?;
        let reader = Context { app: &self.app, clock: &*self.clock, call, request: &context };
        Ok(ListResourcesResult::with_all_items(tenant.scope(resources::list(&reader)).await?))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let (call, tenant) = caller(&context)?;
        reads(call)?;
        let reader = Context { app: &self.app, clock: &*self.clock, call, request: &context };
        Ok(tenant.scope(resources::read(&reader, &request.uri)).await?.into())
    }
}
