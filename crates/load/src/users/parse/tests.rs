//! What is read of users, and what is refused with its line.

use super::*;

fn names() -> Vec<String> {
    ["home", "search", "buy"].map(str::to_owned).to_vec()
}

/// Reads the users of a scenario with three operations.
fn parse(users: &str, of_home: &str) -> Result<UserPlan, (usize, String)> {
    let text = format!(
        "[users]\n{users}\n[[op]]\nname = \"home\"\n{of_home}\n[[op]]\nname = \"search\"\n[[op]]\nname = \"buy\"\n"
    );
    let mut table = DeTable::parse(&text).expect("a table");
    let table = table.get_mut();
    let Some(DeValue::Array(operations)) = table.remove("op").map(Spanned::into_inner) else {
        panic!("operations")
    };
    let mut operations: Vec<_> = operations.into_iter().collect();
    let users = table.remove("users").expect("users");
    let plan = RawUsers::take(users, &mut operations, &["cookies"])
        .and_then(|(raw, _)| raw.plan(&names(), &["sold"]));
    plan.map_err(|error| {
        let span = match &error {
            ScenarioError::Toml(error) => error.span().expect("a place"),
            ScenarioError::At { span, .. } => span.clone(),
        };
        let message = match &error {
            ScenarioError::Toml(error) => error.message().to_owned(),
            ScenarioError::At { what, .. } => what.clone(),
        };
        (notation::source_text::line_of(&text, span.start), message)
    })
}

const NEXT: &str = "count = 10\nnext.home = { search = 99, buy = 1 }\nnext.search = { home = 50, search = 50 }\nnext.buy = { home = 100 }";

#[test]
fn a_matrix_with_delays_is_read() {
    let users = format!("{NEXT}\ncookies = 2\ndelay = {{ cycle = \"exp:5s\" }}");
    let plan = parse(&users, "delay = { think = \"2s\" }\nlimit = \"p90<2s\"").expect("a plan");
    let NextOperation::Matrix(rows) = &plan.next else { panic!("a matrix") };
    assert_eq!(rows[0], [0.0, 0.99, 0.01]);
    assert_eq!(plan.start, Some(0));
    assert_eq!(plan.delays[0].to_string(), "think 2s");
    assert_eq!(plan.delays[1].to_string(), "cycle exp:5s");
    assert!(plan.limits[0].is_some() && plan.limits[1].is_none());
    assert_eq!(plan.pass, PassCriteria::default());
}

#[test]
fn without_a_matrix_there_are_weights_or_a_sequence() {
    let plan = parse("count = 1\npass = { mix = 3 }", "weight = 3").expect("a plan");
    assert_eq!(plan.next, NextOperation::Weights(vec![0.6, 0.2, 0.2]));
    assert_eq!(plan.pass, PassCriteria { mix: 3.0, ..PassCriteria::default() });
    let plan = parse("count = 1\nsequence = [\"home\", \"buy\", \"home\"]", "").expect("a plan");
    assert_eq!(plan.next, NextOperation::Sequence(vec![0, 2, 0]));
}

#[test]
fn mistakes_have_a_line_with_the_remedy() {
    let next = |from: &str, to: &str| NEXT.replace(from, to);
    for (users, of_home, line, why) in [
        (next("buy = 1 ", "buy = 2 "), "", 3, "next.home: the row adds up to 101 per cent: make it 100"),
        (next("buy = 1 ", "bye = 1 "), "", 3, "next.home: there is no operation \"bye\""),
        (next("search = 99, buy = 1 ", "search = 100 "), "", 5, "no user comes to \"buy\" from \"home\""),
        (next("next.buy", "next.bye"), "", 5, "next: there is no operation \"bye\""),
        (next("\nnext.buy = { home = 100 }", ""), "", 3, "next: there is no row for \"buy\""),
        (next("count = 10", "count = 0"), "", 2, "give a number from 1"),
        (NEXT.to_owned() + "\nstart = \"hone\"", "", 6, "start: there is no operation \"hone\""),
        (NEXT.to_owned() + "\ncuokies = 2", "", 6, "unknown field `cuokies`"),
        (NEXT.to_owned(), "weight = 2", 6, "weight: the rows of next say how often"),
        (NEXT.to_owned() + "\ndelay = { min = \"2s\" }", "", 6, "delay: give a cycle or a think time"),
        (NEXT.to_owned() + "\nsequence = [\"home\"]", "", 3, "next: there is a sequence too"),
        (
            NEXT.to_owned() + "\npass = { ratios = [\"sold / by >= 1\"] }",
            "",
            6,
            "no counter or operation \"by\"",
        ),
        (NEXT.to_owned() + "\npass = { ratios = [\"sold > 1\"] }", "", 6, "is not a ratio such as"),
        ("count = 1".to_owned(), "limit = \"p90\"", 5, "limit: \"p90\" is not an objective"),
        ("count = 1".to_owned(), "delay = { cycle = \"exp:0s\" }", 5, "mean is above its min"),
    ] {
        let (found, message) = parse(&users, of_home).expect_err(why);
        assert!(message.contains(why) && !message.contains('\n'), "{message}");
        assert_eq!(found, line, "{message}");
    }
}
