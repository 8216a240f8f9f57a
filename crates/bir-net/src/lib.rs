//! One HTTP client: lazy TLS, egress rules, redirects, proxies.
