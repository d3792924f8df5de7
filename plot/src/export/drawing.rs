//! A drawing: shapes and text at places, written as SVG here and as PNG by [`super::png`].

use std::fmt::Write as _;

use super::font::Face;

/// Where text stands relative to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// One part of a drawing. Colours are `0xRRGGBB`, lengths are pixels.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Rectangle {
        place: (f64, f64),
        size: (f64, f64),
        fill: u32,
        opacity: f64,
    },
    /// An area, or with `width` a line along the points.
    Path {
        points: Vec<(f64, f64)>,
        colour: u32,
        opacity: f64,
        /// The line's width; 0 fills the area.
        width: f64,
    },
    Dot {
        place: (f64, f64),
        radius: f64,
        fill: u32,
    },
    Text {
        place: (f64, f64),
        text: String,
        face: Face,
        size: f64,
        fill: u32,
        anchor: Anchor,
        /// Turned to run upwards.
        upwards: bool,
    },
}

/// A drawing on a white ground.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Drawing {
    pub title: String,
    pub width: f64,
    pub height: f64,
    pub shapes: Vec<Shape>,
}

impl Drawing {
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: u32, width: f64) {
        self.shapes.push(Shape::Path {
            points: vec![from, to],
            colour,
            opacity: 1.0,
            width,
        });
    }

    pub fn text(&mut self, place: (f64, f64), text: &str, face: Face, size: f64, fill: u32) {
        self.anchored(place, text, face, size, fill, Anchor::Start);
    }

    pub fn anchored(
        &mut self,
        place: (f64, f64),
        text: &str,
        face: Face,
        size: f64,
        fill: u32,
        anchor: Anchor,
    ) {
        self.shapes.push(Shape::Text {
            place,
            text: text.to_owned(),
            face,
            size,
            fill,
            anchor,
            upwards: false,
        });
    }

    /// The drawing as an SVG document that names fonts and carries none.
    pub fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\">\n<title>{}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
            escape(&self.title),
        );
        for shape in &self.shapes {
            write_shape(&mut text, shape);
        }
        text.push_str("</svg>\n");
        text
    }
}

fn write_shape(text: &mut String, shape: &Shape) {
    // Writing to a string cannot fail.
    let _ = match shape {
        Shape::Rectangle {
            place,
            size,
            fill,
            opacity,
        } => writeln!(
            text,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#{fill:06x}\"{}/>",
            place.0,
            place.1,
            size.0,
            size.1,
            faint(*opacity),
        ),
        Shape::Path {
            points,
            colour,
            opacity,
            width,
        } => {
            let way: Vec<String> = points
                .iter()
                .map(|(x, y)| format!("{x:.1} {y:.1}"))
                .collect();
            let way = way.join("L");
            if *width > 0.0 {
                writeln!(
                    text,
                    "<path d=\"M{way}\" fill=\"none\" stroke=\"#{colour:06x}\" \
                     stroke-width=\"{width}\"{}/>",
                    faint(*opacity),
                )
            } else {
                writeln!(
                    text,
                    "<path d=\"M{way}Z\" fill=\"#{colour:06x}\"{}/>",
                    faint(*opacity),
                )
            }
        }
        Shape::Dot {
            place,
            radius,
            fill,
        } => writeln!(
            text,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\" fill=\"#{fill:06x}\"/>",
            place.0, place.1,
        ),
        Shape::Text {
            place: (x, y),
            text: words,
            face,
            size,
            fill,
            anchor,
            upwards,
        } => {
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let turn = if *upwards {
                format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"")
            } else {
                String::new()
            };
            writeln!(
                text,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" {} font-size=\"{size}\" fill=\"#{fill:06x}\"\
                 {anchor}{turn}>{}</text>",
                face.attributes(),
                escape(words),
            )
        }
    };
}

fn faint(opacity: f64) -> String {
    if opacity < 1.0 {
        format!(" opacity=\"{opacity}\"")
    } else {
        String::new()
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
