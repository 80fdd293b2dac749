//! Tables, as text and Markdown.

use std::fmt::Write;

use crate::verdict::SLOWER;

/// A rectangle of text.
pub struct Table {
    pub title: String,
    pub note: String,
    /// The number of columns at the left with names instead of figures.
    pub labels: usize,
    pub head: Vec<String>,
    pub rows: Vec<Vec<Item>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    pub text: String,
    pub bold: bool,
}

impl<T: Into<String>> From<T> for Item {
    fn from(text: T) -> Self {
        Self { text: text.into(), bold: false }
    }
}

impl Item {
    /// Our time divided by theirs: bold if we are slower.
    pub fn ratio(ratio: f64) -> Self {
        Self { text: format!("{ratio:.2}"), bold: ratio > SLOWER }
    }
}

impl Table {
    pub fn text(&self) -> String {
        let mut widths: Vec<_> = self.head.iter().map(|text| text.chars().count()).collect();
        for row in &self.rows {
            for (width, item) in widths.iter_mut().zip(row) {
                *width = (*width).max(item.text.chars().count());
            }
        }
        let line = |texts: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for (column, (text, width)) in texts.zip(&widths).enumerate() {
                match column < self.labels {
                    true => write!(line, "{text:<width$}  "),
                    false => write!(line, "{text:>width$}  "),
                }
                .expect("a string takes everything");
            }
            line.trim_end().to_owned() + "\n"
        };
        let mut text = format!("{}\n", self.title);
        if !self.note.is_empty() {
            text += &format!("{}\n", self.note);
        }
        text += "\n";
        text += &line(&mut self.head.iter().map(String::as_str));
        for row in &self.rows {
            text += &line(&mut row.iter().map(|item| &*item.text));
        }
        text
    }

    /// A section with the table.
    pub fn markdown(&self) -> String {
        format!("## {}\n\n{}", self.title, self.body())
    }

    /// The table behind its title: a reader unfolds it with a click.
    pub fn folded(&self) -> String {
        folded(&self.title, &self.body())
    }

    fn body(&self) -> String {
        let mut text = String::new();
        if !self.note.is_empty() {
            text += &format!("{}\n\n", wrapped(&self.note));
        }
        text += &format!("| {} |\n|", self.head.join(" | "));
        for column in 0..self.head.len() {
            text += if column < self.labels { "---|" } else { "---:|" };
        }
        for row in &self.rows {
            let texts = row.iter().enumerate().map(|(column, item)| {
                // A figure stays on one line with its unit.
                let is_figure = column >= self.labels;
                let text = item.text.replace(' ', if is_figure { "&nbsp;" } else { " " });
                if item.bold { format!("**{text}**") } else { text }
            });
            text += &format!("\n| {} |", texts.collect::<Vec<_>>().join(" | "));
        }
        text + "\n"
    }
}

/// Markdown that readers see only after a click on its title.
pub fn folded(title: &str, markdown: &str) -> String {
    let title = escape(title);
    format!("<details>\n<summary><b>{title}</b></summary>\n\n{markdown}\n</details>\n")
}

/// Breaks a paragraph into lines of at most 100 columns, as all prose in this repository.
pub fn wrapped(text: &str) -> String {
    let (mut lines, mut len) = (String::new(), 0);
    for word in text.split_whitespace() {
        let width = word.chars().count();
        let fits = len + 1 + width <= 100;
        lines += if len == 0 {
            ""
        } else if fits {
            " "
        } else {
            "\n"
        };
        len = if len > 0 && fits { len + 1 + width } else { width };
        lines += word;
    }
    lines
}

/// Escapes text for SVG and HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            title: "Title".into(),
            note: String::new(),
            labels: 1,
            head: vec!["who".into(), "64".into()],
            rows: vec![vec!["a<b".into(), Item::ratio(1.25)], vec!["longer".into(), "5 ns".into()]],
        }
    }

    #[test]
    fn as_text() {
        assert_eq!(table().text(), "Title\n\nwho       64\na<b     1.25\nlonger  5 ns\n");
    }

    #[test]
    fn paragraphs_are_wrapped() {
        let lines = wrapped(&"four ".repeat(41));
        assert_eq!(lines.lines().map(str::len).collect::<Vec<_>>(), [99, 99, 4]);
        assert_eq!(wrapped(""), "");
        assert_eq!(wrapped(&format!("a {}", "b".repeat(98))).lines().count(), 1);
        assert_eq!(wrapped(&format!("a {}", "b".repeat(99))).lines().count(), 2);
    }

    #[test]
    fn as_markdown() {
        let body = "| who | 64 |\n|---|---:|\n| a<b | **1.25** |\n| longer | 5&nbsp;ns |\n";
        assert_eq!(table().markdown(), format!("## Title\n\n{body}"));
        let summary = "<summary><b>Title</b></summary>";
        assert_eq!(table().folded(), format!("<details>\n{summary}\n\n{body}\n</details>\n"));
    }
}
