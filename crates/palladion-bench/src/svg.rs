//! Charts as SVG: curves over sizes, bars with a mark, grids of ratios. Colours follow the reader's
//! light or dark mode, in a separate file and inside a page.

use std::fmt::Write;

use crate::report::bytes;
use crate::table::escape;

type Colour = (&'static str, &'static str, &'static str);

/// Roles and their colours in light and in dark mode. The eight colours of curves are distinct for
/// colour-blind readers too.
const COLOURS: [Colour; 14] = [
    ("ink", "#1c1c1c", "#ececec"),
    ("dim", "#6b6b6b", "#a0a0a0"),
    ("grid", "#dcdcdc", "#3a3a3a"),
    ("paper", "#ffffff", "#161616"),
    ("good", "#009e73", "#2fbf94"),
    ("bad", "#d55e00", "#f08a4b"),
    ("c0", "#0072b2", "#58b0e8"),
    ("c1", "#d55e00", "#f08a4b"),
    ("c2", "#009e73", "#2fbf94"),
    ("c3", "#b3579a", "#dc8fc4"),
    ("c4", "#b97a00", "#e0ab3a"),
    ("c5", "#3a9bd1", "#8fd0f5"),
    ("c6", "#7a7a7a", "#a8a8a8"),
    ("c7", "#8a6d3b", "#c7a878"),
];
const CURVES: usize = 8;

/// The style of all charts. It has no variables, because some viewers do not support them.
pub fn style() -> String {
    let rules = |pick: fn(&Colour) -> &'static str| {
        let rule = |colour: &Colour| {
            let (name, value) = (colour.0, pick(colour));
            format!(
                ".chart .{name} {{ fill: {value}; }} \
                 .chart .{name}-line {{ fill: none; stroke: {value}; }}\n"
            )
        };
        COLOURS.iter().map(rule).collect::<String>()
    };
    format!(
        ".chart {{ font: 12px system-ui, sans-serif; }} \
         .chart .title {{ font-size: 15px; font-weight: 600; }}\n\
         .chart .curve {{ stroke-width: 2; }} .chart .dash {{ stroke-dasharray: 5 4; }}\n\
         {}@media (prefers-color-scheme: dark) {{\n{}}}\n",
        rules(|colour| colour.1),
        rules(|colour| colour.2)
    )
}

const WIDTH: f64 = 860.0;

/// A curve.
pub struct Series {
    pub name: String,
    /// The index of the colour.
    pub colour: usize,
    /// Drawn with dashes, for other implementations.
    pub dashed: bool,
    /// Size and value, sizes ascending.
    pub points: Vec<(usize, f64)>,
}

struct Svg {
    text: String,
}

