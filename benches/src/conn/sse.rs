//! Server-sent events, as far as the driver needs them: the data of each complete event.

/// Takes the complete events out of `buf`; `from` is where the search goes on.
pub(super) fn events(buf: &mut Vec<u8>, from: &mut usize) -> Vec<Vec<u8>> {
    let mut out = vec![];
    while let Some(n) = memchr::memchr(b'\n', &buf[*from..]) {
        let i = *from + n + 1;
        let blank = match buf.get(i) {
            Some(b'\n') => 1,
            Some(b'\r') if buf.get(i + 1) == Some(&b'\n') => 2,
            Some(b'\r') if i + 1 == buf.len() => break,
            None => break,
            _ => {
                *from = i;
                continue;
            }
        };
        let rest = buf.split_off(i + blank);
        let event = std::mem::replace(buf, rest);
        *from = 0;
        let data = data(&event);
        if !data.is_empty() {
            out.push(data);
        }
    }
    out
}

fn data(event: &[u8]) -> Vec<u8> {
    let mut data: Vec<u8> = vec![];
    for l in event.split(|&c| c == b'\n') {
        let l = l.strip_suffix(b"\r").unwrap_or(l);
        if let Some(d) = l.strip_prefix(b"data:") {
            if !data.is_empty() {
                data.push(b'\n');
            }
            data.extend_from_slice(d.strip_prefix(b" ").unwrap_or(d));
        }
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_whole_at_any_cut() {
        let stream =
            b": hi\n\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nid: 7\ndata:x\n\nretry: 5\n\n";
        for cut in 0..stream.len() {
            let (mut buf, mut from, mut got) = (Vec::new(), 0, vec![]);
            for part in [&stream[..cut], &stream[cut..]] {
                buf.extend_from_slice(part);
                got.extend(events(&mut buf, &mut from));
            }
            assert_eq!(got, [b"{\"a\":\n1}".to_vec(), b"x".to_vec()], "cut at {cut}");
        }
    }
}
