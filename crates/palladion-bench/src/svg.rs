//! Charts as SVG: curves over sizes, and a grid of ratios. Colours follow the reader's light or
//! dark mode. The text is large enough to be read on a telephone.

use std::fmt::Write;

use crate::report::bytes;
use crate::table::escape;

type Colour = (&'static str, &'static str, &'static str);

/// Roles and their colours in light and in dark mode. The colours of curves are distinct for
/// colour-blind readers too.
const COLOURS: [Colour; 10] = [
    ("ink", "#1c1c1c", "#ececec"),
    ("dim", "#5c5c5c", "#b0b0b0"),
    ("grid", "#dcdcdc", "#3a3a3a"),
    ("paper", "#ffffff", "#161616"),
    ("c0", "#0072b2", "#58b0e8"),
    ("c1", "#c44e00", "#f08a4b"),
    ("c2", "#00805c", "#2fbf94"),
    ("c3", "#a8478e", "#dc8fc4"),
    ("c4", "#5c5c5c", "#b0b0b0"),
    ("c5", "#8a6d1b", "#d0ab4a"),
];
/// The dashes of curves, so that they can be told apart without colours.
const DASHES: [&str; 6] = ["none", "14 4", "3 4", "14 4 3 4", "none", "7 5"];

/// The style of all charts. It has no variables, because some viewers do not support them.
fn style() -> String {
    let rules = |pick: fn(&Colour) -> &'static str| {
        let rule = |colour: &Colour| {
            let (name, value) = (colour.0, pick(colour));
            format!(
                ".{name} {{ fill: {value}; }} .{name}-line {{ fill: none; stroke: {value}; }}\n"
            )
        };
        COLOURS.iter().map(rule).collect::<String>()
    };
    format!(
        "svg {{ font: 16px system-ui, sans-serif; }}\n\
         .title {{ font-size: 19px; font-weight: 600; }}\n\
         .curve {{ stroke-width: 2; }} .ours {{ stroke-width: 3.5; }}\n\
         {}@media (prefers-color-scheme: dark) {{\n{}}}\n",
        rules(|colour| colour.1),
        rules(|colour| colour.2)
    )
}

/// A curve.
pub struct Series {
    pub name: String,
    /// The index of its colour and its dashes.
    pub style: usize,
    /// Drawn with a thicker line, for this library.
    pub is_ours: bool,
    /// Size and value, sizes ascending.
    pub points: Vec<(usize, f64)>,
}

/// The scale of sizes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// From 0.
    Linear,
    /// From the least size, which is not 0.
    Logarithmic,
}

const WIDTH: f64 = 760.0;

struct Svg {
    text: String,
}

impl Svg {
    fn new(height: f64, title: &str) -> Self {
        let title = escape(title);
        let text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n\
             <style>{}</style>\n\
             <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\" rx=\"6\"/>\n\
             <text class=\"ink title\" x=\"14\" y=\"28\">{title}</text>\n",
            style()
        );
        Self { text }
    }

    fn add(&mut self, element: std::fmt::Arguments) {
        writeln!(self.text, "{element}").expect("a string takes everything");
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, class: &str, text: &str) {
        let text = escape(text);
        self.add(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" \
             text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.add(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    fn finish(self) -> String {
        self.text + "</svg>\n"
    }
}

/// A step between the lines of a grid: 1, 2 or 5 times a power of ten, at most eight of them.
fn step(max: f64) -> f64 {
    let power = 10_f64.powf((max / 8.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| max / step <= 8.0)
        .unwrap_or(max)
}

fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Moves labels apart, so that none covers another, and keeps their order. `places` are ascending.
fn apart(places: &mut [f64], gap: f64, last: f64) {
    for i in 1..places.len() {
        places[i] = places[i].max(places[i - 1] + gap);
    }
    let mut limit = last;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - gap;
    }
}

/// Curves over sizes; values from 0. Each curve has its name and its last value at its end.
pub fn lines(title: &str, scale: Scale, series: &[Series], unit: &str) -> Option<String> {
    const TOP: f64 = 52.0;
    const BOTTOM: f64 = 372.0;
    const LEFT: f64 = 48.0;
    const RIGHT: f64 = 500.0;
    let points = || series.iter().flat_map(|s| &s.points);
    let (min, max) = (points().map(|p| p.0).min()?, points().map(|p| p.0).max()?);
    let min = if scale == Scale::Linear { 0 } else { min };
    if min == max || (scale == Scale::Logarithmic && min == 0) {
        return None;
    }
    let top = points().map(|p| p.1).fold(0.0, f64::max) * 1.04;
    let x = |size: usize| {
        let part = match scale {
            Scale::Linear => size as f64 / max as f64,
            Scale::Logarithmic => (size as f64 / min as f64).ln() / (max as f64 / min as f64).ln(),
        };
        LEFT + (RIGHT - LEFT) * part
    };
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * value / top;

    let mut svg = Svg::new(BOTTOM + 40.0, title);
    let step = step(top);
    for i in 0..=(top / step) as u32 {
        let value = f64::from(i) * step;
        svg.line("grid-line", (LEFT, y(value)), (RIGHT, y(value)));
        svg.text(LEFT - 8.0, y(value) + 5.0, "end", "dim", &number(value));
    }
    let marks: Vec<usize> = match scale {
        Scale::Linear => (0..=max).step_by(max.div_ceil(8)).collect(),
        Scale::Logarithmic => (0..usize::BITS).step_by(2).map(|bit| 1 << bit).collect(),
    };
    for size in marks.into_iter().filter(|size| (min..=max).contains(size)) {
        svg.line("grid-line", (x(size), BOTTOM), (x(size), BOTTOM + 6.0));
        svg.text(x(size), BOTTOM + 26.0, "middle", "dim", &bytes(size));
    }
    let mut labels = Vec::new();
    for s in series {
        let path: Vec<_> = s
            .points
            .iter()
            .map(|&(size, value)| format!("{:.1},{:.1}", x(size), y(value)))
            .collect();
        let (style, ours) = (s.style, if s.is_ours { " ours" } else { "" });
        svg.add(format_args!(
            "<polyline class=\"curve{ours} c{style}-line\" stroke-dasharray=\"{}\" \
             points=\"{}\"/>",
            DASHES[style],
            path.join(" "),
        ));
        let &(size, value) = s.points.last()?;
        labels.push((y(value), x(size), s, value));
    }
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut places: Vec<_> = labels.iter().map(|label| label.0).collect();
    apart(&mut places, 22.0, BOTTOM - 4.0);
    for ((y, x, s, value), place) in labels.into_iter().zip(places) {
        let class = format!("c{}", s.style);
        svg.line(&format!("{class}-line"), (x + 2.0, y), (RIGHT + 20.0, place));
        let value = if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") };
        let text = format!("{} {value} {unit}", s.name);
        svg.text(RIGHT + 24.0, place + 5.0, "start", &class, &text);
    }
    Some(svg.finish())
}

