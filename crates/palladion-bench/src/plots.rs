//! Charts as SVG: encryption by size, compared with other ciphers, and the time of short messages.
//! Colours follow the reader's light or dark mode. The text is large enough for a telephone.

use std::fmt::Write;
use std::ops::RangeInclusive;

use crate::algorithm::{Algorithm, Operation, Variant};
use crate::report::{LONG, bytes};
use crate::results::{Cell, Results, Task};

/// The curves with their colours in light and in dark mode, which colour-blind readers can tell
/// apart, and their dashes.
const CURVES: [(Algorithm, &str, &str, &str); 6] = [
    (Algorithm::Aegis(Variant::Aegis128L), "#0072b2", "#58b0e8", "none"),
    (Algorithm::Aegis(Variant::Aegis128X2), "#c44e00", "#f08a4b", "14 4"),
    (Algorithm::Aegis(Variant::Aegis128X4), "#00805c", "#2fbf94", "3 4"),
    (Algorithm::Aegis(Variant::Aegis256X2), "#a8478e", "#dc8fc4", "14 4 3 4"),
    (Algorithm::Aes128Gcm, "#5c5c5c", "#b0b0b0", "none"),
    (Algorithm::Chacha20Poly1305, "#8a6d1b", "#d0ab4a", "7 5"),
];

/// A chart, the name of its file, and its title.
pub struct Plot {
    pub file: &'static str,
    pub title: &'static str,
    pub svg: String,
}

/// All charts for which there are results.
pub fn all(results: &Results) -> Vec<Plot> {
    let title = "Encryption on one core, GB/s by bytes of message";
    let speed = svg(results, title, &[0, 1, 2, 3, 4, 5], 16..=LONG, "GB/s", Cell::speed);
    let throughput = speed.map(|svg| Plot { file: "throughput.svg", title, svg });
    let title = "Encryption of short messages, nanoseconds by bytes";
    let time = svg(results, title, &[0, 1, 3, 4], 0..=256, "ns", |cell| cell.min_ns);
    let short = time.map(|svg| Plot { file: "time-short.svg", title, svg });
    [throughput, short].into_iter().flatten().collect()
}

/// A step between the lines of a grid: 1, 2 or 5 times a power of ten, at most eight of them.
fn step(max: f64) -> f64 {
    let power = 10_f64.powf((max / 8.0).log10().floor());
    [1.0, 2.0, 5.0].map(|n| n * power).into_iter().find(|n| max / n <= 8.0).unwrap_or(10.0 * power)
}

