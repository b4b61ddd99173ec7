//! Media and statics of the originals' sizes: small thumbnails for each person and event, each with bytes of its own; one original for
//! each kind, because no page asks for them; statics with the site's own style, filled up.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use image::codecs::jpeg::JpegEncoder;
use image::{ImageEncoder, Rgb, RgbImage};

use super::rows::{Scale, folder};

/// The folder of the workload with the begins of statics.
pub const STATIC: &str = "static";

/// Lengths of loaded thumbnails in bytes.
const PERSON_THUMB: usize = 5_758;
const EVENT_THUMB: usize = 5_895;
/// The blue of loaded photographs.
const TINT: u8 = 160;
/// Photographs and documents have a twentieth of their size on the original site.
const ORIGINALS: [(&str, usize); 3] =
    [("persons", 671_520 / 20), ("events", 669_128 / 20), ("eventLits", 129_617 / 20)];

/// Each static of a page with its length. The first ones are in every page, see `templates/frame.html`.
pub const STATICS: [(&str, usize); 22] = [
    ("reset.css", 1_347),
    ("site.css", 10_250),
    ("scaffold.css", 2_065),
    ("core.js", 71_747),
    ("effects.js", 38_630),
    ("drag.js", 31_004),
    ("controls.js", 29_423),
    ("validate.js", 9_159),
    ("stars.js", 3_806),
    ("live.js", 1_107),
    ("logo.png", 1_737),
    ("search.png", 560),
    ("arrow-left.png", 242),
    ("arrow-right.png", 242),
    ("corner.png", 115),
    ("line.png", 115),
    ("person.png", 833),
    ("star-0.png", 431),
    ("star-1.png", 431),
    ("star-2.png", 431),
    ("star-hover.png", 431),
    ("calendar.png", 659),
];

/// Makes `static`, `media` and `original` in this directory.
pub fn make(assets: &Path, workload: &Path, scale: Scale) -> Result<()> {
    for (name, length) in STATICS {
        write(&assets.join("static").join(name), &static_file(workload, name, length)?)?;
    }
    for (kind, length) in ORIGINALS {
        let original =
            if kind == "eventLits" { pdf(length) } else { filled_jpeg(&jpeg(200, 150, TINT), length, 0) };
        write(&assets.join("original").join(kind), &original)?;
    }
    let thumb = jpeg(120, 90, TINT);
    for id in 1..=scale.persons {
        let path = format!("media/personThumbs/{}/p{id}t.jpg", folder(u64::from(id)));
        write(&assets.join(path), &filled_jpeg(&thumb, PERSON_THUMB, id))?;
    }
    for id in 1..=scale.events {
        let path = format!("media/eventThumbs/{}/e{id}t.jpg", folder(u64::from(id)));
        write(&assets.join(path), &filled_jpeg(&thumb, EVENT_THUMB, id))?;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes).with_context(|| format!("{} cannot be written", path.display()))
}

/// A photograph of nothing: two gradients, and waves of blue that begin with the tint.
pub fn jpeg(width: u32, height: u32, tint: u8) -> Vec<u8> {
    let image = RgbImage::from_fn(width, height, |x, y| {
        Rgb([(x * 255 / width) as u8, (y * 255 / height) as u8, tint.wrapping_add((x * y / 40) as u8)])
    });
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, 80)
        .write_image(image.as_raw(), width, height, image::ExtendedColorType::Rgb8)
        .expect("a buffer in memory takes an image");
    bytes
}

