//! What the object store has. Thumbnails are compared as images, because their bytes depend on the library; everything else by its bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use image::RgbImage;

/// The mean difference of a channel of a pixel between thumbnails that two libraries make of a photograph, at most. Measured against the
/// reference: 7.2 with GD, libvips and Thumbnailator; 53 for a grey picture, and more than 20 for another photograph.
const MOST_DIFFERENT: f64 = 12.0;

/// Files by their paths in the store.
pub type Files = BTreeMap<String, Vec<u8>>;

/// All files below a directory.
pub fn stored(uploads: &Path) -> Result<Files> {
    let mut files = BTreeMap::new();
    let mut folders = vec![uploads.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(uploads)?.to_string_lossy().into_owned();
                files.insert(name, fs::read(&path)?);
            }
        }
    }
    Ok(files)
}

/// The number of files of each kind.
pub fn kinds(files: &Files) -> BTreeMap<String, String> {
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    for name in files.keys() {
        *numbers.entry(name.split('/').nth(1).unwrap_or_default().to_owned()).or_default() += 1;
    }
    numbers.into_iter().map(|(kind, number)| (kind, number.to_string())).collect()
}

/// A line for each file that is missing, too much, or another one.
pub fn differences(expected: &Files, found: &Files) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    let names: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    for name in names {
        let difference = match (expected.get(name), found.get(name)) {
            (Some(expected), Some(found)) if name.contains("Thumbs/") => {
                difference_of_thumbnails(expected, found).with_context(|| format!("the thumbnail {name}"))?
            }
            (Some(expected), Some(found)) => {
                (expected != found).then(|| "other bytes than those of the reference".to_owned())
            }
            (Some(_), None) => Some("is missing".to_owned()),
            (None, _) => Some("is too much".to_owned()),
        };
        differences.extend(difference.map(|difference| format!("file {name}: {difference}")));
    }
    Ok(differences)
}

fn difference_of_thumbnails(expected: &[u8], found: &[u8]) -> Result<Option<String>> {
    let expected = image::load_from_memory(expected)?.to_rgb8();
    let Ok(found) = image::load_from_memory(found) else { return Ok(Some("is no image".to_owned())) };
    let found = found.to_rgb8();
    let ((width, height), (of_width, of_height)) = (found.dimensions(), expected.dimensions());
    if (width, height) != (of_width, of_height) {
        return Ok(Some(format!("{width} x {height} instead of {of_width} x {of_height}")));
    }
    let mean = mean_difference(&expected, &found);
    Ok((mean > MOST_DIFFERENT).then(|| {
        format!(
            "shows another picture: its pixels differ by {mean:.1} of 255, and {MOST_DIFFERENT} are allowed"
        )
    }))
}

/// Of images of one size.
fn mean_difference(expected: &RgbImage, found: &RgbImage) -> f64 {
    let (expected, found) = (expected.as_raw(), found.as_raw());
    let sum: u64 = expected.iter().zip(found).map(|(left, right)| u64::from(left.abs_diff(*right))).sum();
    sum as f64 / expected.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage};

    use super::*;
    use crate::data::media::jpeg;

    fn one(name: &str, bytes: Vec<u8>) -> Files {
        BTreeMap::from([(name.to_owned(), bytes)])
    }

    fn of_thumbnails(found: Vec<u8>) -> Vec<String> {
        let name = "media/eventThumbs/001/000/E1t.jpg";
        differences(&one(name, jpeg(120, 90, 0)), &one(name, found)).expect("the reference's is an image")
    }

    #[test]
    fn another_picture_of_the_same_size_is_a_difference() {
        assert_eq!(of_thumbnails(jpeg(120, 90, 0)), [""; 0]);
        assert!(of_thumbnails(jpeg(120, 90, 64))[0].contains("shows another picture"), "another tint");
        assert!(of_thumbnails(jpeg(90, 120, 0))[0].contains("90 x 120 instead of 120 x 90"));
        assert!(of_thumbnails(b"text".to_vec())[0].contains("is no image"));
    }

    #[test]
    fn files_are_missing_too_much_or_have_other_bytes() {
        let (left, right) = (one("a", vec![1]), one("b", vec![1]));
        let all = differences(&left, &right).expect("no image");
        assert_eq!(all, ["file a: is missing", "file b: is too much"]);
        assert_eq!(differences(&left, &one("a", vec![2])).expect("no image").len(), 1);
    }

    #[test]
    fn one_grey_picture_is_not_the_thumbnail_of_every_photograph() {
        let expected = image::load_from_memory(&jpeg(120, 90, 0)).expect("an image").to_rgb8();
        let grey = RgbImage::from_pixel(120, 90, Rgb([128; 3]));
        assert!(mean_difference(&expected, &grey) > MOST_DIFFERENT);
    }
}