/// Draws the curves of this library and of the fastest implementation of each other cipher, from 0
/// upwards. At the right are their names and last values, the highest first.
fn svg(
    results: &Results,
    title: &str,
    styles: &[usize],
    sizes: RangeInclusive<usize>,
    unit: &str,
    value: impl Fn(&Cell) -> f64,
) -> Option<String> {
    const LEFT: f64 = 48.0;
    const RIGHT: f64 = 470.0;
    const TOP: f64 = 52.0;
    const BOTTOM: f64 = 372.0;
    let sizes: Vec<_> = results.sizes().into_iter().filter(|size| sizes.contains(size)).collect();
    let mut curves = Vec::new();
    for &style in styles {
        let cell = |size| results.shown(CURVES[style].0, Task::new(Operation::Encrypt, size));
        let point = |&size| Some((size, value(cell(size)?)));
        let points: Vec<_> = sizes.iter().filter_map(point).collect();
        curves.extend(points.last().copied().map(|(_, last)| (style, last, points)));
    }
    curves.sort_by(|a, b| b.1.total_cmp(&a.1));
    let values = || curves.iter().flat_map(|curve| &curve.2).map(|point| point.1);
    let top = values().fold(0.0, f64::max) * 1.04;
    let (first, last) = (*sizes.first()?, *sizes.last()?);
    if curves.is_empty() || first == last {
        return None;
    }
    // Logarithmic, but with room for 0.
    let log = |size: usize| (size as f64 + 16.0).log2();
    let x = |size| LEFT + (RIGHT - LEFT) * (log(size) - log(first)) / (log(last) - log(first));
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * value / top;

    let colours = |pick: fn(usize) -> &'static str| -> String {
        let rule = |i| format!(".c{i} {{ fill: {0}; }} .l{i} {{ stroke: {0}; }}\n", pick(i));
        (0..CURVES.len()).map(rule).collect()
    };
    let (light, dark) = (colours(|i| CURVES[i].1), colours(|i| CURVES[i].2));
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="760" height="412" viewBox="0 0 760 412" role="img">
<title>{title}</title>
<style>
svg {{ font: 16px system-ui, sans-serif; }}
polyline, line {{ fill: none; stroke-width: 2; }} .ours {{ stroke-width: 3.5; }}
.paper {{ fill: #ffffff; }} .ink {{ fill: #1c1c1c; font-size: 19px; font-weight: 600; }}
.dim {{ fill: #5c5c5c; }} .grid {{ stroke: #dcdcdc; stroke-width: 1; }}
{light}@media (prefers-color-scheme: dark) {{
.paper {{ fill: #161616; }} .ink {{ fill: #ececec; }} .dim {{ fill: #b0b0b0; }}
.grid {{ stroke: #3a3a3a; }}
{dark}}}
</style>
<rect class="paper" width="760" height="412" rx="6"/>
<text class="ink" x="14" y="28">{title}</text>
"##
    );
    let mut draw = |element: String| writeln!(svg, "{element}").expect("a string takes everything");
    let text = |class: &str, x, y, anchor: &str, text: String| {
        let place = format!("x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"");
        format!("<text class=\"{class}\" {place}>{text}</text>")
    };
    for i in 0..=(top / step(top)) as u32 {
        // A step has at most two digits after the point; rounding removes what f64 adds.
        let value = (f64::from(i) * step(top) * 100.0).round() / 100.0;
        let place = y(value);
        draw(format!(
            r#"<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{place:.1}" y2="{place:.1}"/>"#
        ));
        draw(text("dim", LEFT - 8.0, place + 5.0, "end", value.to_string()));
    }
    for &size in &sizes {
        draw(text("dim", x(size), BOTTOM + 26.0, "middle", bytes(size)));
    }
    for (place, (style, last, points)) in curves.iter().enumerate() {
        let (algorithm, .., dashes) = CURVES[*style];
        let ours = if matches!(algorithm, Algorithm::Aegis(_)) { " ours" } else { "" };
        let line = format!("class=\"l{style}{ours}\" stroke-dasharray=\"{dashes}\"");
        let points = points.iter().map(|(size, value)| format!("{:.1},{:.1}", x(*size), y(*value)));
        draw(format!("<polyline {line} points=\"{}\"/>", points.collect::<Vec<_>>().join(" ")));
        let (name, left, y) = (algorithm.name(), RIGHT + 14.0, TOP + 4.0 + 26.0 * place as f64);
        draw(format!(r#"<line {line} x1="{left}" x2="{}" y1="{y}" y2="{y}"/>"#, left + 26.0));
        let label = format!("{name} {last:.1} {unit}");
        draw(text(&format!("c{style}"), left + 32.0, y + 5.0, "start", label));
    }
    Some(svg + "</svg>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn grid_lines_are_round() {
        assert_eq!([12.1, 8.0, 0.7, 55.0, 100.0].map(step), [2.0, 1.0, 0.1, 10.0, 20.0]);
    }

    #[test]
    fn curves_have_their_last_values() {
        let mut results = sample(1.5, 2.0);
        let [throughput, short] = &all(&results)[..] else { panic!("not two charts") };
        // 16 KiB in 1678.4 ns, and 64 bytes in 46.4 ns; AES-GCM takes twice as long.
        let (x4, gcm) = ("AEGIS-128X4 9.8 GB/s", "AES-128-GCM 4.9 GB/s");
        assert!(throughput.svg.contains(x4) && throughput.svg.contains(gcm));
        assert!(short.svg.contains("AEGIS-128L 46.4 ns") && short.svg.contains("GCM 92.8 ns"));
        // The first and the highest point.
        assert!(throughput.svg.contains("points=\"48.0,") && throughput.svg.contains("470.0,64.3"));
        results.cells.clear();
        assert!(all(&results).is_empty());
    }
}
