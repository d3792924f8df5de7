//! Pictures: made up by a number, encoded as PNG, and decoded.

/// Width and height, pixels.
pub const SIDE: usize = 96;

/// Red, green and blue of each pixel, row by row.
pub struct Picture {
    pub pixels: Vec<[u8; 3]>,
}

/// The picture of a number: discs and bars before a gradient.
pub fn painted(number: u64) -> Picture {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = |below: u64| {
        // Knuth's MMIX generator.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut colour = || [random(256) as u8, random(256) as u8, random(256) as u8];
    let (top, bottom) = (colour(), colour());
    let mut pixels = Vec::with_capacity(SIDE * SIDE);
    for row in 0..SIDE {
        let mixed = [0, 1, 2].map(|channel| {
            let (top, bottom) = (usize::from(top[channel]), usize::from(bottom[channel]));
            ((top * (SIDE - row) + bottom * row) / SIDE) as u8
        });
        pixels.extend([mixed; SIDE]);
    }
    let colours: Vec<[u8; 3]> = (0..12).map(|_| colour()).collect();
    for (shape, colour) in colours.into_iter().enumerate() {
        let (x, y) = (random(SIDE as u64) as i64, random(SIDE as u64) as i64);
        let (width, height) = (4 + random(20) as i64, 4 + random(20) as i64);
        for (at, pixel) in pixels.iter_mut().enumerate() {
            let (dx, dy) = ((at % SIDE) as i64 - x, (at / SIDE) as i64 - y);
            let inside = if shape % 2 == 0 {
                dx * dx + dy * dy < width * width
            } else {
                dx.abs() < width && dy.abs() < height
            };
            if inside {
                *pixel = colour;
            }
        }
    }
    Picture { pixels }
}

/// The picture of a number as a PNG file.
pub fn file(number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, SIDE as u32, SIDE as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let pixels = painted(number).pixels;
    let written = encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(pixels.as_flattened()));
    // Nothing is decoded from a file that could not be written.
    written.map_or(Vec::new(), |()| bytes)
}

/// The picture in a PNG file of ours; nothing if it is none.
pub fn decoded(file: &[u8]) -> Option<Picture> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file))
        .read_info()
        .ok()?;
    let mut bytes = vec![0; SIDE * SIDE * 3];
    if reader.output_buffer_size() != Some(bytes.len()) {
        return None;
    }
    reader.next_frame(&mut bytes).ok()?;
    let (pixels, _) = bytes.as_chunks::<3>();
    Some(Picture {
        pixels: pixels.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_survives_its_file() {
        for number in [0, 1, 77] {
            let back = decoded(&file(number)).expect("a file of ours");
            assert_eq!(back.pixels, painted(number).pixels);
        }
        assert!(decoded(b"no PNG").is_none());
    }
}
