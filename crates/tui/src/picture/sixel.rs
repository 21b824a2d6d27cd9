//! Pictures for terminals that speak sixel: decoded, brought to the size of their cells, with at most
//! 256 colors, and written in bands of six rows. Pictures come from anywhere: nothing is decoded that
//! would take much room.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Cursor;

pub(super) const MAX_PIXELS: u64 = 4 << 20;
const MAX_DECODED_BYTES: usize = 64 << 20;
const MAX_COLORS: usize = 256;
/// Rows that one character of a line stands for.
const BAND: usize = 6;

/// A color in bytes; none where what is behind it is seen.
type Pixel = Option<[u8; 3]>;

struct Pixels {
    width: usize,
    height: usize,
    all: Vec<Pixel>,
}

/// The sequence that shows a PNG in at most so many pixels; the reason if it cannot be shown.
pub(super) fn encode_png(png: &[u8], (width, height): (u16, u16)) -> Result<String, String> {
    let pixels = decoded(png)?.fitted(usize::from(width), usize::from(height));
    Ok(encode(&pixels))
}

fn decoded(png: &[u8]) -> Result<Pixels, String> {
    let limits = png::Limits { bytes: MAX_DECODED_BYTES };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(png), limits);
    let simple = png::Transformations::normalize_to_color8() | png::Transformations::ALPHA;
    decoder.set_transformations(simple);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let wrong = |error: png::DecodingError| error.to_string();
    let mut reader = decoder.read_info().map_err(wrong)?;
    let (width, height) = reader.info().size();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err("it is too large".to_owned());
    }
    let room = reader.output_buffer_size().filter(|room| *room <= MAX_DECODED_BYTES);
    let mut bytes = vec![0; room.ok_or("it is too large")?];
    let frame = reader.next_frame(&mut bytes).map_err(wrong)?;
    let seen = |color: [u8; 3], opacity: u8| (opacity >= 128).then_some(color);
    let all = match frame.color_type {
        png::ColorType::Rgba => {
            bytes.chunks_exact(4).map(|it| seen([it[0], it[1], it[2]], it[3])).collect()
        }
        png::ColorType::GrayscaleAlpha => {
            bytes.chunks_exact(2).map(|it| seen([it[0]; 3], it[1])).collect()
        }
        other => return Err(format!("unsupported color type {other:?}")),
    };
    let side = |length: u32| usize::try_from(length).unwrap_or(0);
    Ok(Pixels { width: side(width), height: side(height), all })
}

impl Pixels {
    /// Scales to a size within another, each pixel the mean of those it stands for.
    fn fitted(&self, widest: usize, highest: usize) -> Self {
        let is_wide = self.width * highest > self.height * widest;
        let (width, height) = if is_wide {
            (widest, (self.height * widest / self.width.max(1)).max(1))
        } else {
            ((self.width * highest / self.height.max(1)).max(1), highest)
        };
        let part = |at: usize, of: usize, from: usize| {
            let begin = at * from / of;
            begin..((at + 1) * from / of).max(begin + 1).min(from)
        };
        let mean = |x: usize, y: usize| {
            let rows = part(y, height, self.height);
            let columns = part(x, width, self.width);
            let mut sums = [0_u32; 4];
            for row in rows.clone() {
                let from = row * self.width;
                for [red, green, blue] in
                    self.all[from + columns.start..from + columns.end].iter().flatten()
                {
                    for (sum, value) in sums.iter_mut().zip([*red, *green, *blue, 1]) {
                        *sum += u32::from(value);
                    }
                }
            }
            let [red, green, blue, seen] = sums;
            let byte = |sum: u32| u8::try_from(sum / seen.max(1)).unwrap_or(u8::MAX);
            let is_seen = usize::try_from(seen).unwrap_or(0) * 2 >= rows.len() * columns.len();
            is_seen.then(|| [byte(red), byte(green), byte(blue)])
        };
        let all = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let all = all.map(|(x, y)| mean(x, y)).collect();
        Self { width, height, all }
    }
}

