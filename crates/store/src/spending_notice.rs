//! What webhooks are told of a cap that was reached.

use rowmill_model::{EventType, ProjectId};
use serde_json::json;

use crate::changes::timestamp;
use crate::spending::{Reached, Reserve};
use crate::webhooks::{NewDelivery, Subscription};

impl Reserve {
    /// What webhooks are told of a cap that was reached.
    pub fn deliveries(
        &self,
        subscriptions: Vec<Subscription>,
        reached: &Reached,
        seq: u64,
    ) -> Vec<NewDelivery> {
        let event = EventType::SpendLimitReached;
        let mut data = json!({
            "projectId": self.lane.project.to_string(), "sequence": seq, "columnId": self.column.as_str(),
            "cap": reached.cap,
        });
        if let (Some(at_ms), Some(data)) = (reached.resets_at_ms, data.as_object_mut()) {
            data.insert("resetsAt".to_owned(), timestamp(at_ms).into());
        }
        let body =
            json!({ "type": event.word(), "timestamp": timestamp(self.now_ms), "data": data }).to_string();
        let is_told = |subscription: &Subscription| {
            let is_about = |ids: &Vec<ProjectId>| ids.contains(&self.lane.project);
            subscription.events.contains(&event) && subscription.project_ids.as_ref().is_none_or(is_about)
        };
        let delivery = |subscription: Subscription| NewDelivery {
            webhook: subscription.webhook,
            event: event.word().to_owned(),
            project: Some(self.lane.project),
            seq,
            created_at_ms: self.now_ms,
            body: body.clone(),
        };
        subscriptions.into_iter().filter(is_told).map(delivery).collect()
    }
}
