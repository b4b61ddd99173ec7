//! Templates and how they show times and numbers. All text is escaped: it may come from a plan, a host or a server.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value};

/// The templates.
#[derive(Debug)]
pub struct Pages {
    environment: Environment<'static>,
}

const TEMPLATES: &[(&str, &str)] = &[
    ("base.html", include_str!("../pages/base.html")),
    ("parts.html", include_str!("../pages/parts.html")),
    ("queue.html", include_str!("../pages/queue.html")),
    ("entry.html", include_str!("../pages/entry.html")),
    ("plan.html", include_str!("../pages/plan.html")),
    ("archive.html", include_str!("../pages/archive.html")),
    ("trash.html", include_str!("../pages/trash.html")),
    ("run.html", include_str!("../pages/run.html")),
    ("file.html", include_str!("../pages/file.html")),
    ("compare.html", include_str!("../pages/compare.html")),
    ("series.html", include_str!("../pages/series.html")),
    ("shifts.html", include_str!("../pages/shifts.html")),
    ("shift.html", include_str!("../pages/shift.html")),
    ("hosts.html", include_str!("../pages/hosts.html")),
    ("link.html", include_str!("../pages/link.html")),
    ("login.html", include_str!("../pages/login.html")),
    ("account.html", include_str!("../pages/account.html")),
    ("people.html", include_str!("../pages/people.html")),
    ("audit.html", include_str!("../pages/audit.html")),
    ("message.html", include_str!("../pages/message.html")),
];

impl Pages {
    /// Reads the templates.
    pub fn new() -> Result<Self, minijinja::Error> {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.add_filter("time", time);
        environment.add_filter("about", about);
        environment.add_filter("figure", figure);
        for (name, text) in TEMPLATES {
            environment.add_template(name, text)?;
        }
        Ok(Self { environment })
    }

    /// A page.
    pub fn page(&self, name: &str, context: &serde_json::Value) -> Response {
        let text = self
            .environment
            .get_template(name)
            .and_then(|template| template.render(Value::from(Serde(context))));
        match text {
            Ok(text) => ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response(),
            Err(error) => {
                let text = format!("the page {name} cannot be made: {error:#}: report this as a bug\n");
                (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
            }
        }
    }

    /// A page with one sentence.
    pub fn message(&self, title: &str, text: &str) -> Response {
        self.page("message.html", &serde_json::json!({ "title": title, "text": text }))
    }
}

/// A time for people: `2026-11-29 17:05:12`, in UTC.
fn time(unix_ms: Value) -> String {
    let Ok(unix_ms) = u64::try_from(unix_ms) else { return "–".to_owned() };
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(unix_ms);
    humantime::format_rfc3339_seconds(time).to_string().replace('T', " ").replace('Z', "")
}

/// A length of time: `about 4 minutes`.
fn about(seconds: Value) -> String {
    let Ok(seconds) = f64::try_from(seconds) else { return "unknown".to_owned() };
    match seconds {
        ..90.0 => format!("{seconds:.0} s"),
        ..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// A figure with three to four significant digits.
fn figure(value: Value) -> String {
    let Ok(value) = f64::try_from(value) else { return "–".to_owned() };
    figure_text(value)
}

/// The same of a number that is there.
pub fn figure_text(value: f64) -> String {
    match value.abs() {
        1000.0.. => {
            let digits = format!("{value:.0}");
            let mut grouped = String::new();
            for (index, digit) in digits.chars().enumerate() {
                if index > 0 && (digits.len() - index) % 3 == 0 && !grouped.ends_with('-') {
                    grouped.push(',');
                }
                grouped.push(digit);
            }
            grouped
        }
        100.0.. => format!("{value:.1}"),
        10.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_times_are_for_people() {
        assert_eq!(figure(Value::from(1_234_567.0)), "1,234,567");
        assert_eq!(figure(Value::from(1.5)), "1.500");
        assert_eq!(figure(Value::from(())), "–");
        assert_eq!(about(Value::from(240.0)), "4 min");
        assert_eq!(time(Value::from(1_795_222_299_000_u64)), "2026-11-21 00:51:39");
    }

    #[test]
    fn no_text_becomes_markup() {
        let pages = Pages::new().expect("templates");
        let mut environment = pages.environment.clone();
        environment.add_template("x", "{{ text }}").expect("a template");
        let text =
            environment.get_template("x").expect("it").render(minijinja::context! { text => "<img src=x>" });
        assert_eq!(text.expect("a page"), "&lt;img src=x&gt;");
    }
}
