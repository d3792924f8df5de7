//! Small curves made of characters: of braille dots where the terminal has them, else of ASCII.

use crate::estimates::{LineEstimate, percent};

/// Rows of characters of one plot, without its axis.
const ROWS: usize = 6;
/// Columns of characters.
pub(super) const COLUMNS: usize = 30;
/// Columns that labels of the gain take.
pub(super) const LABELS: usize = 6;

/// The lines of text of one plot, all of the same width (`LABELS` + `COLUMNS`); empty without a
/// curve.
pub(super) fn render(line: &LineEstimate, braille: bool) -> Vec<String> {
    let Some(curve) = &line.curve else {
        return Vec::new();
    };
    // As high as the curve and what is well measured; at least ±2 points, so that nothing looks
    // like something.
    let curved = curve.points.iter().flat_map(|point| {
        [
            point.gain,
            (point.low + point.gain) / 2.0,
            (point.high + point.gain) / 2.0,
        ]
    });
    let all: Vec<f64> = curved.filter(|value| value.is_finite()).collect();
    let top = all.iter().copied().fold(0.02, f64::max).min(1.0) * 1.1;
    let bottom = all.iter().copied().fold(-0.02, f64::min).max(-1.0) * 1.1;
    let (wide, high) = if braille {
        (2 * COLUMNS, 4 * ROWS)
    } else {
        (COLUMNS, ROWS)
    };
    let column = |speedup: f64| (speedup * (wide - 1) as f64).round() as usize;
    let row = |gain: f64| {
        let part = (top - gain) / (top - bottom);
        (part * (high - 1) as f64)
            .round()
            .clamp(0.0, (high - 1) as f64) as usize
    };
    let mut canvas = Canvas::new(wide, high);
    let zero = row(0.0);
    for x in (0..wide).step_by(if braille { 3 } else { 1 }) {
        canvas.set(x, zero, '-');
    }
    // The band of the curve: its edges, dotted, in every third column.
    for point in curve.points.iter().filter(|point| point.speedup > 0.0) {
        for edge in [point.low, point.high] {
            if (bottom..=top).contains(&edge) {
                canvas.set(column(point.speedup), row(edge), '.');
            }
        }
    }
    for x in 0..=column(curve.points.last().map_or(0.0, |last| last.speedup)) {
        if let Some(point) = curve.at(x as f64 / (wide - 1) as f64) {
            canvas.set(x, row(point.gain), '*');
        }
    }
    let measured = line
        .levels
        .iter()
        .filter(|level| (bottom..=top).contains(&level.gain));
    for level in measured {
        canvas.set(column(level.speedup), row(level.gain), 'o');
    }
    let body = if braille {
        canvas.braille()
    } else {
        canvas.ascii()
    };
    let (first, last) = (0, ROWS - 1);
    let zero_row = zero * ROWS / high;
    let mut text: Vec<String> = body
        .into_iter()
        .enumerate()
        .map(|(at, body)| {
            let label = if at == zero_row {
                "0 ".to_owned()
            } else if at == first {
                format!("{} ", percent(top))
            } else if at == last {
                format!("{} ", percent(bottom))
            } else {
                String::new()
            };
            format!("{label:>LABELS$}{body}")
        })
        .collect();
    let axis = format!(
        "0{:>half$}{:>rest$}",
        "50",
        "100 %",
        half = COLUMNS / 2,
        rest = COLUMNS - COLUMNS / 2 - 1
    );
    text.push(format!("{:LABELS$}{axis}", ""));
    text
}

struct Canvas {
    wide: usize,
    cells: Vec<char>,
}

impl Canvas {
    fn new(wide: usize, high: usize) -> Canvas {
        Canvas {
            wide,
            cells: vec![' '; wide * high],
        }
    }

    fn set(&mut self, x: usize, y: usize, mark: char) {
        if x < self.wide
            && let Some(cell) = self.cells.get_mut(y * self.wide + x)
        {
            *cell = mark;
        }
    }

    fn ascii(&self) -> Vec<String> {
        self.cells
            .chunks(self.wide)
            .map(|row| row.iter().collect())
            .collect()
    }

    /// Two by four dots a character (Unicode chapter 21, block U+2800).
    fn braille(&self) -> Vec<String> {
        const BITS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let rows: Vec<&[char]> = self.cells.chunks(self.wide).collect();
        let character = |rows: &[&[char]], x: usize| {
            let mut dots = 0;
            for (row, bits) in rows.iter().zip(BITS) {
                for (offset, bit) in bits.into_iter().enumerate() {
                    if row.get(x + offset).is_some_and(|cell| *cell != ' ') {
                        dots |= bit;
                    }
                }
            }
            char::from_u32(0x2800 + dots).unwrap_or(' ')
        };
        rows.chunks(4)
            .map(|rows| {
                (0..self.wide)
                    .step_by(2)
                    .map(|x| character(rows, x))
                    .collect()
            })
            .collect()
    }
}
