//! Packed runs: from a controller into the archive, and from the archive to whoever wants one.

use std::io::{Read, Write};
use std::time::Instant;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream::unfold;
use queue::{Attempt, EntryId, Token};
use serde::Deserialize;

use super::api::{owner, run_id};
use super::site::Shared;
use crate::people::Who;
use crate::service::error::ServiceError;

/// The largest packed run that is taken: what it unpacks to has its own limits.
const MOST_BUNDLE_BYTES: u64 = 2 << 30;

/// The part of a file that is read at once.
const PART_BYTES: usize = 64 << 10;

/// The attempt that a packed run is of.
#[derive(Deserialize)]
pub struct OfAttempt {
    token: Token,
}

/// `PUT attempts/ID/bundle`
pub async fn bundle(
    State(site): State<Shared>,
    Extension(who): Extension<Who>,
    Path(entry): Path<EntryId>,
    Query(of): Query<OfAttempt>,
    request: Request,
) -> Result<StatusCode, ServiceError> {
    let attempt = Attempt { entry, token: of.token };
    // Before anything is written: only the controller of the attempt fills the disk.
    let owner = owner(who)?;
    site.harness.check_bundle(attempt, owner.clone()).await?;
    let mut renewed = Instant::now();
    let mut file = tempfile::NamedTempFile::new_in(site.harness.archive().root())?;
    let mut body = request.into_body().into_data_stream();
    let mut bytes = 0_u64;
    while let Some(part) = body.next().await {
        let part = part.map_err(|error| ServiceError::Bad(format!("the upload was cut off: {error}")))?;
        bytes += part.len() as u64;
        if bytes > MOST_BUNDLE_BYTES {
            return Err(ServiceError::Bad(format!("a packed run has {MOST_BUNDLE_BYTES} bytes at most")));
        }
        file.write_all(&part)?;
        site.harness.keep_lease(&mut renewed, (attempt, &owner)).await?;
    }
    site.harness.take_bundle(attempt, &owner, file.path().to_owned()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET runs/ID/bundle`
pub async fn download(State(site): State<Shared>, Path(id): Path<String>) -> Result<Response, ServiceError> {
    let id = run_id(&id)?;
    let name = format!("attachment; filename=\"{id}.tar.gz\"");
    let file = site.harness.bundle(id).await?;
    let parts = unfold(file, |mut file| async move {
        let mut part = vec![0; PART_BYTES];
        match file.read(&mut part) {
            Ok(0) => None,
            Ok(read) => {
                part.truncate(read);
                Some((Ok(Bytes::from(part)), file))
            }
            Err(error) => Some((Err(error), file)),
        }
    });
    let headers =
        [(header::CONTENT_TYPE, "application/gzip".to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, Body::from_stream(parts)).into_response())
}
