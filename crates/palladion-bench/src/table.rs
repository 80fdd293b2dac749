//! Tables, as text, Markdown and HTML.

use std::fmt::Write;

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
    pub tone: Tone,
}

/// How to judge a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Tone {
    #[default]
    Plain,
    Good,
    Bad,
}

impl<T: Into<String>> From<T> for Item {
    fn from(text: T) -> Self {
        Self { text: text.into(), tone: Tone::Plain }
    }
}

impl Item {
    /// Our time divided by theirs: below 1 is good.
    pub fn ratio(ratio: f64) -> Self {
        let tone = if ratio > 1.0 { Tone::Bad } else { Tone::Good };
        Self { text: format!("{ratio:.2}"), tone }
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

    pub fn markdown(&self) -> String {
        let mut text = format!("### {}\n\n", self.title);
        if !self.note.is_empty() {
            text += &format!("{}\n\n", self.note);
        }
        text += &format!("| {} |\n|", self.head.join(" | "));
        for column in 0..self.head.len() {
            text += if column < self.labels { "---|" } else { "---:|" };
        }
        for row in &self.rows {
            let texts = row.iter().map(|item| match item.tone {
                Tone::Bad => format!("**{}**", item.text),
                _ => item.text.clone(),
            });
            text += &format!("\n| {} |", texts.collect::<Vec<_>>().join(" | "));
        }
        text + "\n"
    }
}

/// Escapes text for HTML and SVG.
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
            rows: vec![
                vec!["a<b".into(), Item::ratio(1.25)],
                vec!["longer".into(), Item::ratio(0.5)],
            ],
        }
    }

    #[test]
    fn as_text() {
        assert_eq!(table().text(), "Title\n\nwho       64\na<b     1.25\nlonger  0.50\n");
    }

    #[test]
    fn as_markdown() {
        assert_eq!(
            table().markdown(),
            "### Title\n\n| who | 64 |\n|---|---:|\n| a<b | **1.25** |\n| longer | 0.50 |\n"
        );
    }
}
