//! From a listening socket to the router: connections, their limits, their end.
//!
//! ```text
//! accept ─▶ at most 1,024 connections ─▶ HTTP/1.1: a head within 30 s ─▶ router
//!    │ stop: no more are accepted; live streams end; requests under way have 10 s; then connections are closed
//! ```

use crate::guard::Peer;
use crate::state::State;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tower::ServiceExt as _;

/// Connections at once.
const CONNECTIONS: usize = 1_024;
/// The head of a request must be there so long after the connection was opened or the last answer was sent.
const HEAD: Duration = Duration::from_secs(30);
/// Bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;
/// After `accept` failed (no descriptors left) it is tried again this much later.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

async fn connection(
    app: axum::Router,
    stream: TcpStream,
    peer: std::net::SocketAddr,
    mut stop: watch::Receiver<bool>,
) {
    // Small answers go out at once.
    let _ = stream.set_nodelay(true);
    let app = app.map_request(move |mut request: http::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        request.map(axum::body::Body::new)
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    let mut served = pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = crate::state::told(&mut stop) => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Serves until `stop` resolves, then ends within the grace. False: something was still under way after it.
pub async fn serve(
    listener: TcpListener,
    state: State,
    stop: impl Future<Output = ()>,
    grace: Duration,
) -> bool {
    let app = crate::app(state.clone());
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let stopping = watch::Sender::new(false);
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        while connections.try_join_next().is_some() {}
        let place = tokio::select! {
            () = stop.as_mut() => break,
            place = places.clone().acquire_owned() => place,
        };
        let Ok(place) = place else { break };
        let accepted = tokio::select! {
            () = stop.as_mut() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let served = connection(app.clone(), stream, peer, stopping.subscribe());
                connections.spawn(async move {
                    served.await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "no connection can be accepted right now");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
    drop(listener);
    state.end_streams();
    stopping.send_replace(true);
    let all = async { while connections.join_next().await.is_some() {} };
    let in_time = tokio::time::timeout(grace, all).await.is_ok();
    connections.abort_all();
    in_time
}
