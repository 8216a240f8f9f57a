//! Test upstreams and pipes (development only).
