//! The registration of HTTP/1.1, and the mix of its requests.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::driver::HttpDriver;
use super::operation;
use super::scenario::{self, HttpScenario, HttpUserDriver};
use super::spec::{HttpOperation, HttpSpec};
use crate::drivers::error::OperationError;
use crate::drivers::mix::{Mix, MixError, MixSection};
use crate::drivers::mix_file;
use crate::drivers::options::{DriverOption, GivenOptions, OptionError, OptionValueError, any_text};
use crate::drivers::protocol::{
    ALONE, DriverNames, DriverUse, Protocol, ServerAccess, UrlPath, UrlScheme, WorkerShare,
};
use crate::inputs::values::DeclaredValues;

/// HTTP/1.1.
#[derive(Debug)]
pub struct Http;

/// Headers whose values are secrets, and what is printed instead.
const SECRET_HEADERS: &[&str] = &["authorization", "proxy-authorization", "cookie", "x-api-key"];
const MASKED: &str = "***";

fn is_secret(header: &str) -> bool {
    SECRET_HEADERS.iter().any(|secret| secret.eq_ignore_ascii_case(header))
}

/// Requests, independent of the server.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpMix {
    operations: Vec<HttpOperation>,
    /// What users do instead.
    scenario: Option<HttpScenario>,
    /// The folder of the file that they come from, for the names of other files in it.
    folder: Option<PathBuf>,
}

const METHOD: DriverOption = DriverOption::with_value(
    "method",
    "METHOD",
    any_text,
    "HTTP",
    "Use this method for the request [default: GET]",
)
.of_operation()
.short('X');
const HEADER: DriverOption = DriverOption::with_value(
    "header",
    "HEADER",
    check_header,
    "HTTP",
    "Add a header to the request, such as 'Accept: text/html'; may be repeated",
)
.of_operation()
.short('H')
.repeated();
const BODY: DriverOption =
    DriverOption::with_value("body", "BODY", any_text, "HTTP", "Send this body with the request")
        .of_operation();

fn check_header(text: &str) -> Result<(), OptionValueError> {
    split_header(text).map(drop).ok_or_else(|| OptionValueError::new("it has no colon: write 'Name: value'"))
}

fn split_header(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once(':')?;
    Some((name.trim().to_owned(), value.trim().to_owned()))
}

impl Mix for HttpMix {
    type Operation = HttpOperation;
    type Section = ();
    const SECTION: Option<MixSection> = None;
    const OPTIONS: &'static [DriverOption] = &[METHOD, HEADER, BODY];
    const USER_KEYS: &'static [&'static str] = scenario::USER_KEYS;

    fn check_operation(operation: &HttpOperation) -> Result<(), OperationError> {
        operation::HttpRequest::new(operation, "localhost", ALONE, &mut DeclaredValues::default()).map(drop)
    }

    fn of_workload((): (), operations: Vec<HttpOperation>) -> Self {
        Self { operations, scenario: None, folder: None }
    }

    fn of_users((): (), own: DeTable<'_>, operations: Vec<Spanned<DeValue<'_>>>) -> Result<Self, MixError> {
        let scenario = Some(scenario::parse(own, operations)?);
        Ok(Self { operations: Vec::new(), scenario, folder: None })
    }

    fn of_options(given: &GivenOptions) -> Result<Self, OptionError> {
        if let Some(path) = &given.mix_file {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder =
                folder.map(|folder| std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()));
            return Ok(Self {
                operations: mix_file::read(path, Self::check_operation)?,
                scenario: None,
                folder,
            });
        }
        let get = HttpOperation::get(&given.path_and_query);
        let operation = HttpOperation {
            method: given.text(&METHOD).map_or(get.method, str::to_owned),
            headers: given.all(&HEADER).iter().filter_map(|text| split_header(text)).collect(),
            body: given.text(&BODY).map(str::to_owned),
            ..get
        };
        Ok(Self { operations: vec![operation], scenario: None, folder: None })
    }

    fn only(&self, at: usize) -> Self {
        if let Some(scenario) = &self.scenario {
            let operations = vec![scenario.operations[at].clone()];
            let scenario = Some(HttpScenario { operations, ..scenario.clone() });
            return Self { operations: Vec::new(), scenario, folder: self.folder.clone() };
        }
        let operation = HttpOperation { weight: 1.0, ..self.operations[at].clone() };
        Self { operations: vec![operation], scenario: None, folder: self.folder.clone() }
    }
}

impl Protocol for Http {
    type Spec = HttpSpec;
    type Mix = HttpMix;

    const NAME: &'static str = "http";
    const CODEC: Option<&'static str> = Some("http1");
    const SCHEMES: &'static [UrlScheme] = &[
        UrlScheme { names: &["http"], port: 80, is_tls: false },
        UrlScheme { names: &["https"], port: 443, is_tls: true },
    ];
    const URL_PATH: UrlPath = UrlPath::Request;
    const ALPN: Option<&'static [u8]> = Some(b"http/1.1");

    fn spec(mix: HttpMix, access: &ServerAccess) -> HttpSpec {
        let folder = mix.folder.or_else(|| access.folder.clone());
        let has_files = mix.scenario.as_ref().is_some_and(HttpScenario::has_files);
        let spec =
            HttpSpec { scenario: mix.scenario, folder, ..HttpSpec::new(&access.authority, mix.operations) };
        let uses_folder = has_files || !spec.declared_values().is_empty();
        if uses_folder { spec } else { HttpSpec { folder: None, ..spec } }
    }

    fn names(spec: &HttpSpec) -> Result<DriverNames, OperationError> {
        match &spec.scenario {
            Some(scenario) => HttpUserDriver::names(&spec.authority, scenario),
            None => HttpDriver::names(spec),
        }
    }

    fn published(spec: &HttpSpec) -> HttpSpec {
        let mut published = spec.clone();
        let headers = published.operations.iter_mut().flat_map(|operation| &mut operation.headers);
        for (_, value) in headers.filter(|(name, _)| is_secret(name)) {
            MASKED.clone_into(value);
        }
        let operations = published.scenario.iter_mut().flat_map(|scenario| &mut scenario.operations);
        let headers =
            operations.flat_map(|operation| &mut operation.steps).flat_map(|step| &mut step.headers);
        for (_, value) in headers.filter(|(name, _)| is_secret(name)) {
            MASKED.clone_into(value);
        }
        published
    }

    fn drive<U: DriverUse>(
        spec: &HttpSpec,
        share: WorkerShare,
        user: U,
    ) -> Result<U::Output, OperationError> {
        match &spec.scenario {
            Some(scenario) => {
                let folder = spec.folder.as_deref().unwrap_or(Path::new("."));
                Ok(user.driver(HttpUserDriver::new(&spec.authority, folder, scenario, share)?))
            }
            None => Ok(user.driver(HttpDriver::new(spec, share)?)),
        }
    }
}
