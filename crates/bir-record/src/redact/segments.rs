//! A name cut into segments in any convention: `accessToken`, `APIKey`, `x-api-key`, `basic_auth`, `spring.datasource.password`.

/// Bytes of a name that are looked at, from its end.
const LONGEST_NAME: usize = 96;
/// Segments that are looked at.
const MOST_SEGMENTS: usize = 16;

/// A name in lower case, cut into segments.
pub(super) struct Segments {
    buf: [u8; LONGEST_NAME],
    spans: [(u8, u8); MOST_SEGMENTS],
    pub(super) count: usize,
    /// As environment variables are written: no lower-case letter.
    pub(super) caps: bool,
}

impl Segments {
    /// Cuts a name.
    pub(super) fn of(name: &str) -> Self {
        let bytes = name.as_bytes();
        let bytes = &bytes[bytes.len().saturating_sub(LONGEST_NAME)..];
        let mut this = Self { buf: [0; LONGEST_NAME], spans: [(0, 0); MOST_SEGMENTS], count: 0, caps: true };
        let mut from = 0;
        for (i, &b) in bytes.iter().enumerate() {
            this.buf[i] = b.to_ascii_lowercase();
            this.caps &= !b.is_ascii_lowercase();
            if !b.is_ascii_alphanumeric() && b < 0x80 {
                this.push(from, i);
                from = i + 1;
                continue;
            }
            let before = if i > 0 { bytes[i - 1] } else { b'_' };
            let hump = b.is_ascii_uppercase()
                && (before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || before.is_ascii_uppercase() && bytes.get(i + 1).is_some_and(u8::is_ascii_lowercase));
            // `APIKeys` and `IDs`: a plural s belongs to the acronym before it.
            let plural = before.is_ascii_uppercase()
                && bytes.get(i + 1) == Some(&b's')
                && bytes.get(i + 2).is_none_or(|b| !b.is_ascii_lowercase());
            if hump && !plural {
                this.push(from, i);
                from = i;
            }
        }
        this.push(from, bytes.len());
        this
    }

    fn push(&mut self, from: usize, to: usize) {
        if from >= to {
            return;
        }
        if self.count == MOST_SEGMENTS {
            self.spans.rotate_left(1);
            self.count -= 1;
        }
        self.spans[self.count] = (u8::try_from(from).unwrap_or(0), u8::try_from(to).unwrap_or(0));
        self.count += 1;
    }

    /// The n-th segment.
    pub(super) fn get(&self, n: usize) -> &[u8] {
        let (from, to) = self.spans[n];
        &self.buf[usize::from(from)..usize::from(to)]
    }

    /// The segments joined by `_`.
    pub(super) fn joined(&self) -> String {
        let all: Vec<_> =
            (0..self.count).map(|n| String::from_utf8_lossy(self.get(n)).into_owned()).collect();
        all.join("_")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_in_every_convention() {
        for (name, joined) in [
            ("APIKey", "api_key"),
            ("apiKey", "api_key"),
            ("x-api-key", "x_api_key"),
            ("API_KEY", "api_key"),
            ("APIKeys", "api_keys"),
            ("accessToken", "access_token"),
            ("spring.datasource.password", "spring_datasource_password"),
            ("Client Secret", "client_secret"),
            ("userIDs", "user_ids"),
            ("__token__", "token"),
            ("HTTPServerURL2", "http_server_url2"),
            ("", ""),
            ("---", ""),
        ] {
            assert_eq!(Segments::of(name).joined(), joined, "{name}");
        }
    }
}
