//! The picture as PNG: the same drawing as the SVG, with its letters drawn as outlines.

use tiny_skia::{
    FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, Transform,
};
use ttf_parser::OutlineBuilder;

use super::drawing::{Anchor, Drawing, Shape};
use super::picture;
use crate::estimates::Analysis;

/// Pixels for one unit of the drawing: sharp on screens of high density.
const SCALE: f32 = 2.0;

/// The picture of so many lines of the progress point with this number, as the bytes of a PNG file;
/// nothing if there is no such point.
#[must_use]
pub fn png(analysis: &Analysis, point: usize, lines: usize) -> Option<Vec<u8>> {
    encode(&picture::draw(analysis, point, lines)?)
}

fn encode(drawing: &Drawing) -> Option<Vec<u8>> {
    let pixels = |length: f64| (length as f32 * SCALE).ceil() as u32;
    let mut ground = Pixmap::new(pixels(drawing.width), pixels(drawing.height))?;
    ground.fill(tiny_skia::Color::WHITE);
    for shape in &drawing.shapes {
        draw(&mut ground, shape);
    }
    ground.encode_png().ok()
}

fn draw(ground: &mut Pixmap, shape: &Shape) {
    let scale = Transform::from_scale(SCALE, SCALE);
    match shape {
        Shape::Rectangle {
            place,
            size,
            fill,
            opacity,
        } => {
            let (x, y) = (place.0 as f32, place.1 as f32);
            if let Some(area) = Rect::from_xywh(x, y, size.0 as f32, size.1 as f32) {
                ground.fill_rect(area, &paint(*fill, *opacity), scale, None);
            }
        }
        Shape::Path {
            points,
            colour,
            opacity,
            width,
        } => {
            let Some(path) = way(points, *width <= 0.0) else {
                return;
            };
            let paint = paint(*colour, *opacity);
            if *width > 0.0 {
                let stroke = Stroke {
                    width: *width as f32,
                    line_cap: LineCap::Butt,
                    line_join: LineJoin::Round,
                    ..Stroke::default()
                };
                ground.stroke_path(&path, &paint, &stroke, scale, None);
            } else {
                ground.fill_path(&path, &paint, FillRule::Winding, scale, None);
            }
        }
        Shape::Dot {
            place,
            radius,
            fill,
        } => {
            let dot = PathBuilder::from_circle(place.0 as f32, place.1 as f32, *radius as f32);
            if let Some(dot) = dot {
                ground.fill_path(&dot, &paint(*fill, 1.0), FillRule::Winding, scale, None);
            }
        }
        Shape::Text {
            place,
            text,
            face,
            size,
            fill,
            anchor,
            upwards,
        } => {
            let back = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => face.width(text, *size) / 2.0,
                Anchor::End => face.width(text, *size),
            };
            let mut letters = Letters::default();
            face.draw(text, |outline, right, em| {
                letters.scale = (*size / em) as f32;
                letters.right = (right * *size / em - back) as f32;
                outline(&mut letters);
            });
            let turn = if *upwards { -90.0 } else { 0.0 };
            let place = scale
                .pre_translate(place.0 as f32, place.1 as f32)
                .pre_concat(Transform::from_rotate(turn));
            if let Some(letters) = letters.path.finish() {
                ground.fill_path(&letters, &paint(*fill, 1.0), FillRule::Winding, place, None);
            }
        }
    }
}

fn way(points: &[(f64, f64)], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (number, (x, y)) in points.iter().enumerate() {
        if number == 0 {
            path.move_to(*x as f32, *y as f32);
        } else {
            path.line_to(*x as f32, *y as f32);
        }
    }
    if closed {
        path.close();
    }
    path.finish()
}

fn paint(colour: u32, opacity: f64) -> Paint<'static> {
    let [_, red, green, blue] = colour.to_be_bytes();
    let mut paint = Paint {
        anti_alias: true,
        ..Paint::default()
    };
    paint.set_color_rgba8(
        red,
        green,
        blue,
        (opacity.clamp(0.0, 1.0) * 255.0).round() as u8,
    );
    paint
}

/// Outlines of glyphs, whose y goes up, as a path, whose y goes down.
#[derive(Default)]
struct Letters {
    path: PathBuilder,
    scale: f32,
    right: f32,
}

impl Letters {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.right + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Letters {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::font::Face;

    /// Where there is ink: left, top, right and bottom pixel.
    fn ink(shape: Shape) -> (u32, u32, u32, u32) {
        let drawing = Drawing {
            title: String::new(),
            width: 100.0,
            height: 100.0,
            shapes: vec![shape],
        };
        let picture = Pixmap::decode_png(&encode(&drawing).unwrap()).unwrap();
        assert_eq!((picture.width(), picture.height()), (200, 200));
        let mut ink = (u32::MAX, u32::MAX, 0, 0);
        for (at, pixel) in picture.pixels().iter().enumerate() {
            let (x, y) = (at as u32 % 200, at as u32 / 200);
            if pixel.red() < 128 {
                ink = (ink.0.min(x), ink.1.min(y), ink.2.max(x), ink.3.max(y));
            }
        }
        ink
    }

    #[test]
    fn shapes_and_letters_are_where_they_belong() {
        let text = |anchor, upwards| Shape::Text {
            place: (50.0, 50.0),
            text: "HHHH".to_owned(),
            face: Face::Bold,
            size: 12.0,
            fill: 0,
            anchor,
            upwards,
        };
        let wide = Face::Bold.width("HHHH", 12.0) as u32 * 2;
        let start = ink(text(Anchor::Start, false));
        assert!(start.0 >= 100 && start.2 < 100 + wide, "{start:?}");
        // Capital letters stand on the line and are about 0.73 em high.
        assert!(
            start.3.abs_diff(99) <= 1 && start.1.abs_diff(100 - 17) <= 2,
            "{start:?}"
        );
        let end = ink(text(Anchor::End, false));
        assert!(end.2 < 100 && end.0 >= 100 - wide - 2, "{end:?}");
        let up = ink(text(Anchor::Start, true));
        assert!(up.3 < 100 && up.2.abs_diff(99) <= 1, "{up:?}");
        let dot = ink(Shape::Dot {
            place: (20.0, 30.0),
            radius: 5.0,
            fill: 0,
        });
        assert!(
            dot.0.abs_diff(30) <= 1 && dot.3.abs_diff(69) <= 1,
            "{dot:?}"
        );
    }
}