impl Svg {
    fn new(height: f64, title: &str) -> Self {
        let title = escape(title);
        let text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" \
             viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n\
             <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\" rx=\"6\"/>\n\
             <text class=\"ink title\" x=\"16\" y=\"26\">{title}</text>\n"
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

    fn rect(&mut self, style: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        self.add(format_args!(
            "<rect {style} x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        ));
    }

    fn finish(self) -> String {
        self.text + "</svg>\n"
    }
}

/// Makes a separate file from a chart in a page.
pub fn standalone(chart: &str) -> String {
    let end = chart.find('>').map_or(0, |end| end + 1);
    format!("{}<style>{}</style>{}", &chart[..end], style(), &chart[end..])
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

/// Curves over sizes on a logarithmic scale; values from 0.
pub fn lines(title: &str, unit: &str, series: &[Series]) -> Option<String> {
    const HEIGHT: f64 = 430.0;
    const TOP: f64 = 60.0;
    const BOTTOM: f64 = 380.0;
    const LEFT: f64 = 56.0;
    const RIGHT: f64 = 590.0;
    let points = || series.iter().flat_map(|s| &s.points);
    let (min, max) = (points().map(|p| p.0).min()?, points().map(|p| p.0).max()?);
    if min == max || min == 0 {
        return None;
    }
    let top = points().map(|p| p.1).fold(0.0, f64::max) * 1.04;
    let x = |size: usize| {
        LEFT + (RIGHT - LEFT) * (size as f64 / min as f64).ln() / (max as f64 / min as f64).ln()
    };
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * value / top;

    let mut svg = Svg::new(HEIGHT, title);
    svg.text(16.0, 46.0, "start", "dim", unit);
    let step = step(top);
    for i in 0..=(top / step) as u32 {
        let value = f64::from(i) * step;
        svg.line("grid-line", (LEFT, y(value)), (RIGHT, y(value)));
        svg.text(LEFT - 8.0, y(value) + 4.0, "end", "dim", &number(value));
    }
    let mut last = f64::NEG_INFINITY;
    for size in (0..usize::BITS).map(|bit| 1 << bit).filter(|size| (min..=max).contains(size)) {
        if x(size) - last >= 38.0 {
            last = x(size);
            svg.line("grid-line", (last, BOTTOM), (last, BOTTOM + 5.0));
            svg.text(last, BOTTOM + 20.0, "middle", "dim", &bytes(size));
        }
    }
    svg.text((LEFT + RIGHT) / 2.0, BOTTOM + 40.0, "middle", "dim", "bytes");
    for s in series {
        let class = if s.dashed { "curve dash" } else { "curve" };
        let colour = s.colour % CURVES;
        let path: Vec<_> = s
            .points
            .iter()
            .map(|&(size, value)| format!("{:.1},{:.1}", x(size), y(value)))
            .collect();
        svg.add(format_args!(
            "<polyline class=\"{class} c{colour}-line\" points=\"{}\"><title>{}</title></polyline>",
            path.join(" "),
            escape(&s.name)
        ));
        if !s.dashed {
            for &(size, value) in &s.points {
                svg.add(format_args!(
                    "<circle class=\"c{colour}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.6\">\
                     <title>{}, {size}: {value:.2}</title></circle>",
                    x(size),
                    y(value),
                    escape(&s.name)
                ));
            }
        }
    }
    // The legend, in the order of the curves' right ends.
    let mut order: Vec<_> = series.iter().filter(|s| !s.points.is_empty()).collect();
    order.sort_by(|a, b| {
        b.points.last().map(|p| p.1).unwrap_or(0.0).total_cmp(&a.points.last().map_or(0.0, |p| p.1))
    });
    for (i, s) in order.into_iter().enumerate() {
        let line = TOP + 8.0 + 20.0 * i as f64;
        let (class, colour) = (if s.dashed { "curve dash" } else { "curve" }, s.colour % CURVES);
        svg.add(format_args!(
            "<path class=\"{class} c{colour}-line\" d=\"M{:.1} {line:.1}h26\"/>",
            RIGHT + 18.0
        ));
        svg.text(RIGHT + 52.0, line + 4.0, "start", "ink", &s.name);
    }
    Some(svg.finish())
}

/// A bar: its name, colour, value, and a mark on it.
pub struct Bar {
    pub name: String,
    pub colour: usize,
    pub value: f64,
    pub mark: Option<f64>,
}

/// Horizontal bars from 0, each with its value. A mark is a line across the bar.
pub fn bars(title: &str, unit: &str, bars: &[Bar]) -> Option<String> {
    const LEFT: f64 = 250.0;
    const RIGHT: f64 = 780.0;
    const TOP: f64 = 60.0;
    let max = bars.iter().map(|bar| bar.value.max(bar.mark.unwrap_or(0.0))).fold(0.0, f64::max);
    if max <= 0.0 {
        return None;
    }
    let x = |value: f64| LEFT + (RIGHT - LEFT) * value / max;
    let mut svg = Svg::new(TOP + 22.0 * bars.len() as f64 + 16.0, title);
    svg.text(16.0, 46.0, "start", "dim", unit);
    for (i, bar) in bars.iter().enumerate() {
        let y = TOP + 22.0 * i as f64;
        svg.text(LEFT - 10.0, y + 13.0, "end", "ink", &bar.name);
        let style = format!("class=\"c{}\" rx=\"2\"", bar.colour % CURVES);
        svg.rect(&style, (LEFT, y), ((x(bar.value) - LEFT).max(0.5), 17.0));
        if let Some(mark) = bar.mark {
            svg.line("ink-line curve", (x(mark), y - 2.0), (x(mark), y + 19.0));
        }
        let end = x(bar.value.max(bar.mark.unwrap_or(0.0)));
        svg.text(end + 6.0, y + 13.0, "start", "dim", &format!("{:.3}", bar.value));
    }
    Some(svg.finish())
}

/// A grid of ratios: green below 1, orange above. Colours get stronger with the distance from 1.
pub fn grid(
    title: &str,
    unit: &str,
    columns: &[String],
    rows: &[(String, Vec<Option<f64>>)],
) -> Option<String> {
    const LEFT: f64 = 190.0;
    const TOP: f64 = 82.0;
    const ROW: f64 = 22.0;
    if columns.is_empty() || rows.is_empty() {
        return None;
    }
    let width = (WIDTH - LEFT - 16.0) / columns.len() as f64;
    let mut svg = Svg::new(TOP + ROW * rows.len() as f64 + 16.0, title);
    svg.text(16.0, 46.0, "start", "dim", unit);
    for (i, column) in columns.iter().enumerate() {
        svg.text(LEFT + width * (i as f64 + 0.5), TOP - 8.0, "middle", "dim", column);
    }
    for (i, (name, ratios)) in rows.iter().enumerate() {
        let y = TOP + ROW * i as f64;
        svg.text(LEFT - 10.0, y + 15.0, "end", "ink", name);
        for (j, ratio) in ratios.iter().enumerate() {
            let Some(ratio) = ratio else { continue };
            let x = LEFT + width * j as f64;
            let class = if *ratio > 1.0 { "bad" } else { "good" };
            let strength = (ratio.ln().abs() * 0.9 + 0.12).min(0.75);
            svg.rect(
                &format!("class=\"{class}\" opacity=\"{strength:.2}\" rx=\"2\""),
                (x + 1.0, y + 1.0),
                (width - 2.0, ROW - 2.0),
            );
            svg.text(x + width / 2.0, y + 15.0, "middle", "ink", &format!("{ratio:.2}"));
        }
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
        let series = [Series { name: "a<b".into(), colour: 9, dashed: false, points }];
        let svg = lines("Title & more", "GB/s", &series).unwrap();
        assert!(
            svg.contains("a&lt;b") && svg.contains("Title &amp; more") && svg.contains("c1-line")
        );
        assert!(svg.contains("points=\"56.0,") && svg.ends_with("</svg>\n"));
        assert!(standalone(&svg).contains("<style>"));
        assert!(lines("", "", &[]).is_none());
    }

    #[test]
    fn nothing_to_draw() {
        assert!(bars("", "", &[]).is_none());
        assert!(grid("", "", &[], &[]).is_none());
    }
}
