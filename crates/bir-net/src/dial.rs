//! Opening a connection: DNS, TCP, a proxy where one is configured, TLS where the scheme asks for it.
//!
//! Everything here shares one budget. Addresses are tried in the resolver's order with a head start of 250 ms
//! each (RFC 8305), so that a dead IPv6 route does not eat the budget.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use http::{Method, Uri, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::proxies::{Proxies, Proxy};
use crate::tls::Tls;
use crate::{Error, RequestBody, Target};

/// Head start of one address before the next is tried beside it.
const HEAD_START: Duration = Duration::from_millis(250);
/// Read buffer of a connection; also the most that a response head may take.
const MAX_BUFFER: usize = 64 * 1024;

/// A connection that can take a request.
pub(crate) struct Connection {
    pub(crate) sender: http1::SendRequest<RequestBody>,
    /// Requests are written in absolute form: a plain proxy stands in front.
    pub(crate) absolute_form: bool,
    pub(crate) proxy_authorization: Option<header::HeaderValue>,
}

/// Which addresses may be dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Whatever the person configured.
    Anywhere,
    /// No loopback, link-local or unspecified address: where a redirect came from elsewhere.
    NotInternal,
}

pub(crate) struct Dialer {
    pub(crate) proxies: Proxies,
    pub(crate) tls: Tls,
    pub(crate) budget: Duration,
}

impl Dialer {
    pub(crate) async fn connect(&self, target: &Target, reach: Reach) -> Result<Connection, Error> {
        match tokio::time::timeout(self.budget, self.open(target, reach)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::ConnectTimeout { host: target.host_port(), after: self.budget }),
        }
    }

    async fn open(&self, target: &Target, reach: Reach) -> Result<Connection, Error> {
        match self.proxies.for_target(target)? {
            None => {
                let tcp = connect_tcp(target, reach).await?;
                if target.is_https() {
                    speak(self.tls.connect(target, tcp).await?).await
                } else {
                    speak(tcp).await
                }
            }
            Some(proxy) => {
                literal_allowed(target, reach)?;
                let tcp = connect_tcp(&proxy.target, Reach::Anywhere).await?;
                if proxy.target.is_https() {
                    let stream = self.tls.connect(&proxy.target, tcp).await?;
                    self.through(&proxy, target, stream).await
                } else {
                    self.through(&proxy, target, tcp).await
                }
            }
        }
    }

    async fn through<S>(&self, proxy: &Proxy, target: &Target, stream: S) -> Result<Connection, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        if target.is_https() {
            let tunnel = tunnel(proxy, target, stream).await?;
            return speak(self.tls.connect(target, tunnel).await?).await;
        }
        let connection = speak(stream).await?;
        Ok(Connection { absolute_form: true, proxy_authorization: proxy.authorization.clone(), ..connection })
    }
}

async fn speak<S>(stream: S) -> Result<Connection, Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_BUFFER)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|_| Error::Lost)?;
    // Errors of the connection reach the request that is on it; an idle one just leaves the pool.
    tokio::spawn(async move { drop(connection.await) });
    Ok(Connection { sender, absolute_form: false, proxy_authorization: None })
}

async fn tunnel<S>(
    proxy: &Proxy,
    target: &Target,
    stream: S,
) -> Result<TokioIo<hyper::upgrade::Upgraded>, Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let proxy_lost = |why: String| Error::Unreachable { host: proxy.target.host_port(), why };
    let (mut sender, connection) = http1::Builder::new()
        .handshake::<_, RequestBody>(TokioIo::new(stream))
        .await
        .map_err(|error| proxy_lost(error.to_string()))?;
    tokio::spawn(async move { drop(connection.with_upgrades().await) });
    let authority = target.host_port();
    let uri = Uri::builder()
        .authority(authority.as_str())
        .build()
        .map_err(|error| proxy_lost(error.to_string()))?;
    let mut request =
        http::Request::builder().method(Method::CONNECT).uri(uri).header(header::HOST, &authority);
    if let Some(authorization) = &proxy.authorization {
        request = request.header(header::PROXY_AUTHORIZATION, authorization);
    }
    let request = request.body(RequestBody::empty()).map_err(|error| proxy_lost(error.to_string()))?;
    let response = sender
        .send_request(request)
        .await
        .map_err(|_| proxy_lost("the proxy hung up instead of answering CONNECT".to_owned()))?;
    if !response.status().is_success() {
        return Err(Error::ProxyRefused {
            proxy: proxy.target.host_port(),
            host: authority,
            status: response.status().as_u16(),
        });
    }
    let upgraded = hyper::upgrade::on(response).await.map_err(|error| proxy_lost(error.to_string()))?;
    Ok(TokioIo::new(upgraded))
}

