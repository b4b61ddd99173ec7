//! A geocoder that has one answer, after a latency that can be set: implementations ask it where an address is. What they do with the
//! answer is theirs.

use std::net::Ipv4Addr;
use std::time::Duration;

use axum::extract::Query;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Router, serve as serve_http};
use serde::Deserialize;
use tokio::net::TcpListener;

/// The place of every address.
pub const PLACE: (&str, &str) = ("33.0000", "-177.0000");

#[derive(Deserialize)]
struct Address {
    #[serde(default)]
    street: String,
    #[serde(default)]
    city: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    zip: String,
}

/// Serves until the process ends.
#[tokio::main(flavor = "current_thread")]
pub async fn serve(port: u16, latency_ms: u64) -> anyhow::Result<()> {
    let latency = Duration::from_millis(latency_ms);
    let answer = async move |Query(address): Query<Address>| {
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        ([(CONTENT_TYPE, "text/xml; charset=utf-8")], result_set(&address)).into_response()
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    Ok(serve_http(listener, Router::new().route("/geocode", get(answer))).await?)
}

fn result_set(address: &Address) -> String {
    let (latitude, longitude) = PLACE;
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ResultSet><Result precision=\"address\">\
         <Latitude>{latitude}</Latitude><Longitude>{longitude}</Longitude><Address>{}</Address><City>{}</City>\
         <State>{}</State><Zip>{}</Zip><Country>US</Country></Result></ResultSet>\n",
        escaped(&address.street),
        escaped(&address.city),
        escaped(&address.state),
        escaped(&address.zip),
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_an_address_stays_text() {
        let address = Address {
            street: "1 <b> & co".to_owned(),
            city: String::new(),
            state: String::new(),
            zip: String::new(),
        };
        assert!(result_set(&address).contains("<Address>1 &lt;b&gt; &amp; co</Address>"));
    }
}
