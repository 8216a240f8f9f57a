//! What is read from a file or from stdin: bodies of logic, and prompts.

use crate::error::CommandError;
use std::io::Read;
use std::path::Path;

/// A text of more bytes is not read: the hub takes no body that large.
const LONGEST: u64 = 4 * 1024 * 1024;

/// Whether it stands for stdin.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The text of a file, or of stdin for `-`.
///
/// # Errors
///
/// It cannot be read, is no text, or is too large.
pub(super) fn read(path: &Path) -> Result<String, CommandError> {
    let name = if is_stdin(path) { "stdin".into() } else { path.display().to_string() };
    let failed = |why: String| CommandError::failed(format!("cannot read {name}: {why}"));
    let mut bytes = Vec::new();
    let read = if is_stdin(path) {
        std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes))
    };
    read.map_err(|e| failed(e.to_string()))?;
    if bytes.len() as u64 > LONGEST {
        return Err(failed("it is larger than 4 MiB; the hub takes no text that long".into()));
    }
    String::from_utf8(bytes)
        .map_err(|e| failed(format!("it is no UTF-8 text at byte {}", e.utf8_error().valid_up_to())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_whole_and_what_is_none_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("body.js");
        std::fs::write(&file, "return {};\n").unwrap();
        assert_eq!(read(&file).unwrap(), "return {};\n");
        std::fs::write(&file, [b'a', 0xff]).unwrap();
        assert!(read(&file).unwrap_err().to_string().contains("no UTF-8 text at byte 1"));
        std::fs::write(&file, vec![b'a'; 4 * 1024 * 1024 + 1]).unwrap();
        assert!(read(&file).unwrap_err().to_string().contains("larger than 4 MiB"));
        let gone = read(&dir.path().join("none.js")).unwrap_err().to_string();
        assert!(gone.contains("cannot read") && gone.contains("none.js"), "{gone}");
        assert!(read(dir.path()).is_err(), "a directory is no text");
    }
}
