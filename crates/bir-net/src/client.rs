//! The client: checkout, send, redirects.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue, Method, header};
use hyper::client::conn::TrySendError;

use crate::dial::{Connection, Dialer, Reach};
use crate::pool::Pool;
use crate::redirect::{self, MAX_REDIRECTS};
use crate::tls::Tls;
use crate::{Credentials, DEFAULT_CONNECT_TIMEOUT, Error, Proxies, Request, RequestBody, Response, Target};

/// Connections tried for a request that none of them took. The last one is always newly dialled.
const MAX_ATTEMPTS: usize = 3;

/// What a client is built with.
#[derive(Debug)]
pub struct ClientOptions {
    /// Budget for DNS, TCP, CONNECT and TLS together.
    pub connect_timeout: Duration,
    /// The proxies to go through.
    pub proxies: Proxies,
    /// Sent as `User-Agent` where the request has none.
    pub user_agent: HeaderValue,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            proxies: Proxies::none(),
            user_agent: HeaderValue::from_static("bir"),
        }
    }
}

/// The HTTP client. Clones share connections. Must be used inside a tokio runtime with time and I/O.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    dialer: Dialer,
    pool: Arc<Pool>,
    user_agent: HeaderValue,
    stay: bool,
}

/// A connection that is reserved for one request to one origin.
pub struct Lease {
    connection: Connection,
    target: Target,
}

/// A request that was handed to a connection.
///
/// Dropping it closes that connection.
pub struct Pending {
    client: Client,
    plan: Plan,
    sent: Sent,
}

/// What is needed to send a request again or elsewhere.
struct Plan {
    method: Method,
    target: Target,
    headers: HeaderMap,
    credentials: Credentials,
    body: Option<RequestBody>,
    reach: Reach,
}

type Answer = Result<http::Response<hyper::body::Incoming>, TrySendError<http::Request<RequestBody>>>;

struct Sent {
    answer: std::pin::Pin<Box<dyn Future<Output = Answer> + Send>>,
    connection: Connection,
}

impl Client {
    /// A client without connections.
    pub fn new(options: ClientOptions) -> Self {
        Self::made(options, false)
    }

    /// A client that follows no redirect to another origin: what its bodies say is for the configured one alone.
    pub fn staying(options: ClientOptions) -> Self {
        Self::made(options, true)
    }

    fn made(options: ClientOptions, stay: bool) -> Self {
        Self(Arc::new(Shared {
            dialer: Dialer { proxies: options.proxies, tls: Tls::default(), budget: options.connect_timeout },
            pool: Arc::default(),
            user_agent: options.user_agent,
            stay,
        }))
    }

    /// Finds or opens a connection to the target's origin.
    ///
    /// # Errors
    ///
    /// Whatever keeps a connection from being opened.
    pub async fn lease(&self, target: &Target) -> Result<Lease, Error> {
        let connection = self.checkout(target, Reach::Anywhere, false).await?;
        Ok(Lease { connection, target: target.clone() })
    }

    /// Hands a request to a leased connection without waiting for anything, so that requests that are handed
    /// over one after the other are also written in that order, whichever connections they take.
    ///
    /// # Errors
    ///
    /// [`Error::Target`] when the target is not of the origin that was leased.
    pub fn start_on(&self, lease: Lease, request: Request) -> Result<Pending, Error> {
        let Request { method, target, headers, credentials, body } = request;
        if !target.same_origin(&lease.target) {
            return Err(
                crate::TargetError::Invalid("it is not the one that the connection was opened for").into()
            );
        }
        let plan = Plan { method, target, headers, credentials, body: body.again(), reach: Reach::Anywhere };
        let sent = self.hand_over(&plan, body, lease.connection);
        Ok(Pending { client: self.clone(), plan, sent })
    }

    /// [`Client::lease`] and [`Client::start_on`] in one.
    ///
    /// # Errors
    ///
    /// As those two. Nothing was sent then.
    pub async fn start(&self, request: Request) -> Result<Pending, Error> {
        let lease = self.lease(&request.target).await?;
        self.start_on(lease, request)
    }

    /// [`Client::start`] and [`Pending::response`] in one.
    ///
    /// # Errors
    ///
    /// As those two.
    pub async fn request(&self, request: Request) -> Result<Response, Error> {
        self.start(request).await?.response().await
    }

    async fn send(&self, plan: &Plan, body: RequestBody, fresh: bool) -> Result<Sent, Error> {
        let connection = self.checkout(&plan.target, plan.reach, fresh).await?;
        Ok(self.hand_over(plan, body, connection))
    }