/// A color without what an eye hardly sees, by which colors are counted.
fn rough(color: [u8; 3]) -> [u8; 3] {
    color.map(|it| it >> 3)
}

/// A color that stands for others, with how many there are.
type CountedColor = ([u8; 3], usize);

/// Colors that stand for all, and which one stands for which.
fn palette(pixels: &Pixels) -> (Vec<[u8; 3]>, HashMap<[u8; 3], usize>) {
    let mut sums: HashMap<[u8; 3], ([usize; 3], usize)> = HashMap::new();
    for color in pixels.all.iter().flatten() {
        let (sum, count) = sums.entry(rough(*color)).or_default();
        for (sum, value) in sum.iter_mut().zip(color) {
            *sum += usize::from(*value);
        }
        *count += 1;
    }
    let mean = |sum: usize, count: usize| u8::try_from(sum / count.max(1)).unwrap_or(u8::MAX);
    let mut counted: Vec<CountedColor> =
        sums.values().map(|(sum, count)| (sum.map(|it| mean(it, *count)), *count)).collect();
    // Equal pictures give equal output.
    counted.sort_unstable();
    let groups = groups(counted);
    let mut colors = Vec::with_capacity(groups.len());
    let mut known = HashMap::new();
    for group in groups {
        let count = group.iter().map(|(_, count)| count).sum();
        let value = |at: usize| {
            let sum = group.iter().map(|(color, count)| usize::from(color[at]) * count).sum();
            mean(sum, count)
        };
        for (color, _) in &group {
            known.insert(rough(*color), colors.len());
        }
        colors.push([value(0), value(1), value(2)]);
    }
    (colors, known)
}

/// Colors in groups of like ones: the group with the widest range is parted in its middle.
fn groups(counted: Vec<CountedColor>) -> Vec<Vec<CountedColor>> {
    let range = |group: &[CountedColor]| {
        let of = |at: usize| {
            let values = group.iter().map(|(color, _)| color[at]);
            values.clone().max().unwrap_or(0) - values.min().unwrap_or(0)
        };
        (0..3).map(|at| (of(at), at)).max().unwrap_or((0, 0))
    };
    let mut groups = vec![(range(&counted), counted)];
    while groups.len() < MAX_COLORS {
        let widest = (0..groups.len()).max_by_key(|at| groups[*at].0.0);
        let Some(at) = widest.filter(|at| groups[*at].0.0 > 0) else { break };
        let ((_, by), mut group) = groups.swap_remove(at);
        group.sort_unstable_by_key(|(color, _)| (color[by], *color));
        let half = group.iter().map(|(_, count)| count).sum::<usize>() / 2;
        let mut before = 0;
        let middle = group.iter().position(|(_, count)| {
            before += count;
            before > half
        });
        let middle = middle.unwrap_or(0).clamp(1, group.len() - 1);
        let rest = group.split_off(middle);
        groups.push((range(&group), group));
        groups.push((range(&rest), rest));
    }
    groups.into_iter().map(|(_, group)| group).filter(|group| !group.is_empty()).collect()
}

fn encode(pixels: &Pixels) -> String {
    let (colors, known) = palette(pixels);
    let (width, height) = (pixels.width, pixels.height);
    // Pixels that are not drawn stay as they are.
    let mut text = format!("\x1bP0;1;0q\"1;1;{width};{height}");
    for (number, color) in colors.iter().enumerate() {
        let [red, green, blue] = color.map(|it| (u32::from(it) * 100 + 127) / 255);
        let _ = write!(text, "#{number};2;{red};{green};{blue}");
    }
    for band in pixels.all.chunks(width * BAND) {
        let mut lines: Vec<Option<Vec<u8>>> = vec![None; colors.len()];
        for (at, pixel) in band.iter().enumerate() {
            if let Some(number) = pixel.and_then(|color| known.get(&rough(color))) {
                let line = lines[*number].get_or_insert_with(|| vec![0; width]);
                line[at % width] |= 1 << (at / width);
            }
        }
        let mut is_first = true;
        for (number, line) in lines.iter().enumerate() {
            let Some(line) = line else { continue };
            let back = if std::mem::take(&mut is_first) { "" } else { "$" };
            let _ = write!(text, "{back}#{number}");
            put_line(&mut text, line);
        }
        text.push('-');
    }
    text.push_str("\x1b\\");
    text
}