async fn connect_tcp(target: &Target, reach: Reach) -> Result<TcpStream, Error> {
    let addresses = resolve(target).await?;
    let mut waiting = addresses.iter().copied().filter(|address| allowed(address.ip(), reach)).peekable();
    if waiting.peek().is_none() {
        return Err(Error::Internal { host: target.host_port() });
    }
    let mut attempts = JoinSet::new();
    let mut first_error: Option<io::Error> = None;
    loop {
        if let Some(address) = waiting.next() {
            attempts.spawn(TcpStream::connect(address));
        } else if attempts.is_empty() {
            break;
        }
        let more = waiting.peek().is_some();
        tokio::select! {
            outcome = attempts.join_next() => match outcome {
                Some(Ok(Ok(stream))) => {
                    tune(&stream);
                    return Ok(stream);
                }
                Some(Ok(Err(error))) => {
                    first_error.get_or_insert(error);
                }
                Some(Err(_)) | None => {}
            },
            () = tokio::time::sleep(HEAD_START), if more => {}
        }
    }
    let host = target.host_port();
    Err(match first_error {
        Some(error) if error.kind() == io::ErrorKind::ConnectionRefused => Error::Refused { host },
        Some(error) => Error::Unreachable { host, why: error.to_string() },
        None => Error::Unreachable { host, why: "no attempt was made".to_owned() },
    })
}

async fn resolve(target: &Target) -> Result<Vec<SocketAddr>, Error> {
    if let Ok(address) = target.host().parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, target.port())]);
    }
    let host = || target.host().to_owned();
    let found: Vec<_> = tokio::net::lookup_host((target.host(), target.port()))
        .await
        .map_err(|error| Error::Dns { host: host(), why: error.to_string() })?
        .collect();
    if found.is_empty() {
        return Err(Error::Dns { host: host(), why: "the name has no address".to_owned() });
    }
    Ok(found)
}

/// Behind a proxy the name is resolved elsewhere, so only what every resolver takes for a certain address can be judged.
fn literal_allowed(target: &Target, reach: Reach) -> Result<(), Error> {
    if reach == Reach::Anywhere {
        return Ok(());
    }
    let host = target.host().strip_suffix('.').unwrap_or(target.host());
    let internal = match host.parse::<IpAddr>() {
        Ok(address) => !allowed(address, reach),
        Err(_) => is_numeric(host) || host == "localhost" || host.ends_with(".localhost"),
    };
    if internal { Err(Error::Internal { host: target.host_port() }) } else { Ok(()) }
}

/// Whether a host is an IPv4 address in one of the old ways of writing it (`2130706433`, `0x7f.1`, `127.1`): its last
/// part is a number, which no name's is.
fn is_numeric(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    match hex {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

fn allowed(address: IpAddr, reach: Reach) -> bool {
    if reach == Reach::Anywhere {
        return true;
    }
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            !v4.is_loopback()
                && !v4.is_link_local()
                && !v4.is_unspecified()
                && !v4.is_broadcast()
                && v4.octets()[0] != 0
        }
        IpAddr::V6(v6) => {
            // An IPv4-compatible address (::a.b.c.d) reaches the same host as its IPv4 form on some systems.
            let embedded = v6.to_ipv4().is_some_and(|v4| !allowed(IpAddr::V4(v4), reach));
            !v6.is_loopback() && !v6.is_unspecified() && !v6.is_unicast_link_local() && !embedded
        }
    }
}

/// Small messages leave at once, and a peer that vanished without a word is noticed after about two minutes
/// even on a stream that says nothing for hours. Neither is worth failing a connection for.
fn tune(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    #[cfg(unix)]
    {
        use rustix::net::sockopt;
        let _ = sockopt::set_socket_keepalive(stream, true);
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        {
            let _ = sockopt::set_tcp_keepidle(stream, Duration::from_secs(60));
            let _ = sockopt::set_tcp_keepintvl(stream, Duration::from_secs(15));
            let _ = sockopt::set_tcp_keepcnt(stream, 4);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_foreign_redirect_may_not_reach() {
        for text in [
            "127.0.0.1",
            "::1",
            "::ffff:127.0.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "::",
            "fe80::1",
            "::127.0.0.1",
            "0.1.2.3",
        ] {
            assert!(!allowed(text.parse().unwrap(), Reach::NotInternal), "{text}");
            assert!(allowed(text.parse().unwrap(), Reach::Anywhere), "{text}");
        }
        for text in ["93.184.216.34", "10.0.0.1", "2606:2800::1"] {
            assert!(allowed(text.parse().unwrap(), Reach::NotInternal), "{text}");
        }
    }

    #[test]
    fn what_a_foreign_redirect_may_not_name_behind_a_proxy() {
        let ask =
            |host: &str, reach| literal_allowed(&Target::parse(&format!("http://{host}/")).unwrap(), reach);
        for host in [
            "127.0.0.1",
            "[::1]",
            "2130706433",
            "0x7f.1",
            "0X7F000001",
            "127.1",
            "0177.0.0.1",
            "localhost.",
            "a.localhost",
            "127.0.0.1.",
        ] {
            assert!(ask(host, Reach::NotInternal).is_err(), "{host}");
            assert!(ask(host, Reach::Anywhere).is_ok(), "{host}");
        }
        for host in ["example.test", "1.example", "93.184.216.34", "[2606:2800::1]", "0x7f.example"] {
            assert!(ask(host, Reach::NotInternal).is_ok(), "{host}");
        }
    }
}
