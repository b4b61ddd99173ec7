//! What of a reply is compared: status, place, cookies, the names of fields about caches, type, and the page as a browser's tokenizer reads it: tags with sorted attributes,
//! and texts. Blanks around texts, the order of attributes, and the values of tokens are not.

use std::cell::RefCell;
use std::fmt::Write as _;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::{RawKind, Rawtext, Rcdata};
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use super::client::Reply;

/// A line for each tag and each text of a reply.
fn normal_form(reply: &Reply) -> Vec<String> {
    let mut lines = vec![format!("status {}", reply.status), format!("location {}", reply.location)];
    lines.push(format!("caching {}", reply.caching.join(" ")));
    lines.extend(reply.cookies.iter().map(|cookie| format!("cookie {cookie}")));
    // A redirection may have a page or none: browsers do not show it.
    if reply.status != 303 {
        lines.push(format!("type {}", reply.content_type.to_lowercase().replace(' ', "")));
        lines.extend(tokens(&reply.body));
    }
    lines
}

fn tokens(page: &str) -> Vec<String> {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(page));
    let tokenizer = Tokenizer::new(Lines::default(), TokenizerOpts::default());
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    let lines = tokenizer.sink;
    lines.end_text();
    lines.finished.into_inner()
}

/// Collects lines from tokens.
#[derive(Default)]
struct Lines {
    finished: RefCell<Vec<String>>,
    /// The text since the last tag, which comes in pieces.
    text: RefCell<String>,
}

impl Lines {
    fn end_text(&self) {
        let text = self.text.take();
        let words: Vec<&str> = text.split_whitespace().collect();
        if !words.is_empty() {
            self.finished.borrow_mut().push(words.join(" "));
        }
    }

    fn add(&self, line: String) {
        self.end_text();
        self.finished.borrow_mut().push(line);
    }
}

impl TokenSink for Lines {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::CharacterTokens(text) => self.text.borrow_mut().push_str(&text),
            Token::DoctypeToken(doctype) => {
                self.add(format!("<!doctype {}>", doctype.name.unwrap_or_default()));
            }
            Token::TagToken(tag) => {
                self.add(line_of(&tag));
                if let (TagKind::StartTag, Some(raw)) = (tag.kind, raw_kind(&tag.name)) {
                    return TokenSinkResult::RawData(raw);
                }
            }
            Token::CommentToken(_) | Token::NullCharacterToken | Token::EOFToken | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

fn line_of(tag: &Tag) -> String {
    if tag.kind == TagKind::EndTag {
        return format!("</{}>", tag.name);
    }
    let is_token =
        tag.attrs.iter().any(|attribute| &*attribute.name.local == "name" && &*attribute.value == "token");
    let mut attributes = String::new();
    let mut sorted: Vec<_> =
        tag.attrs.iter().map(|attribute| (&*attribute.name.local, &*attribute.value)).collect();
    sorted.sort_unstable();
    for (name, value) in sorted {
        let value = if is_token && name == "value" && value.len() == 32 { "TOKEN" } else { value };
        let _ = write!(attributes, " {name}={value:?}");
    }
    format!("<{}{attributes}>", tag.name)
}

/// Elements whose content has no tags.
fn raw_kind(name: &str) -> Option<RawKind> {
    match name {
        "title" | "textarea" => Some(Rcdata),
        "style" | "script" => Some(Rawtext),
        _ => None,
    }
}

/// The first line in which two replies differ.
pub fn difference(reference: &Reply, candidate: &Reply) -> Option<String> {
    let (reference, candidate) = (normal_form(reference), normal_form(candidate));
    for index in 0..reference.len().max(candidate.len()) {
        if reference.get(index) != candidate.get(index) {
            return Some(format!(
                "line {index}: {} instead of {}",
                line(&candidate, index),
                line(&reference, index)
            ));
        }
    }
    None
}

fn line(lines: &[String], index: usize) -> &str {
    lines.get(index).map_or("nothing", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_order_of_attributes_and_tokens_do_not_matter() {
        let token = "0123456789abcdef0123456789abcdef";
        let left = format!("<p class=\"a\" id='b'>x &amp;\n y</p><input name=token value={token}>");
        let right = "<p id=\"b\" class=\"a\">\n x &#38; y </p>\n<input value=\"fedcba9876543210fedcba9876543210\" name=\"token\">";
        assert_eq!(tokens(&left), tokens(right));
    }

    #[test]
    fn texts_and_structure_matter() {
        assert_ne!(tokens("<p>a</p>"), tokens("<p>b</p>"));
        assert_ne!(tokens("<p>a<b>c</b></p>"), tokens("<p>a</p><b>c</b>"));
        assert_eq!(tokens("<title><b></title>"), ["<title>", "<b>", "</title>"]);
    }
}
