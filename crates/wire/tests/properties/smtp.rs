//! Properties of the SMTP codec: generated replies are decoded to their contents, for every split, and no text can end a
//! message early.

use proptest::collection::vec;
use proptest::prelude::*;
use wire::smtp::{Event, ReplyDecoder, request};

use crate::codecs::Smtp;
use crate::harness::{check_split, cut};

/// A code with the texts of its lines.
type Reply = (u16, Vec<String>);

fn any_reply() -> impl Strategy<Value = Reply> {
    ((2u16..6, 0u16..6, 0u16..10).prop_map(|(a, b, c)| a * 100 + b * 10 + c), vec("[ -~\t]{0,60}", 1..5))
}

fn render((code, texts): &Reply) -> Vec<u8> {
    let last = texts.len() - 1;
    let line = |(at, text)| format!("{code}{}{text}\r\n", if at == last { ' ' } else { '-' });
    texts.iter().enumerate().map(line).collect::<String>().into_bytes()
}

proptest! {
    #[test]
    fn replies_are_decoded_to_their_contents(replies in vec(any_reply(), 1..5), sizes in vec(1usize..50, 1..6)) {
        let bytes: Vec<u8> = replies.iter().flat_map(render).collect();
        let mut decoder = ReplyDecoder::new();
        for _ in &replies {
            decoder.expect();
        }
        let (mut found, mut texts) = (Vec::<Reply>::new(), Vec::new());
        for mut input in cut(&bytes, &sizes) {
            while let Some(event) = decoder.decode(&mut input).expect("the replies are valid") {
                let (Event::Line(line) | Event::End(line)) = event;
                texts.push(String::from_utf8_lossy(line.text).into_owned());
                if let Event::End(line) = event {
                    found.push((line.code, std::mem::take(&mut texts)));
                }
            }
        }
        prop_assert_eq!(found, replies);
        prop_assert_eq!(decoder.due(), 0);
    }

    #[test]
    fn the_split_does_not_matter(replies in vec(any_reply(), 1..5), selector in any::<u8>(), sizes in vec(0usize..90, 1..6)) {
        let bytes: Vec<u8> = replies.iter().flat_map(render).collect();
        check_split(|| Smtp::new(selector), &bytes, &sizes);
        check_split(|| Smtp::new(selector), &bytes, &[1]);
    }

    #[test]
    fn arbitrary_lines_are_handled(
        lines in "(([1-6][0-6][0-9])?[ -]?([245]\\.[0-9]{0,4}\\.[0-9]{0,4} )?[ -~\t]{0,9}\r?\n){1,5}",
        selector in any::<u8>(),
        size in 1usize..20,
    ) {
        check_split(|| Smtp::new(selector), lines.as_bytes(), &[size]);
    }

    #[test]
    fn arbitrary_bytes_are_handled(bytes in vec(any::<u8>(), 0..300), selector in any::<u8>(), size in 1usize..20) {
        check_split(|| Smtp::new(selector), &bytes, &[size]);
    }

    /// For a server, a line of one full stop ends the message; it removes the first full stop of any other line.
    #[test]
    fn a_server_receives_the_text_that_was_rendered(text in "([.]{0,3}[a-z]{0,3}\r\n){0,9}") {
        let mut sent = Vec::new();
        request::text(&mut sent, text.as_bytes()).expect("lines end in CRLF");
        request::end_of_data(&mut sent);
        let sent = String::from_utf8(sent).expect("ASCII");
        let mut arrived = String::new();
        let mut lines = sent.split_inclusive("\r\n");
        for line in lines.by_ref().take_while(|line| *line != ".\r\n") {
            arrived.push_str(line.strip_prefix('.').unwrap_or(line));
        }
        prop_assert_eq!(arrived, text);
        prop_assert_eq!(lines.next(), None);
    }

    #[test]
    fn a_refused_part_leaves_the_buffer_unchanged(text in "[a.\r\n]{0,12}", address in "\\PC{0,9}") {
        let mut out = Vec::new();
        if request::text(&mut out, text.as_bytes()).is_err() || request::rcpt(&mut out, &address).is_err() {
            let kept = String::from_utf8(out).expect("ASCII");
            prop_assert!(kept.is_empty() || kept.ends_with("\r\n"));
        } else {
            prop_assert!(out.ends_with(b">\r\n"));
        }
    }
}
