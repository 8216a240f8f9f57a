//! A strict reader of our own HTML: every tag is closed in its order, every attribute is quoted.

/// An opening tag.
#[derive(Debug)]
pub(crate) struct Tag {
    /// Its name.
    pub(crate) element: String,
    /// Names and values as written.
    pub(crate) attributes: Vec<(String, String)>,
}

const VOID: [&str; 6] = ["meta", "link", "input", "path", "circle", "use"];
const SELF_CLOSED: [&str; 3] = ["path", "circle", "use"];

/// All opening tags in order, or what is wrong.
pub(crate) fn tags(page: &str) -> Result<Vec<Tag>, String> {
    let mut found = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = page.trim_start().trim_start_matches("<!doctype html>");
    while let Some(at) = rest.find('<') {
        if rest[..at].contains('>') {
            return Err(format!("a bare > in {:?}", &rest[..at]));
        }
        rest = &rest[at + 1..];
        let (inner, after) = tag_end(rest)?;
        if let Some(name) = inner.strip_prefix('/') {
            let expected = open.pop();
            if expected.as_deref() != Some(name) {
                return Err(format!("</{name}> where {expected:?} is open"));
            }
        } else {
            let tag = parse(inner)?;
            if !VOID.contains(&tag.element.as_str()) {
                open.push(tag.element.clone());
            }
            found.push(tag);
        }
        rest = after;
    }
    if open.is_empty() { Ok(found) } else { Err(format!("never closed: {open:?}")) }
}

fn tag_end(text: &str) -> Result<(&str, &str), String> {
    let mut quoted = false;
    for (i, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '>' if !quoted => return Ok((&text[..i], &text[i + 1..])),
            '<' => break,
            _ => {}
        }
    }
    Err(format!("no end of the tag {:?}", text.chars().take(60).collect::<String>()))
}

fn parse(inner: &str) -> Result<Tag, String> {
    let name_end = inner.find([' ', '/']).unwrap_or(inner.len());
    let element = inner[..name_end].to_owned();
    if element.is_empty() || !element.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
        return Err(format!("a tag named {element:?}"));
    }
    let mut rest = inner[name_end..].trim();
    if SELF_CLOSED.contains(&element.as_str()) {
        rest = rest.strip_suffix('/').ok_or("an open path")?.trim_end();
    }
    let mut attributes = Vec::new();
    while !rest.is_empty() {
        let end = rest.find([' ', '=']).unwrap_or(rest.len());
        let name = rest[..end].to_owned();
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(format!("an attribute named {name:?} in <{element}>"));
        }
        rest = &rest[end..];
        let mut value = String::new();
        if let Some(quoted) = rest.strip_prefix("=\"") {
            let end = quoted.find('"').ok_or("an open quote")?;
            value = quoted[..end].to_owned();
            rest = &quoted[end + 1..];
        } else if rest.starts_with('=') {
            return Err(format!("{name} of <{element}> is not quoted"));
        }
        rest = rest.trim_start();
        attributes.push((name, value));
    }
    Ok(Tag { element, attributes })
}

/// The text of a page, entities decoded, white space folded.
pub(crate) fn text_of(page: &str) -> String {
    let mut out = String::new();
    for part in page.split('<').skip(1) {
        out.push_str(part.split_once('>').map_or("", |(_, text)| text));
    }
    let decoded =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#34;", "\""), ("&amp;", "&")]
            .iter()
            .fold(out, |text, (entity, c)| text.replace(entity, c));
    decoded.split_whitespace().collect::<Vec<_>>().join(" ")
}
