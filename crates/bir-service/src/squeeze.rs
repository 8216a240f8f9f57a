//! Pages go out compressed where the browser takes gzip: a timeline is the same markup over and over, and shrinks to a tenth.
//!
//! Pages alone. Streams must not wait for a compressor's buffer, assets are kept by the browser under their `ETag`, and
//! programs that read the API are on the same machine more often than not.

use axum::body::{Body, Bytes};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, header};
use http_body_util::BodyExt as _;
use std::io::Write as _;

/// A smaller page fits into few packets as it is.
const SMALLEST: usize = 2 << 10;
/// A larger page is compressed on a thread for blocking work: this many bytes take about a millisecond.
const ASIDE: usize = 64 << 10;

/// Whether the browser takes gzip.
pub(crate) fn is_taken(headers: &HeaderMap) -> bool {
    let all = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|v| v.to_str().ok());
    all.flat_map(|v| v.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let refused =
            weight.trim().strip_prefix("q=").is_some_and(|q| q.parse::<f32>().is_ok_and(|q| q <= 0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

fn is_page(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    kind.starts_with("text/html") && !headers.contains_key(header::CONTENT_ENCODING)
}

fn squeezed(page: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut out = GzEncoder::new(Vec::with_capacity(page.len() / 6), Compression::fast());
    out.write_all(page)?;
    out.finish()
}

/// The response, compressed when it is a page. Whatever goes wrong, the page goes out as it is.
pub(crate) async fn page(response: Response) -> Response {
    if !is_page(response.headers()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // A page is one piece in memory already; reading it waits for nothing.
    let Ok(page) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        return Response::from_parts(parts, Body::empty());
    };
    parts.headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if page.len() < SMALLEST {
        return Response::from_parts(parts, Body::from(page));
    }
    let aside = page.clone();
    let small: Option<Bytes> = if page.len() < ASIDE {
        squeezed(&page).ok().map(Into::into)
    } else {
        tokio::task::spawn_blocking(move || squeezed(&aside)).await.ok().and_then(Result::ok).map(Into::into)
    };
    let Some(small) = small else { return Response::from_parts(parts, Body::from(page)) };
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(small))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn taken(value: &'static str) -> bool {
        is_taken(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))]))
    }

    #[test]
    fn who_takes_gzip() {
        for value in ["gzip", "deflate, gzip;q=1.0, *;q=0.5", "br, GZIP", "gzip ; q=0.1"] {
            assert!(taken(value), "{value}");
        }
        for value in ["", "br", "gzip;q=0", "gzip; q=0.000", "xgzip"] {
            assert!(!taken(value), "{value}");
        }
        assert!(!is_taken(&HeaderMap::new()));
    }

    async fn sent(kind: &'static str, text: String) -> (Option<HeaderValue>, Vec<u8>) {
        let mut response = Response::new(Body::from(text));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        let (parts, body) = page(response).await.into_parts();
        let coding = parts.headers.get(header::CONTENT_ENCODING).cloned();
        (coding, body.collect().await.unwrap().to_bytes().to_vec())
    }

    #[tokio::test]
    async fn a_page_comes_back_as_it_was() {
        for length in [SMALLEST, ASIDE - 1, ASIDE, 1 << 20] {
            let text = "<li class=\"call\">é</li>".repeat(length / 8);
            let (coding, bytes) = sent("text/html; charset=utf-8", text.clone()).await;
            assert_eq!(coding.unwrap(), "gzip");
            assert!(bytes.len() < text.len() / 8);
            let mut back = String::new();
            flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut back).unwrap();
            assert!(back == text, "{length}");
        }
    }

    #[tokio::test]
    async fn what_is_small_or_no_page_stays() {
        for (kind, text) in [
            ("text/html; charset=utf-8", "x".repeat(SMALLEST - 1)),
            ("text/event-stream", "x".repeat(ASIDE)),
            ("application/json", "x".repeat(ASIDE)),
        ] {
            let (coding, bytes) = sent(kind, text.clone()).await;
            assert!(coding.is_none() && bytes == text.as_bytes(), "{kind}");
        }
    }
}
