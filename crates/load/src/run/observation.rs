//! Asking the deployment about itself, before and during a run.

use crate::{
    error::Error,
    options::{Options, Target},
};
use firstcheck_observe::{Headers, HttpClient, Identity, Scraper, Settings};

/// How the deployment is asked about itself.
pub(super) struct Observation {
    client: HttpClient,
    headers: Headers,
    pub scraper: Option<Scraper>,
}

impl Observation {
    pub fn new(target: &Target, options: &Options) -> Result<Self, Error> {
        let settings = Settings { extra_ca: target.authorities.clone(), ..Settings::default() };
        let client = HttpClient::new(&settings)?;
        let mut headers = Headers::default();
        for (name, value) in &target.headers {
            headers = headers.add(name, value)?;
        }
        if let Some(key) = &target.key {
            headers = headers.bearer(key.reveal())?;
        }
        let mut pages = Vec::new();
        if options.scrape.metrics {
            pages.push(firstcheck_observe::Target::metrics_of(&target.address, headers.clone()));
        }
        for (name, url) in &options.scrape.pages {
            // The deployment's key is not for other hosts.
            let (page, address, headers) = (name.clone(), url.parse()?, Headers::default());
            pages.push(firstcheck_observe::Target { page, address, headers });
        }
        let scraper = (!pages.is_empty()).then(|| Scraper::new(client.clone(), pages));
        Ok(Self { client, headers, scraper })
    }

    /// What the deployment says it is, and what could not be learned.
    pub async fn identify(&self, target: &Target) -> (Option<Identity>, Vec<String>) {
        match firstcheck_observe::identify(&self.client, &target.address, &self.headers).await {
            Ok(mut identity) => {
                let notes = std::mem::take(&mut identity.notes);
                (Some(identity), notes)
            }
            Err(error) => (None, vec![error.to_string()]),
        }
    }
}
