//! Draws figures as SVG: lines with marks over two axes, each linear or in powers of ten.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 52.0;
const COLORS: [&str; 4] = ["#1f6feb", "#d1570f", "#2c8a3f", "#8250df"];

/// How an axis is divided.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Evenly, from 0.
    Linear,
    /// In powers of ten.
    Powers,
}

/// An axis with its words.
pub(crate) struct Axis {
    pub(crate) label: &'static str,
    pub(crate) scale: Scale,
}

/// One line.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// A figure.
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
}

impl Plot {
    /// Writes the figure into the directory of the documentation's plots.
    pub(crate) fn save(&self, name: &str) {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/internals/plots");
        fs::create_dir_all(&directory).expect("a directory for plots");
        fs::write(directory.join(name), self.svg()).expect("a file for the plot");
    }

    fn svg(&self) -> String {
        let all = || self.series.iter().flat_map(|series| series.points.iter());
        let x = Range::of(self.x.scale, all().map(|point| point.0));
        let y = Range::of(self.y.scale, all().map(|point| point.1));
        let across = |value: f64| LEFT + x.part(value) * (WIDTH - LEFT - RIGHT);
        let down = |value: f64| HEIGHT - BOTTOM - y.part(value) * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
             <text x=\"{LEFT}\" y=\"20\" font-size=\"14\" fill=\"#1f2328\">{}</text>\n",
            self.title
        );
        for tick in y.ticks() {
            let at = down(tick);
            let end = WIDTH - RIGHT;
            push(
                &mut svg,
                &format!(
                    "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{end}\" y2=\"{at:.1}\" stroke=\"#d8dee4\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#57606a\">{}</text>\n",
                    LEFT - 6.0,
                    at + 4.0,
                    number(tick)
                ),
            );
        }
        let floor = HEIGHT - BOTTOM;
        for tick in x.ticks() {
            let at = across(tick);
            push(
                &mut svg,
                &format!(
                    "<line x1=\"{at:.1}\" y1=\"{floor}\" x2=\"{at:.1}\" y2=\"{}\" stroke=\"#57606a\"/>\n\
                 <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#57606a\">{}</text>\n",
                    floor + 5.0,
                    floor + 19.0,
                    number(tick)
                ),
            );
        }
        self.words(&mut svg);
        for (series, color) in self.series.iter().zip(COLORS.iter().cycle()) {
            let points: Vec<String> = series
                .points
                .iter()
                .map(|(x, y)| format!("{:.1},{:.1}", across(*x), down(*y)))
                .collect();
            push(
                &mut svg,
                &format!(
                    "<polyline fill=\"none\" stroke=\"{color}\" stroke-width=\"1.6\" points=\"{}\"/>\n",
                    points.join(" ")
                ),
            );
            if points.len() <= 12 {
                for (x, y) in &series.points {
                    let (x, y) = (across(*x), down(*y));
                    let mark =
                        format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{color}\"/>\n");
                    push(&mut svg, &mark);
                }
            }
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The words at the axes, and which line is which.
    fn words(&self, svg: &mut String) {
        let (middle, bottom) = (f64::midpoint(LEFT, WIDTH - RIGHT), HEIGHT - 12.0);
        let height = f64::midpoint(TOP, HEIGHT - BOTTOM);
        push(
            svg,
            &format!(
                "<text x=\"{middle}\" y=\"{bottom}\" text-anchor=\"middle\" fill=\"#1f2328\">{}</text>\n\
             <text transform=\"translate(18 {height}) rotate(-90)\" text-anchor=\"middle\" \
             fill=\"#1f2328\">{}</text>\n",
                self.x.label, self.y.label
            ),
        );
        let mut left = LEFT;
        for (series, color) in self.series.iter().zip(COLORS.iter().cycle()) {
            push(
                svg,
                &format!(
                    "<rect x=\"{left}\" y=\"28\" width=\"12\" height=\"3\" fill=\"{color}\"/>\n\
                 <text x=\"{}\" y=\"34\" fill=\"#1f2328\">{}</text>\n",
                    left + 17.0,
                    series.name
                ),
            );
            left += 17.0 + 7.0 * f64::from(u32::try_from(series.name.len()).unwrap_or(0)) + 18.0;
        }
    }
}

fn push(svg: &mut String, text: &str) {
    svg.write_str(text).expect("text can be added to text");
}

/// The values that an axis shows.
struct Range {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Range {
    fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        for value in values {
            (low, high) = (low.min(value), high.max(value));
        }
        match scale {
            Scale::Linear => Self { scale, low: 0.0, high: if high > 0.0 { high } else { 1.0 } },
            Scale::Powers => Self {
                scale,
                low: 10_f64.powf(low.max(1e-6).log10().floor()),
                high: 10_f64.powf(high.max(1e-5).log10().ceil()),
            },
        }
    }

    /// Where a value lies between the ends, from 0 to 1.
    fn part(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value / self.high,
            Scale::Powers => {
                let span = self.high.log10() - self.low.log10();
                (value.max(self.low).log10() - self.low.log10()) / span.max(1e-9)
            }
        }
    }

    fn ticks(&self) -> Vec<f64> {
        let mut ticks = Vec::new();
        match self.scale {
            Scale::Linear => {
                let rough = self.high / 5.0;
                let power = 10_f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
                let step = step.into_iter().find(|step| *step >= rough).unwrap_or(rough);
                let mut tick = 0.0;
                while tick <= self.high * 1.0001 {
                    ticks.push(tick);
                    tick += step;
                }
            }
            Scale::Powers => {
                let mut tick = self.low;
                while tick <= self.high * 1.01 {
                    ticks.push(tick);
                    tick *= 10.0;
                }
            }
        }
        ticks
    }
}

fn number(value: f64) -> String {
    if value >= 1.0 || value == 0.0 {
        format!("{value:.0}")
    } else {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').to_owned()
    }
}
