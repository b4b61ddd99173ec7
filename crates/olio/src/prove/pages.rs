//! Every route for every kind of visitor: the reply is that of the reference.

use anyhow::Result;

use super::client::Client;
use super::normal_form::difference;
use super::requests::{Role, Subjects};
use super::subject::{Proof, Request, Site};

pub fn prove(reference: &mut Site, candidate: &mut Site, request: &Request) -> Result<Proof> {
    let mut subjects = Subjects::draw(&mut reference.tables, request.data.rows, request.data.seed)?;
    let mut differences = Vec::new();
    let mut compared = 0;
    for role in [Role::Anonymous, Role::User, Role::Owner] {
        let mut expected = client_of(reference, role, &subjects)?;
        let mut found = client_of(candidate, role, &subjects)?;
        for ask in subjects.asks() {
            compared += 1;
            if let Some(difference) = difference(&expected.send(&ask)?, &found.send(&ask)?) {
                differences.push(format!("{role:?} {}: {difference}", ask.name()));
            }
        }
    }
    Ok(Proof {
        name: "pages",
        compared: format!("{compared} replies on 17 routes for 3 kinds of visitors"),
        differences,
    })
}

fn client_of(site: &Site, role: Role, subjects: &Subjects) -> Result<Client> {
    let mut client = site.new_client();
    match role {
        Role::Anonymous => {}
        Role::User => client.log_in(subjects.user)?,
        Role::Owner => client.log_in(subjects.owner)?,
    }
    Ok(client)
}
