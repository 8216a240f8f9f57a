//! Tokens and cookies as texts: made, read, hashed.
//!
//! `bir_<kind>_<tenant, 32 hex digits>_<43 characters, base64url of 32 random bytes>`. The store keeps the SHA-256 of the
//! whole text, and finds it inside the tenant that the text names; equality of secrets is equality of their hashes, so no
//! comparison's time depends on a stored secret.

use crate::clock::{NoRandomness, Random};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bir_model::TenantId;
use ring::digest::{SHA256, digest};
use uuid::Uuid;

/// What a token's text says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Prefix {
    /// Made by a person, shown once.
    Personal,
    /// From signing in, short-lived.
    Access,
    /// From signing in, buys the next pair.
    Refresh,
    /// The embedded hub's own.
    Local,
}

impl Prefix {
    const ALL: [Self; 4] = [Self::Personal, Self::Access, Self::Refresh, Self::Local];

    fn as_str(self) -> &'static str {
        match self {
            Self::Personal => "pat",
            Self::Access => "acc",
            Self::Refresh => "ref",
            Self::Local => "loc",
        }
    }
}

/// Characters of a secret: 32 bytes in base64url.
const SECRET: usize = 43;
/// Characters of a UUID without hyphens.
const SIMPLE: usize = 32;

/// A secret of 32 random bytes.
///
/// # Errors
/// The machine gives no randomness.
pub fn secret(random: &dyn Random) -> Result<String, NoRandomness> {
    let mut bytes = [0; 32];
    random.fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// A new token.
///
/// # Errors
/// The machine gives no randomness.
pub fn make(prefix: Prefix, tenant: TenantId, random: &dyn Random) -> Result<String, NoRandomness> {
    Ok(format!("bir_{}_{}_{}", prefix.as_str(), tenant.uuid().simple(), secret(random)?))
}

/// The value of a new browser session's cookie.
///
/// # Errors
/// The machine gives no randomness.
pub fn make_cookie(tenant: TenantId, random: &dyn Random) -> Result<String, NoRandomness> {
    Ok(format!("{}_{}", tenant.uuid().simple(), secret(random)?))
}

/// What is kept of a secret.
#[must_use]
pub fn hash(text: &str) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    out
}

/// Kind and tenant of a token, None when it is none of ours.
#[must_use]
pub fn read(text: &str) -> Option<(Prefix, TenantId)> {
    let rest = text.strip_prefix("bir_")?;
    let (kind, rest) = rest.split_once('_')?;
    let prefix = Prefix::ALL.into_iter().find(|p| p.as_str() == kind)?;
    Some((prefix, read_cookie(rest)?))
}

/// The tenant of a cookie's value, None when it is none of ours.
#[must_use]
pub fn read_cookie(text: &str) -> Option<TenantId> {
    let (tenant, secret) = text.split_at_checked(SIMPLE)?;
    let secret = secret.strip_prefix('_')?;
    let well_formed =
        secret.len() == SECRET && secret.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let uuid = Uuid::try_parse(tenant).ok().filter(|_| well_formed)?;
    Some(TenantId::from_uuid(uuid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemSource;

    #[test]
    fn a_token_names_its_tenant_and_nothing_else_is_one() {
        let tenant = TenantId::new();
        for prefix in Prefix::ALL {
            let text = make(prefix, tenant, &SystemSource).unwrap();
            assert_eq!(read(&text), Some((prefix, tenant)));
            assert_ne!(text, make(prefix, tenant, &SystemSource).unwrap());
            assert_ne!(hash(&text), hash(&make(prefix, tenant, &SystemSource).unwrap()));
            for wrong in
                [&text[1..], &text[..text.len() - 1], &format!("{text}x"), &text.replace("bir_", "bir-")]
            {
                assert_eq!(read(wrong), None, "{wrong}");
            }
        }
        for wrong in ["", "bir_", "bir_pat_", "bir_xyz_0_0", "bir_pat_é", &"é".repeat(40)] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_cookie_names_its_tenant() {
        let tenant = TenantId::new();
        let text = make_cookie(tenant, &SystemSource).unwrap();
        assert_eq!(read_cookie(&text), Some(tenant));
        assert_eq!(read_cookie(&text.replace('_', "")), None);
    }
}
