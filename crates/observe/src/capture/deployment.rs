//! What the deployment says of itself: its metrics twice, and who it is.

use super::{Limits, Plan, Taken, secrets, unix_s};
use crate::{
    address::Address,
    client::{Answer, HttpClient, Settings},
    error::Result,
    identity::identify,
    scrape::ACCEPT,
};

/// The page that both readings of the metrics give; `identify` reads it as well.
const PAGE: &str = "metrics.prom";

fn client(plan: &Plan, limits: &Limits) -> Result<HttpClient> {
    HttpClient::new(&Settings {
        total: limits.answer,
        body_limit: limits.bytes,
        extra_ca: plan.extra_ca.clone(),
        ..Settings::default()
    })
}

/// `/metrics` twice, each with its time before it: one page of two readings, so that growth and rates are known.
pub(super) async fn metrics(plan: &Plan, base: &Address) -> Taken {
    let mut taken = Taken::default();
    let client = match client(plan, &plan.limits) {
        Ok(client) => client,
        Err(error) => return Taken::missing(error.to_string()),
    };
    let address = base.root().join("/metrics");
    let mut page = Vec::new();
    for reading in ["first", "second"] {
        if reading == "second" {
            tokio::time::sleep(plan.limits.gap).await;
        }
        let began = unix_s();
        match client.get(&address, &plan.headers, ACCEPT).await {
            Ok(Answer { body, .. }) => {
                let midway = f64::midpoint(began, unix_s());
                page.extend_from_slice(format!("# time: {midway:.6}\n").as_bytes());
                page.extend_from_slice(secrets::page(&String::from_utf8_lossy(&body)).as_bytes());
                page.push(b'\n');
            }
            Err(error) => taken.lacks(format!("the {reading} reading: {error}")),
        }
    }
    if !page.is_empty() {
        taken.file(PAGE, page);
    }
    taken
}

/// Models, version, settings.
pub(super) async fn identity(plan: &Plan, base: &Address) -> Taken {
    let asked = match client(plan, &plan.limits) {
        Ok(client) => identify(&client, base, &plan.headers).await,
        Err(error) => Err(error),
    };
    let identity = match asked {
        Ok(identity) => identity,
        Err(error) => return Taken::missing(error.to_string()),
    };
    let files = identity.pages.into_iter().filter(|page| page.name != PAGE).collect();
    let missing = identity.notes.into_iter().filter(|note| !note.starts_with("/metrics")).collect();
    Taken { files, missing, ..Taken::default() }
}
