//! What of a reply is compared: status, place, type, cookies, and the page as a tree of elements with sorted attributes and texts. Blanks
//! around texts, the order of attributes, and the values of tokens are not.

use scraper::{ElementRef, Html, Node};

use super::client::Reply;

/// A line for each element and text of a reply.
pub fn of(reply: &Reply) -> Vec<String> {
    let mut lines = vec![format!("status {}", reply.status), format!("location {}", reply.location)];
    lines.extend(reply.cookies.iter().map(|cookie| format!("cookie {cookie}")));
    // A redirection may have a page or none: browsers do not show it.
    if reply.status != 303 {
        lines.push(format!("type {}", reply.content_type.to_lowercase().replace(' ', "")));
        let page = Html::parse_document(&reply.body);
        add(page.root_element(), 0, &mut lines);
    }
    lines
}

fn add(element: ElementRef<'_>, depth: usize, lines: &mut Vec<String>) {
    let indent = " ".repeat(depth);
    let is_token = element.value().attr("name") == Some("token");
    let mut attributes: Vec<String> = Vec::new();
    for (name, value) in element.value().attrs() {
        let value = if is_token && name == "value" && value.len() == 32 { "TOKEN" } else { value };
        attributes.push(format!("{name}={value:?}"));
    }
    attributes.sort();
    lines.push(format!("{indent}<{} {}>", element.value().name(), attributes.join(" ")));
    for child in element.children() {
        if let Some(child) = ElementRef::wrap(child) {
            add(child, depth + 1, lines);
        } else if let Node::Text(text) = child.value() {
            let words: Vec<&str> = text.split_whitespace().collect();
            if !words.is_empty() {
                lines.push(format!("{indent} {}", words.join(" ")));
            }
        }
    }
}

/// The first line in which two replies differ.
pub fn difference(reference: &Reply, candidate: &Reply) -> Option<String> {
    let (reference, candidate) = (of(reference), of(candidate));
    for index in 0..reference.len().max(candidate.len()) {
        let line = |lines: &[String]| lines.get(index).map_or("nothing", |line| line.trim()).to_owned();
        let (expected, found) = (line(&reference), line(&candidate));
        if reference.get(index) != candidate.get(index) {
            return Some(format!("line {index}: {found} instead of {expected}"));
        }
    }
    None
}
