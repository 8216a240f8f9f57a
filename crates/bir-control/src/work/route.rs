//! Which proxies may run what a session's plan asks for. Pure.
//!
//! Every session of a host starts its own proxies, and they are not interchangeable: each holds an upstream of its own, with
//! another page or another transaction. So an order goes to a proxy of its session. One that is nobody's is taken only while no
//! other session could be meant (seed 02 §16.2).

/// A proxy, as far as routing cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) proxy: String,
    /// The key under which the host knows its server.
    pub(crate) server: String,
    pub(crate) pid: u32,
    /// The session to which it belongs, where that is known.
    pub(crate) session: Option<String>,
}

/// What is to be routed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) server: &'a str,
    /// The session whose plan it is; `None` for a person who asks by hand.
    pub(super) session: Option<&'a str>,
}

/// Where it may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    /// To one of these, the likeliest first.
    To(Vec<String>),
    /// There are proxies of that server, and none is known to be the session's.
    NotItsOwn,
}

/// Finds the way. `seats` are the proxies of the project, oldest first; `sessions` its sessions that go on.
pub(super) fn route(wanted: Wanted<'_>, seats: &[Seat], sessions: &[String]) -> Route {
    let of_server = || seats.iter().rev().filter(|seat| seat.server == wanted.server);
    let ids =
        |seats: &mut dyn Iterator<Item = &Seat>| seats.map(|seat| seat.proxy.clone()).collect::<Vec<_>>();
    let Some(session) = wanted.session else {
        // Whoever asks by hand has the newest.
        return Route::To(ids(&mut of_server().take(1)));
    };
    let own = ids(&mut of_server().filter(|seat| seat.session.as_deref() == Some(session)));
    if !own.is_empty() {
        return Route::To(own);
    }
    let nobodys = ids(&mut of_server().filter(|seat| seat.session.is_none()));
    let is_alone = sessions.iter().all(|one| one == session);
    if is_alone && !nobodys.is_empty() {
        Route::To(nobodys)
    } else if of_server().next().is_some() {
        Route::NotItsOwn
    } else {
        Route::To(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(proxy: &str, server: &str, session: Option<&str>) -> Seat {
        Seat { proxy: proxy.into(), server: server.into(), pid: 1, session: session.map(Into::into) }
    }

    #[test]
    fn an_order_goes_to_its_own_session_and_to_nobodys_proxy_only_where_no_other_is_meant() {
        let seats = [
            seat("a1", "a", Some("s")),
            seat("a2", "a", Some("s")),
            seat("a3", "a", Some("t")),
            seat("b1", "b", None),
            seat("b2", "b", None),
            seat("c1", "c", Some("t")),
        ];
        let to = |ids: &[&str]| Route::To(ids.iter().map(|&id| id.into()).collect());
        let both = ["s".to_owned(), "t".to_owned()];
        let cases: [(&str, Option<&str>, &[String], Route); 9] = [
            ("a", Some("s"), &both, to(&["a2", "a1"])),
            ("a", Some("t"), &both, to(&["a3"])),
            ("a", Some("u"), &both, Route::NotItsOwn),
            ("a", None, &both, to(&["a3"])),
            ("b", Some("s"), &both, Route::NotItsOwn),
            ("b", Some("s"), &both[..1], to(&["b2", "b1"])),
            ("b", Some("s"), &[], to(&["b2", "b1"])),
            ("c", Some("s"), &both[..1], Route::NotItsOwn),
            ("d", Some("s"), &both, to(&[])),
        ];
        for (server, session, sessions, expected) in cases {
            assert_eq!(route(Wanted { server, session }, &seats, sessions), expected, "{server} {session:?}");
        }
    }
}
