//! What is promised, sentence by sentence of the contract.

mod access;
mod agent_access;
mod agent_tasks;
mod agents;
mod ai_columns;
mod attachments;
mod backups;
mod batch_rounds;
mod batches;
mod cells;
mod client;
mod client_messages;
mod client_tail;
mod column_types;
mod columns;
mod commands;
mod comparisons;
mod connections;
mod corrections;
mod costs;
mod crashes;
mod crawling;
mod credentials;
mod cursors;
mod damage;
mod dead_hosts;
mod disk_faults;
mod disk_space;
mod doctor;
mod document;
mod documentation;
mod duplicates;
mod entity_tags;
mod estimates;
mod events;
mod exhaustion;
mod failover;
mod fan_out;
mod files;
mod first_start;
mod heads;
mod hosted_research;
mod idempotency;
mod ids;
mod import_jobs;
mod inbound_deliveries;
mod inbound_hooks;
mod kept_answers;
mod kept_pages;
mod key_lifetimes;
mod key_scopes;
mod large_documents;
mod large_rows;
mod links;
mod lists;
mod lookups;
mod matching;
mod metrics;
mod monitoring;
mod moving;
mod names;
mod neighbours;
mod nodes;
mod operators;
mod outbound_webhooks;
mod paid;
mod permissions;
mod power_cuts;
mod processing;
mod projects;
mod prompt_caching;
mod provider_columns;
mod proxies;
mod quotas;
mod rates;
mod refusals;
mod rendering;
mod research;
mod research_costs;
mod research_time;
mod row_updates;
mod rows;
mod runs;
mod scraping;
mod service_managers;
mod sessions;
mod shared_rates;
mod site;
mod sizes;
mod spending_caps;
mod stale;
mod stopping;
mod streams;
mod summaries;
mod system;
mod teams;
mod thumbnails;
mod tls;
mod traces;
mod trash;
mod trials;
mod turmoil;
mod upgrading;
mod views;
mod warm_up;
mod webhook;
mod webhook_deliveries;
mod writers;

use crate::harness::Scenario;

/// Every scenario. Those that take longest come first, so that nobody waits for them at the end.
const ALL: &[&[Scenario]] = &[
    nodes::NODES,
    shared_rates::NODES,
    crawling::NODES,
    fan_out::NODES,
    runs::NODES,
    import_jobs::NODES,
    stale::NODES,
    paid::NODES,
    spending_caps::NODES,
    research_costs::NODES,
    batch_rounds::NODES,
    webhook_deliveries::NODES,
    inbound_deliveries::NODES,
    failover::NODES,
    stopping::NODES,
    cursors::NODES,
    entity_tags::NODES,
    trash::NODES,
    first_start::NODES,
    backups::NODES,
    backups::EMBEDDED,
    backups::OWN,
    large_rows::OWN,
    batches::OWN,
    batch_rounds::OWN,
    neighbours::OWN,
    crashes::OWN,
    webhook_deliveries::OWN,
    outbound_webhooks::OWN,
    exhaustion::OWN,
    large_documents::OWN,
    power_cuts::EMBEDDED,
    damage::EMBEDDED,
    disk_space::EMBEDDED,
    disk_faults::EMBEDDED,
    disk_faults::NODES,
    dead_hosts::OWN,
    moving::OWN,
    upgrading::OWN,
    scraping::OWN,
    rendering::OWN,
    crawling::OWN,
    fan_out::OWN,
    warm_up::OWN,
    writers::EMBEDDED,
    writers::OWN,
    processing::OWN,
    stale::OWN,
    lookups::OWN,
    provider_columns::OWN,
    ai_columns::OWN,
    attachments::OWN,
    thumbnails::OWN,
    prompt_caching::OWN,
    research::OWN,
    hosted_research::OWN,
    research_costs::OWN,
    research_time::OWN,
    kept_answers::OWN,
    paid::OWN,
    estimates::OWN,
    spending_caps::OWN,
    metrics::OWN,
    monitoring::SHARED,
    doctor::OWN,
    doctor::EMBEDDED,
    doctor::NODES,
    connections::OWN,
    connections::EMBEDDED,
    tls::OWN,
    heads::OWN,
    streams::OWN,
    events::OWN,
    access::OWN,
    service_managers::OWN,
    sessions::OWN,
    sessions::NODES,
    key_scopes::OWN,
    key_lifetimes::OWN,
    key_lifetimes::NODES,
    trials::OWN,
    comparisons::OWN,
    agent_tasks::OWN,
    agent_access::OWN,
    import_jobs::OWN,
    duplicates::OWN,
    files::OWN,
    first_start::EMBEDDED,
    site::OWN,
    teams::OWN,
    webhook::OWN,
    inbound_hooks::OWN,
    inbound_deliveries::OWN,
    credentials::OWN,
    rates::OWN,
    proxies::OWN,
    document::OWN,
    quotas::OWN,
    trash::OWN,
    commands::OWN,
    commands::EMBEDDED,
    client::OWN,
    client_messages::OWN,
    client_tail::OWN,
    client::EMBEDDED,
    permissions::EMBEDDED,
    stopping::OWN,
    system::OWN,
    sizes::OWN,
    projects::OWN,
    names::OWN,
    runs::OWN,
    idempotency::OWN,
    entity_tags::OWN,
    links::OWN,
    row_updates::OWN,
    large_rows::SHARED,
    files::SHARED,
    import_jobs::SHARED,
    trials::SHARED,
    agents::SHARED,
    agent_access::SHARED,
    sizes::SHARED,
    site::SHARED,
    ids::SHARED,
    refusals::SHARED,
    system::SHARED,
    document::SHARED,
    documentation::SHARED,
    projects::SHARED,
    columns::SHARED,
    column_types::SHARED,
    summaries::SHARED,
    duplicates::SHARED,
    corrections::SHARED,
    rows::SHARED,
    matching::SHARED,
    names::SHARED,
    names::V4,
    cells::SHARED,
    entity_tags::SHARED,
    entity_tags::V4,
    links::SHARED,
    links::V4,
    row_updates::SHARED,
    turmoil::SHARED,
    lists::SHARED,
    kept_pages::SHARED,
    cursors::SHARED,
    views::SHARED,
    operators::SHARED,
    idempotency::SHARED,
    costs::SHARED,
    processing::VERSIONS,
    runs::VERSIONS,
    events::SHARED,
    webhook::SHARED,
    inbound_hooks::SHARED,
    inbound_deliveries::SHARED,
    trash::SHARED,
    traces::OWN,
    traces::NODES,
];

pub(crate) fn all() -> Vec<Scenario> {
    ALL.concat()
        .into_iter()
        .flat_map(Scenario::in_all_versions)
        .flat_map(Scenario::on_all_databases)
        .collect()
}
