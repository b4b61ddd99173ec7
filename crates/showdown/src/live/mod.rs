//! A running load in figures that other programs read: they are collected from the intervals of the load, shown to a scraper
//! (OpenMetrics) and sent to a collector (OTLP). Neither can fail the load. What is measured is left to the engine.

mod figures;
mod listener;
mod open_metrics;
mod otlp;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use load::engine::LoadEvent;
use url::Url;

use self::figures::LiveFigures;
use self::listener::MetricsListener;
use self::otlp::OtlpExporter;

/// Where to listen for a scraper. A port alone is on loopback: another address is only used if it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricsAddress(pub SocketAddr);

impl FromStr for MetricsAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(port) = text.parse() {
            return Ok(Self((IpAddr::V4(Ipv4Addr::LOCALHOST), port).into()));
        }
        text.parse()
            .map(Self)
            .map_err(|_| format!("{text:?} is not a PORT or an ADDRESS:PORT, such as 127.0.0.1:9464"))
    }
}

/// The address of a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorUrl(Url);

impl FromStr for CollectorUrl {
    type Err = String;

    /// A base address, to which OTLP's path is added, or the whole address.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut url =
            Url::parse(text).map_err(|_| format!("{text:?} is not a URL, such as http://127.0.0.1:4318"))?;
        match url.scheme() {
            "http" => {}
            "https" => return Err("https is not supported: send to a collector on this machine or in its network, which forwards it".to_owned()),
            scheme => return Err(format!("the scheme {scheme:?} is not http, and gRPC is not supported: give the collector's OTLP/HTTP port, 4318 by default")),
        }
        if url.path() == "/" {
            url.set_path("/v1/metrics");
        }
        Ok(Self(url))
    }
}

/// What shows a running load to other programs. It ends when it is dropped, after a last export.
pub struct LiveExport {
    figures: Arc<Mutex<LiveFigures>>,
    _listener: Option<MetricsListener>,
    _exporter: Option<OtlpExporter>,
}

impl LiveExport {
    /// Begins to listen and to send, as far as that is asked for.
    pub fn start(
        target: &str,
        operations: &[String],
        listen: Option<MetricsAddress>,
        collector: Option<&CollectorUrl>,
    ) -> anyhow::Result<Self> {
        let figures = Arc::new(Mutex::new(LiveFigures::new(target, operations)));
        let listener = listen.map(|at| MetricsListener::start(at.0, Arc::clone(&figures))).transpose()?;
        let exporter = collector.map(|url| OtlpExporter::start(&url.0, Arc::clone(&figures))).transpose()?;
        Ok(Self { figures, _listener: listener, _exporter: exporter })
    }

    /// Takes an event of the load.
    pub fn observe(&self, event: &LoadEvent<'_>) {
        figures::locked(&self.figures).observe(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Result<String, String> {
        text.parse::<MetricsAddress>().map(|at| at.0.to_string())
    }

    fn url(text: &str) -> Result<String, String> {
        text.parse::<CollectorUrl>().map(|url| url.0.to_string())
    }

    #[test]
    fn a_port_alone_is_on_loopback() {
        assert_eq!(at("9464"), Ok("127.0.0.1:9464".to_owned()));
        assert_eq!(at("10.0.0.5:9464"), Ok("10.0.0.5:9464".to_owned()));
        assert!(at("metrics").is_err_and(|why| why.contains("127.0.0.1:9464")));
    }

    #[test]
    fn a_collector_without_a_path_has_that_of_otlp() {
        assert_eq!(url("http://127.0.0.1:4318"), Ok("http://127.0.0.1:4318/v1/metrics".to_owned()));
        assert_eq!(url("http://collector:4318/otlp"), Ok("http://collector:4318/otlp".to_owned()));
        assert!(url("grpc://127.0.0.1:4317").is_err_and(|why| why.contains("4318")));
        assert!(url("https://127.0.0.1:4318").is_err());
    }
}
