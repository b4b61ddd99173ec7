//! What people upload: thumbnails of photographs, places below `media`, and where an address is.

use std::io::{Error, ErrorKind};
use std::path::Path;

use image::codecs::jpeg::JpegEncoder;
use image::imageops::{FilterType, resize};
use image::{ImageFormat, load_from_memory_with_format};
use mysql_async::Transaction;
use mysql_async::prelude::Queryable;
use serde_json::Value;

use super::form::Form;
use super::replies::Problem;
use super::shared::Site;
use crate::data::rows::folder;

/// The longest side of a thumbnail.
const THUMB: f64 = 120.0;
const QUALITY: u8 = 80;

/// A thumbnail of a photograph, as JPEG. `None` if the file is no image.
pub fn thumbnail(photograph: &[u8]) -> Option<Vec<u8>> {
    let image = load_from_memory_with_format(photograph, ImageFormat::Jpeg).ok()?.to_rgb8();
    let (width, height) = image.dimensions();
    let scale = (THUMB / f64::from(width.max(height))).min(1.0);
    let small = resize(&image, scaled(width, scale), scaled(height, scale), FilterType::Triangle);
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, QUALITY).encode_image(&small).ok()?;
    Some(bytes)
}

/// Where an uploaded object is below `media`: capitals tell it from loaded ones.
pub fn place(kind: &str, id: u64, name: &str) -> String {
    format!("{kind}/{}/{name}", folder(id))
}

/// Writes files, given with their places.
pub async fn store(site: &Site, files: Vec<(String, Vec<u8>)>) -> Result<(), Problem> {
    let media = site.settings.uploads.join("media");
    tokio::task::spawn_blocking(move || {
        files.iter().try_for_each(|(place, bytes)| write(&media.join(place), bytes))
    })
    .await
    .map_err(Error::other)??;
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(path.parent().ok_or(ErrorKind::InvalidInput)?)?;
    std::fs::write(path, bytes)
}

/// The thumbnail of a form's image, made beside the requests of others. A file that is no image is one more error. A form with errors
/// has none.
pub async fn thumbnail_of(form: &Form, errors: &mut Vec<String>) -> Result<Vec<u8>, Problem> {
    if !errors.is_empty() {
        return Ok(Vec::new());
    }
    let photograph = form.file("image").to_vec();
    let made = tokio::task::spawn_blocking(move || thumbnail(&photograph)).await.map_err(Error::other)?;
    if made.is_none() {
        errors.push("image: a JPEG file".to_owned());
    }
    Ok(made.unwrap_or_default())
}

/// Latitude and longitude of the form's address.
pub async fn geocode(site: &Site, form: &Form) -> Result<(String, String), Problem> {
    let url = format!("{}/geocode", site.settings.geocoder);
    let mut query = Vec::new();
    for (name, field) in [("street", "street1"), ("city", "city"), ("state", "state"), ("zip", "zip")] {
        query.push((name, form.get(field).to_owned()));
    }
    let answer = tokio::task::spawn_blocking(move || {
        ureq::get(&url).query_pairs(query).call()?.body_mut().read_to_string()
    });
    let answer = answer.await.map_err(Error::other)?.map_err(|error| Problem::Geocoder(error.to_string()))?;
    match (element(&answer, "Latitude"), element(&answer, "Longitude")) {
        (Some(latitude), Some(longitude)) => Ok((latitude, longitude)),
        _ => Err(Problem::Geocoder(Value::String(answer.clone()).to_string())),
    }
}

/// The text of an XML element.
fn element(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once(&format!("</{name}>"))?.0.to_owned())
}

fn scaled(side: u32, scale: f64) -> u32 {
    ((f64::from(side) * scale).round() as u32).max(1)
}

/// Inserts the form's address and returns its id.
pub async fn insert_address(
    transaction: &mut Transaction<'_>,
    form: &Form,
    place: &(String, String),
) -> Result<u64, Problem> {
    let statement = "INSERT INTO address (street1, street2, city, state, zip, country, latitude, longitude) \
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    let values = (
        form.get("street1"),
        form.get("street2"),
        form.get("city"),
        form.get("state"),
        form.get("zip"),
        form.get("country"),
        place.0.as_str(),
        place.1.as_str(),
    );
    transaction.exec_drop(statement, values).await?;
    Ok(transaction.last_insert_id().unwrap_or(0))
}