/// The image with comments behind its first marker, so that it has this length and differs by `number`.
fn filled_jpeg(image: &[u8], length: usize, number: u32) -> Vec<u8> {
    /// Marker and length of a comment.
    const HEAD: usize = 4;
    const MOST: usize = 60_000;
    let (start, rest) = image.split_at(2);
    let mut bytes = start.to_vec();
    let mut missing = length.saturating_sub(image.len());
    let mut word = u64::from(number) + 1;
    while missing > HEAD {
        let comment = missing.min(MOST) - HEAD;
        bytes.extend([0xFF, 0xFE]);
        bytes.extend(((comment + 2) as u16).to_be_bytes());
        for _ in 0..comment {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            bytes.push((word >> 56) as u8);
        }
        missing -= comment + HEAD;
    }
    bytes.extend(rest);
    bytes
}

/// A document of one empty page, with a comment that fills it up.
pub fn pdf(length: usize) -> Vec<u8> {
    let body = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
                3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>endobj\n";
    let end = "\ntrailer<</Root 1 0 R>>\n%%EOF\n";
    let filling = length.saturating_sub(body.len() + end.len() + 1);
    format!("{body}%{}{end}", ".".repeat(filling)).into_bytes()
}

/// The file of that name in the workload, if there is one, filled up to its length.
fn static_file(workload: &Path, name: &str, length: usize) -> Result<Vec<u8>> {
    if name.strip_suffix(".png").is_some() {
        return Ok(png(length));
    }
    let source = workload.join(STATIC).join(name);
    let mut bytes = if source.is_file() { fs::read(&source)? } else { Vec::new() };
    anyhow::ensure!(bytes.len() + 8 <= length, "{} is longer than {length} bytes", source.display());
    let filling = length - bytes.len() - 4;
    bytes.extend(b"/*");
    for index in 0..filling {
        // Letters that compress about as well as code does.
        bytes.push(if index % 80 == 79 { b'\n' } else { b'a' + (index * index / 7 % 23) as u8 });
    }
    bytes.extend(b"*/");
    Ok(bytes)
}

/// A transparent pixel, and a text chunk that fills it up.
fn png(length: usize) -> Vec<u8> {
    const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
    let header = chunk(*b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0]);
    // Stored, not compressed: a filter byte and four zeros, with the sum of Adler 32.
    let data =
        chunk(*b"IDAT", &[0x78, 0x01, 0x01, 0x05, 0x00, 0xFA, 0xFF, 0, 0, 0, 0, 0, 0x00, 0x05, 0x00, 0x01]);
    let end = chunk(*b"IEND", &[]);
    let taken = SIGNATURE.len() + header.len() + data.len() + end.len();
    let mut bytes = [SIGNATURE, &header, &data].concat();
    if let Some(filling) = length.checked_sub(taken + 12 + 8) {
        let mut text = b"Comment\0".to_vec();
        text.resize(8 + filling, b'.');
        bytes.extend(chunk(*b"tEXt", &text));
    }
    bytes.extend(end);
    bytes
}

fn chunk(kind: [u8; 4], data: &[u8]) -> Vec<u8> {
    let mut chunk = (data.len() as u32).to_be_bytes().to_vec();
    chunk.extend(kind);
    chunk.extend(data);
    let mut crc = u32::MAX;
    for byte in &chunk[4..] {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    chunk.extend((!crc).to_be_bytes());
    chunk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_a_given_length_are_images() {
        let thumb = jpeg(120, 90, TINT);
        let (first, second) = (filled_jpeg(&thumb, EVENT_THUMB, 1), filled_jpeg(&thumb, EVENT_THUMB, 2));
        assert_eq!((first.len(), second.len()), (EVENT_THUMB, EVENT_THUMB));
        assert_ne!(first, second);
        let read = image::load_from_memory(&first).expect("a comment changes no image");
        assert_eq!((read.width(), read.height()), (120, 90));
    }

    #[test]
    fn statics_have_the_lengths_of_the_originals() {
        let sum: usize = STATICS.into_iter().map(|(_, length)| length).sum();
        assert_eq!(sum, 204_765);
        let workload = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/olio");
        for (name, length) in STATICS {
            assert_eq!(static_file(&workload, name, length).expect("a static").len(), length, "{name}");
        }
    }
}