    fn hand_over(&self, plan: &Plan, body: RequestBody, mut connection: Connection) -> Sent {
        let request = self.assemble(plan, body, &connection);
        let answer = Box::pin(connection.sender.try_send_request(request));
        Sent { answer, connection }
    }

    async fn checkout(&self, target: &Target, reach: Reach, fresh: bool) -> Result<Connection, Error> {
        if !fresh {
            while let Some(connection) = self.0.pool.take(target, Instant::now()) {
                // One turn of the event loop lets a close that has already arrived be noticed.
                tokio::task::yield_now().await;
                if connection.sender.is_ready() {
                    return Ok(connection);
                }
            }
        }
        self.0.dialer.connect(target, reach).await
    }

    fn assemble(
        &self,
        plan: &Plan,
        body: RequestBody,
        connection: &Connection,
    ) -> http::Request<RequestBody> {
        let mut request = http::Request::new(body);
        *request.method_mut() = plan.method.clone();
        let uri = if connection.absolute_form { plan.target.uri() } else { plan.target.origin_form() };
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = plan.headers.clone();
        let headers = request.headers_mut();
        headers.insert(header::HOST, plan.target.host_header().clone());
        for (name, value) in plan.credentials.iter() {
            headers.insert(name.clone(), value.clone());
        }
        headers.entry(header::USER_AGENT).or_insert_with(|| self.0.user_agent.clone());
        headers.entry(header::ACCEPT_ENCODING).or_insert(HeaderValue::from_static("gzip"));
        if let Some(authorization) = &connection.proxy_authorization {
            headers.insert(header::PROXY_AUTHORIZATION, authorization.clone());
        }
        request
    }
}

impl Pending {
    /// Waits for the response, following redirects.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] when the connection went away without an answer, and the errors of redirects.
    pub async fn response(mut self) -> Result<Response, Error> {
        let mut hops = 0;
        let mut attempts = 1;
        loop {
            let Sent { answer, connection } = self.sent;
            let response = match answer.await {
                Ok(response) => response,
                Err(mut failed) => match failed.take_message() {
                    Some(request) if attempts < MAX_ATTEMPTS => {
                        attempts += 1;
                        let body = request.into_body();
                        self.sent = self.client.send(&self.plan, body, attempts == MAX_ATTEMPTS).await?;
                        continue;
                    }
                    Some(_) => {
                        return Err(Error::Unreachable {
                            host: self.plan.target.host_port(),
                            why: "it closes every connection before a request".to_owned(),
                        });
                    }
                    None => return Err(self.plan.failure(failed.error())),
                },
            };
            let to = redirect::destination(
                &self.plan.method,
                &self.plan.target,
                response.status(),
                response.headers(),
            )?;
            let Some(to) = to else {
                let pool = self.client.0.pool.clone();
                return Response::new(response, self.plan.target, connection, pool);
            };
            if self.client.0.stay && !to.same_origin(&self.plan.target) {
                return Err(Error::RedirectRefused { why: format!("{to} is another origin") });
            }
            hops += 1;
            if hops > MAX_REDIRECTS {
                return Err(Error::RedirectRefused { why: format!("more than {MAX_REDIRECTS} in a row") });
            }
            let pool = self.client.0.pool.clone();
            let rest = Response::new(response, self.plan.target.clone(), connection, pool);
            if let Ok(rest) = rest {
                rest.discard().await;
            }
            let body = self.plan.turn_to(to)?;
            attempts = 1;
            self.sent = self.client.send(&self.plan, body, false).await?;
        }
    }
}

impl Plan {
    fn turn_to(&mut self, to: Target) -> Result<RequestBody, Error> {
        let body = self.body.as_ref().and_then(RequestBody::again).ok_or_else(|| Error::RedirectRefused {
            why: format!("a message this large cannot be sent twice; configure {to} itself as the URL"),
        })?;
        if !to.same_origin(&self.target) {
            self.credentials = Credentials::none();
            redirect::strip(&mut self.headers);
            if !self.target.is_loopback() {
                self.reach = Reach::NotInternal;
            }
        }
        self.target = to;
        Ok(body)
    }

    fn failure(&self, error: &hyper::Error) -> Error {
        if error.is_parse() {
            return Error::NotHttp { host: self.target.host_port(), why: error.to_string() };
        }
        if error.is_user() {
            return Error::Abandoned;
        }
        Error::Lost
    }
}
