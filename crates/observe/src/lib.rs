//! What a live deployment says of itself: HTTP and TLS client, metrics scraper, endpoints.