/// A colour between white and another, without which text can be read: green below 1, red above.
fn shade(ratio: f64) -> String {
    let (part, [r, g, b]) = match ratio {
        _ if ratio < 1.0 => ((1.0 - ratio) / 0.6, [60, 175, 125]),
        _ => ((ratio - 1.0) / 0.3, [235, 110, 60]),
    };
    let mix = |colour: i32| 255 - (f64::from(255 - colour) * part.min(1.0)).round() as i32;
    format!("#{:02x}{:02x}{:02x}", mix(r), mix(g), mix(b))
}

/// Ratios in rows with names, below names of columns.
pub fn grid(title: &str, columns: &[String], rows: &[(String, Vec<Option<f64>>)]) -> String {
    const TOP: f64 = 70.0;
    const LEFT: f64 = 190.0;
    const ROW: f64 = 25.0;
    let width = (WIDTH - LEFT - 14.0) / columns.len() as f64;
    let mut svg = Svg::new(TOP + ROW * rows.len() as f64 + 14.0, title);
    for (i, column) in columns.iter().enumerate() {
        svg.text(LEFT + width * (i as f64 + 0.5), TOP - 10.0, "middle", "dim", column);
    }
    for (i, (name, ratios)) in rows.iter().enumerate() {
        let y = TOP + ROW * i as f64;
        svg.text(LEFT - 10.0, y + 18.0, "end", "ink", name);
        for (j, ratio) in ratios.iter().enumerate() {
            let (x, Some(ratio)) = (LEFT + width * j as f64, ratio) else { continue };
            svg.add(format_args!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>",
                x,
                y,
                width - 1.0,
                ROW - 1.0,
                shade(*ratio)
            ));
            // Dark on every shade, in dark mode too.
            svg.add(format_args!(
                "<text fill=\"#1c1c1c\" x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{ratio:.2}</text>",
                x + width / 2.0,
                y + 18.0
            ));
        }
    }
    svg.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_lines_are_round() {
        assert_eq!([12.1, 8.0, 0.7, 55.0, 100.0].map(step), [2.0, 1.0, 0.1, 10.0, 20.0]);
        assert_eq!([0.5, 2.0, 10.0].map(number), ["0.5", "2", "10"]);
    }

    #[test]
    fn curves_stay_inside() {
        let points = vec![(16, 1.0), (1024, 9.0), (65536, 12.0)];
        let series = [Series { name: "a<b".into(), style: 1, is_ours: true, points }];
        let svg = lines("Title & more", Scale::Logarithmic, &series, "GB/s").unwrap();
        assert!(svg.contains("a&lt;b 12.0 GB/s") && svg.contains("Title &amp; more"));
        assert!(svg.contains("curve ours c1-line") && svg.contains("prefers-color-scheme: dark"));
        assert!(svg.contains("points=\"48.0,") && svg.contains("500.0,64.3\""));
        assert!(svg.ends_with("</svg>\n"));
        let svg = lines("", Scale::Linear, &series, "").unwrap();
        assert!(svg.contains("points=\"48.1,") && svg.contains("500.0,64.3\""));
    }

    #[test]
    fn labels_do_not_overlap() {
        let mut places = [10.0, 12.0, 50.0, 99.0];
        apart(&mut places, 20.0, 100.0);
        assert_eq!(places, [10.0, 30.0, 50.0, 99.0]);
        let mut places = [80.0, 81.0, 82.0];
        apart(&mut places, 20.0, 100.0);
        assert_eq!(places, [60.0, 80.0, 100.0]);
    }

    #[test]
    fn shades() {
        assert_eq!([1.0, 0.4, 0.1, 9.0].map(shade), ["#ffffff", "#3caf7d", "#3caf7d", "#eb6e3c"]);
    }

    #[test]
    fn nothing_to_draw() {
        assert!(lines("", Scale::Linear, &[], "").is_none());
        let points = vec![(0, 1.0), (16, 2.0)];
        let series = [Series { name: String::new(), style: 0, is_ours: false, points }];
        assert!(lines("", Scale::Logarithmic, &series, "").is_none());
    }
}
