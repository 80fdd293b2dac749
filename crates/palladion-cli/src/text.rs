//! Text in files and on the terminal: byte order marks and UTF-16, which editors and shells of
//! Windows make, names, strings in JSON, long lines.

/// Text without the mark that some editors put before it.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text)
}

/// Returns whether the beginning of a text looks like UTF-16: it has that byte order mark, or every
/// other byte of the first few is zero.
pub fn is_utf16(text: &[u8]) -> bool {
    let zero = |byte: &u8| *byte == 0;
    text.starts_with(b"\xff\xfe")
        || text.starts_with(b"\xfe\xff")
        || matches!(text, [a, b, c, d, ..]
            if zero(a) != zero(b) && zero(a) == zero(c) && zero(b) == zero(d))
}

/// A name, with backslashes escaped, and characters that a terminal does not show as themselves.
pub fn printable(name: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in name.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\\' | '\n' | '\r' => shown.extend(char.escape_default()),
                _ if is_hidden(char) => shown.extend(char.escape_unicode()),
                _ => shown.push(char),
            }
        }
        shown.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    shown
}

/// Returns whether a terminal does not show a character as itself.
fn is_hidden(char: char) -> bool {
    // Marks that change the direction of the text around them, and line separators.
    let marks = [
        '\u{61c}'..='\u{61c}',
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{206f}',
        '\u{feff}'..='\u{feff}',
    ];
    char.is_control() || marks.iter().any(|range| range.contains(&char))
}

/// A string in JSON. A byte that is not UTF-8, `0xff` say, becomes `\udcff`, so that different
/// names stay different. Python's `os.fsencode` turns that into the byte again.
pub fn json(text: &[u8]) -> String {
    let mut string = String::from('"');
    for chunk in text.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '"' | '\\' => string.extend(['\\', char]),
                // All of them have at most 16 bits.
                _ if is_hidden(char) => string += &format!("\\u{:04x}", u32::from(char)),
                _ => string.push(char),
            }
        }
        string.extend(chunk.invalid().iter().map(|byte| format!("\\udc{byte:02x}")));
    }
    string + "\""
}

/// Returns a line with an object in JSON. The values are in JSON already.
pub fn json_object(parts: &[(&str, &str)]) -> String {
    let parts: Vec<_> =
        parts.iter().map(|(name, value)| format!("{}:{value}", json(name.as_bytes()))).collect();
    format!("{{{}}}\n", parts.join(","))
}

/// Breaks a line at spaces, so that it fits a terminal of 80 columns. The lines after the first are
/// indented.
pub fn wrapped(mut line: &str, indent: usize) -> String {
    let mut text = String::new();
    let mut room = 80;
    while line.len() > room {
        let Some(at) = line[..=room].rfind(' ').filter(|at| *at > 0) else { break };
        text += &format!("{}\n{:indent$}", line[..at].trim_end(), "");
        line = line[at..].trim_start();
        room = 80 - indent;
    }
    text + line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_disguise_themselves() {
        let name = "caf\u{e9} \u{202e}txt.exe\u{2066}\x1b[31m";
        let shown = "caf\u{e9} \\u{202e}txt.exe\\u{2066}\\u{1b}[31m";
        assert_eq!(printable(name.as_bytes()), shown);
        assert_eq!(printable(b"\xff"), "\\xff");
        assert_eq!(printable(b"\\xff\n"), "\\\\xff\\n");
    }

    #[test]
    fn strings_in_json() {
        let text = "\"b\" \\ \n\u{7f}\u{202e} caf\u{e9}";
        let expected = "\"\\\"b\\\" \\\\ \\u000a\\u007f\\u202e caf\u{e9}\"";
        assert_eq!(json(text.as_bytes()), expected);
        assert_eq!(json(b"caf\xe9"), "\"caf\\udce9\"");
    }

    #[test]
    fn long_lines() {
        let word = "x".repeat(39);
        assert_eq!(wrapped(&format!("{word} {word}"), 4), format!("{word} {word}\n"));
        let line = format!("{word} {word}  {word} {word}");
        let expected = format!("{word} {word}\n    {word}\n    {word}\n");
        assert_eq!(wrapped(&line, 4), expected);
        assert_eq!(wrapped(&"x".repeat(100), 4), "x".repeat(100) + "\n");
    }

    #[test]
    fn marks() {
        assert_eq!(without_mark(b"\xef\xbb\xbftext"), b"text");
        assert_eq!(without_mark(b"text"), b"text");
        for text in [&b"\xff\xfea\0"[..], b"\xfe\xff\0a", b"\xff\xfe", b"a\0b\0", b"\0a\0b"] {
            assert!(is_utf16(text), "{text:?}");
        }
        for text in [&b""[..], b"a", b"text", b"a\0bc", b"\0\0\0\0", b"\xef\xbb\xbfa", b"\xff"] {
            assert!(!is_utf16(text), "{text:?}");
        }
    }
}
