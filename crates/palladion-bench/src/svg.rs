//! Charts as SVG: curves over sizes. Colours follow the reader's light or dark mode. The text is
//! large enough to be read on a telephone.

use std::fmt::Write;

use crate::report::bytes;
use crate::table::escape;

type Colour = (&'static str, &'static str, &'static str);

/// Roles and their colours in light and in dark mode. The seven colours of curves are distinct for
/// colour-blind readers too.
const COLOURS: [Colour; 11] = [
    ("ink", "#1c1c1c", "#ececec"),
    ("dim", "#5c5c5c", "#b0b0b0"),
    ("grid", "#dcdcdc", "#3a3a3a"),
    ("paper", "#ffffff", "#161616"),
    ("c0", "#0072b2", "#58b0e8"),
    ("c1", "#d55e00", "#f08a4b"),
    ("c2", "#009e73", "#2fbf94"),
    ("c3", "#b3579a", "#dc8fc4"),
    ("c4", "#b97a00", "#e0ab3a"),
    ("c5", "#7a7a7a", "#a8a8a8"),
    ("c6", "#8a6d3b", "#c7a878"),
];
const CURVES: usize = 7;

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
         .dash {{ stroke-dasharray: 6 4; }}\n\
         @media (max-width: 480px) {{ svg {{ font-size: 21px; }} .title {{ font-size: 23px; }} }}\n\
         {}@media (prefers-color-scheme: dark) {{\n{}}}\n",
        rules(|colour| colour.1),
        rules(|colour| colour.2)
    )
}

/// A curve.
pub struct Series {
    pub name: String,
    /// The index of the colour.
    pub colour: usize,
    /// Drawn with a thicker line, for this library.
    pub is_ours: bool,
    /// Drawn with dashes and omitted from the legend, for other implementations.
    pub dashed: bool,
    /// Size and value, sizes ascending.
    pub points: Vec<(usize, f64)>,
}

impl Series {
    fn class(&self) -> String {
        let colour = self.colour % CURVES;
        let [ours, dash] = [(self.is_ours, " ours"), (self.dashed, " dash")]
            .map(|(is, class)| if is { class } else { "" });
        format!("curve{ours}{dash} c{colour}-line")
    }
}

/// The scale of sizes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// From 0.
    Linear,
    /// From the least size, which is not 0.
    Logarithmic,
}

const WIDTH: f64 = 640.0;

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

/// Curves over sizes; values from 0.
pub fn lines(title: &str, unit: &str, scale: Scale, series: &[Series]) -> Option<String> {
    const TOP: f64 = 72.0;
    const BOTTOM: f64 = 310.0;
    const LEFT: f64 = 60.0;
    const RIGHT: f64 = 618.0;
    const LEGEND: f64 = 384.0;
    const ROW: f64 = 26.0;
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

    let names: Vec<_> = series.iter().filter(|s| !s.dashed).collect();
    let mut svg = Svg::new(LEGEND + ROW * names.len().div_ceil(2) as f64, title);
    svg.text(14.0, 52.0, "start", "dim", unit);
    let step = step(top);
    for i in 0..=(top / step) as u32 {
        let value = f64::from(i) * step;
        svg.line("grid-line", (LEFT, y(value)), (RIGHT, y(value)));
        svg.text(LEFT - 8.0, y(value) + 5.0, "end", "dim", &number(value));
    }
    let marks: Vec<usize> = match scale {
        Scale::Linear => (0..=max).step_by(max.div_ceil(8)).collect(),
        Scale::Logarithmic => (0..usize::BITS).map(|bit| 1 << bit).collect(),
    };
    let mut last = f64::NEG_INFINITY;
    for size in marks.into_iter().filter(|size| (min..=max).contains(size)) {
        if x(size) - last >= 80.0 {
            last = x(size);
            svg.line("grid-line", (last, BOTTOM), (last, BOTTOM + 6.0));
            svg.text(last, BOTTOM + 26.0, "middle", "dim", &bytes(size));
        }
    }
    svg.text((LEFT + RIGHT) / 2.0, BOTTOM + 50.0, "middle", "dim", "bytes");
    for s in series {
        let path: Vec<_> = s
            .points
            .iter()
            .map(|&(size, value)| format!("{:.1},{:.1}", x(size), y(value)))
            .collect();
        svg.add(format_args!(
            "<polyline class=\"{}\" points=\"{}\"><title>{}</title></polyline>",
            s.class(),
            path.join(" "),
            escape(&s.name)
        ));
    }
    for (i, s) in names.into_iter().enumerate() {
        let left = if i % 2 == 0 { LEFT } else { (LEFT + RIGHT) / 2.0 };
        let line = LEGEND + ROW * (i / 2) as f64;
        svg.add(format_args!("<path class=\"{}\" d=\"M{left:.1} {line:.1}h34\"/>", s.class()));
        svg.text(left + 44.0, line + 5.0, "start", "ink", &s.name);
    }
    Some(svg.finish())
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
        let name = "a<b".into();
        let series = [Series { name, colour: 8, is_ours: true, dashed: false, points }];
        let svg = lines("Title & more", "GB/s", Scale::Logarithmic, &series).unwrap();
        assert!(svg.contains("a&lt;b") && svg.contains("Title &amp; more"));
        assert!(svg.contains("curve ours c1-line") && svg.contains("prefers-color-scheme: dark"));
        assert!(svg.contains("points=\"60.0,") && svg.contains("618.0,81.2\""));
        assert!(svg.ends_with("</svg>\n"));
        let svg = lines("", "", Scale::Linear, &series).unwrap();
        assert!(svg.contains("points=\"60.1,") && svg.contains("618.0,81.2\""));
    }

    #[test]
    fn nothing_to_draw() {
        assert!(lines("", "", Scale::Linear, &[]).is_none());
        let points = vec![(0, 1.0), (16, 2.0)];
        let name = String::new();
        let series = [Series { name, colour: 0, is_ours: false, dashed: false, points }];
        assert!(lines("", "", Scale::Logarithmic, &series).is_none());
    }
}