/// Characters for columns of six pixels; what repeats is counted.
fn put_line(text: &mut String, line: &[u8]) {
    let end = line.iter().rposition(|bits| *bits != 0).map_or(0, |at| at + 1);
    for same in line[..end].chunk_by(|before, after| before == after) {
        let letter = char::from(b'?' + same[0]);
        if same.len() > 3 {
            let _ = write!(text, "!{}{letter}", same.len());
        } else {
            text.extend(std::iter::repeat_n(letter, same.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(width: usize, all: Vec<Pixel>) -> Pixels {
        Pixels { width, height: all.len() / width, all }
    }

    #[test]
    fn sixel_counts_repeated_characters() {
        let red = Some([255, 0, 0]);
        let blue = Some([0, 0, 255]);
        let mut all = vec![red; 5 * 6];
        all.extend([red, blue, None, blue, None]);
        assert_eq!(
            encode(&pixels(5, all)),
            "\x1bP0;1;0q\"1;1;5;7#0;2;100;0;0#1;2;0;0;100#0!5~-#0@$#1?@?@-\x1b\\"
        );
    }

    #[test]
    fn sixel_reduces_colors_and_keeps_near_ones_apart() {
        let all = (0..64_u8).flat_map(|red| (0..64_u8).map(move |green| (red, green)));
        let all = all.map(|(red, green)| Some([red * 4, green * 4, 99])).collect();
        let (colors, known) = palette(&pixels(64, all));
        assert_eq!(colors.len(), MAX_COLORS);
        for (rough, number) in known {
            let near = colors[number].iter().zip(rough);
            assert!(near.into_iter().all(|(it, rough)| it.abs_diff(rough << 3) < 48), "{rough:?}");
        }
        let (colors, _) = palette(&pixels(1, vec![Some([1, 2, 3]), Some([250, 2, 3]), None]));
        assert_eq!(colors.len(), 2);
    }

    #[test]
    fn sixel_keeps_the_aspect_ratio() {
        let size = |width, height, widest, highest| {
            let small = pixels(width, vec![None; width * height]).fitted(widest, highest);
            (small.width, small.height, small.all.len())
        };
        assert_eq!(size(400, 200, 100, 100), (100, 50, 5000));
        assert_eq!(size(2, 4, 100, 100), (50, 100, 5000));
        assert_eq!(size(1, 10_000, 100, 100), (1, 100, 100));
        let checked = [Some([0; 3]), Some([200; 3])].repeat(8);
        assert_eq!(pixels(4, checked).fitted(2, 2).all, [Some([100; 3]); 4]);
    }

    #[test]
    fn sixel_reports_invalid_and_large_pictures() {
        assert!(encode_png(b"nothing", (10, 10)).is_err());
        let mut bytes = Vec::new();
        let encoder = png::Encoder::new(&mut bytes, 3000, 3000);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&vec![0; 3000 * 3000]).unwrap();
        drop(writer);
        assert_eq!(encode_png(&bytes, (10, 10)).unwrap_err(), "it is too large");
    }

    #[test]
    fn colors_of_all_kinds_are_decoded() {
        for (kind, data) in [
            (png::ColorType::Grayscale, vec![200]),
            (png::ColorType::GrayscaleAlpha, vec![200, 255]),
            (png::ColorType::Rgb, vec![200; 3]),
            (png::ColorType::Rgba, vec![200, 200, 200, 255]),
        ] {
            let mut bytes = Vec::new();
            let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
            encoder.set_color(kind);
            encoder.write_header().unwrap().write_image_data(&data).unwrap();
            let text = encode_png(&bytes, (6, 6)).unwrap();
            assert_eq!(text, "\x1bP0;1;0q\"1;1;6;6#0;2;78;78;78#0!6~-\x1b\\", "{kind:?}");
        }
    }
}
