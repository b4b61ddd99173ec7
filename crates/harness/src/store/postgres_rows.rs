//! What a transaction of the PostgreSQL store reads and writes.

use std::collections::{BTreeSet, HashMap};

use postgres::types::ToSql;
use postgres::{Client, Row, Statement};
use queue::api::Note;
use queue::{ControllerRow, Entry, EntryId, EntryState, HostRow, Rows, Sequence, Token};
use serde::de::DeserializeOwned;

use super::{AuditLine, Deletion, EventLine, SecretKind, StoreError, Transaction};
use crate::people::{Account, Role};
use crate::search::{ArchiveSearch, SavedView};

type Result<T> = std::result::Result<T, StoreError>;

type Params<'p> = &'p [&'p (dyn ToSql + Sync)];

/// Statements that the database knows already, by their text.
pub(super) type Statements = HashMap<String, Statement>;

/// A transaction of PostgreSQL.
pub(super) struct PostgresRows<'c> {
    client: &'c mut Client,
    statements: &'c mut Statements,
    changed: BTreeSet<EntryId>,
}

const ENTRY: &str = "SELECT row FROM entry";

impl<'c> PostgresRows<'c> {
    /// What is asked of this connection.
    pub(super) fn new(client: &'c mut Client, statements: &'c mut Statements) -> Self {
        Self { client, statements, changed: BTreeSet::new() }
    }

    /// The entries that are written; 0 for hosts.
    pub(super) fn changed(&self) -> &BTreeSet<EntryId> {
        &self.changed
    }

    /// Each statement is prepared once for a connection.
    fn prepared(&mut self, text: &str) -> Result<Statement> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text)?;
        self.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    fn query(&mut self, text: &str, params: Params<'_>) -> Result<Vec<Row>> {
        let statement = self.prepared(text)?;
        Ok(self.client.query(&statement, params)?)
    }

    fn execute(&mut self, text: &str, params: Params<'_>) -> Result<u64> {
        let statement = self.prepared(text)?;
        Ok(self.client.execute(&statement, params)?)
    }

    /// The rows of a query whose first column is JSON.
    fn json<T: DeserializeOwned>(&mut self, query: &str, params: Params<'_>) -> Result<Vec<T>> {
        let mut found = Vec::new();
        for row in self.query(query, params)? {
            found.push(serde_json::from_str(row.get(0))?);
        }
        Ok(found)
    }

    /// The first column of the first row.
    fn text(&mut self, query: &str, params: Params<'_>) -> Result<Option<String>> {
        Ok(self.query(query, params)?.first().map(|row| row.get(0)))
    }
}

/// Numbers of the database have a sign; numbers of the queue have none.
fn unsigned(row: &Row, column: usize) -> u64 {
    row.get::<_, i64>(column).cast_unsigned()
}

impl Rows for PostgresRows<'_> {
    type Error = StoreError;

    fn next(&mut self, sequence: Sequence) -> Result<u64> {
        let count = "INSERT INTO number AS known VALUES ($1, 1) ON CONFLICT (name) DO UPDATE SET value = known.value + 1 RETURNING value";
        let rows = self.query(count, &[&sequence.name()])?;
        let row = rows.first().ok_or_else(|| StoreError::Failed("a number is missing".to_owned()))?;
        Ok(unsigned(row, 0))
    }

    fn entry(&mut self, id: EntryId) -> Result<Option<Entry>> {
        Ok(self.json(&format!("{ENTRY} WHERE id = $1"), &[&id.cast_signed()])?.pop())
    }

    fn entry_of_key(&mut self, key: &str) -> Result<Option<Entry>> {
        Ok(self.json(&format!("{ENTRY} WHERE key = $1"), &[&key])?.pop())
    }

    fn put_entry(&mut self, entry: &Entry) -> Result<()> {
        let row = serde_json::to_string(entry)?;
        let Entry { priority, position, question, key, run, .. } = entry;
        let (id, state) = (entry.id.cast_signed(), entry.state.name());
        self.execute(
            "INSERT INTO entry (id, state, priority, position, question, key, run, row)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
             ON CONFLICT (id) DO UPDATE SET state = $2, priority = $3, position = $4, run = $7, row = $8",
            &[&id, &state, priority, position, question, key, run, &row],
        )?;
        self.changed.insert(entry.id);
        Ok(())
    }

    fn entries(&mut self, states: &[EntryState]) -> Result<Vec<Entry>> {
        let names: Vec<&str> = states.iter().map(|state| state.name()).collect();
        self.json(&format!("{ENTRY} WHERE state = ANY($1) ORDER BY -priority, position, id"), &[&names])
    }

    fn in_order_after(&mut self, state: EntryState, after: Option<&Entry>, most: u32) -> Result<Vec<Entry>> {
        let (state, most) = (state.name(), i64::from(most));
        let order = "ORDER BY -priority, position, id LIMIT $2";
        let Some(after) = after else {
            return self.json(&format!("{ENTRY} WHERE state = $1 {order}"), &[&state, &most]);
        };
        let query = format!("{ENTRY} WHERE state = $1 AND (-priority, position, id) > ($3, $4, $5) {order}");
        let place: Params<'_> = &[&state, &most, &-after.priority, &after.position, &after.id.cast_signed()];
        self.json(&query, place)
    }

    fn host(&mut self, name: &str) -> Result<Option<HostRow>> {
        Ok(self.json("SELECT row FROM host WHERE name = $1", &[&name])?.pop())
    }

    fn put_host(&mut self, host: &HostRow) -> Result<()> {
        let row = serde_json::to_string(host)?;
        let put = "INSERT INTO host VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET row = $2";
        self.execute(put, &[&host.name, &row])?;
        self.changed.insert(0);
        Ok(())
    }

    fn hosts(&mut self) -> Result<Vec<HostRow>> {
        self.json(r#"SELECT row FROM host ORDER BY name COLLATE "C""#, &[])
    }

    fn controller(&mut self, id: &str) -> Result<Option<ControllerRow>> {
        Ok(self.json("SELECT row FROM controller WHERE id = $1", &[&id])?.pop())
    }

    fn put_controller(&mut self, controller: &ControllerRow) -> Result<()> {
        let row = serde_json::to_string(controller)?;
        let put = "INSERT INTO controller VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET row = $2";
        self.execute(put, &[&controller.id, &row])?;
        Ok(())
    }

    fn controllers(&mut self) -> Result<Vec<ControllerRow>> {
        self.json(r#"SELECT row FROM controller ORDER BY id COLLATE "C""#, &[])
    }
}

impl Transaction for PostgresRows<'_> {
    fn put_plan(&mut self, entry: EntryId, plan: &str) -> Result<()> {
        let put = "INSERT INTO plan VALUES ($1, $2) ON CONFLICT (entry) DO UPDATE SET plan = $2";
        self.execute(put, &[&entry.cast_signed(), &plan])?;
        Ok(())
    }

    fn plan(&mut self, entry: EntryId) -> Result<Option<String>> {
        self.text("SELECT plan FROM plan WHERE entry = $1", &[&entry.cast_signed()])
    }

    fn ended(&mut self, before: Option<EntryId>, most: u32) -> Result<Vec<Entry>> {
        let query = format!(
            "{ENTRY} WHERE state IN ('done', 'failed', 'cancelled', 'lost') AND id < $1 ORDER BY id DESC LIMIT $2"
        );
        self.json(&query, &[&before.map_or(i64::MAX, u64::cast_signed), &i64::from(most)])
    }

    fn entry_of_run(&mut self, run: &str) -> Result<Option<Entry>> {
        Ok(self.json(&format!("{ENTRY} WHERE run = $1 ORDER BY id DESC LIMIT 1"), &[&run])?.pop())
    }

    fn count_before(&mut self, state: EntryState, before: Option<&Entry>) -> Result<u64> {
        let (count, state) = ("SELECT count(*) FROM entry WHERE state = $1", state.name());
        let rows = match before {
            None => self.query(count, &[&state])?,
            Some(entry) => {
                let query = format!("{count} AND (-priority, position, id) < ($2, $3, $4)");
                self.query(&query, &[&state, &-entry.priority, &entry.position, &entry.id.cast_signed()])?
            }
        };
        Ok(rows.first().map_or(0, |row| unsigned(row, 0)))
    }

    fn former_runs(&mut self, questions: &[&str], most: u32) -> Result<Vec<Entry>> {
        let query = "SELECT former.row FROM unnest($1::text[]) AS wanted (question) CROSS JOIN LATERAL (
             SELECT row, id FROM entry WHERE question = wanted.question AND state = 'done' ORDER BY id DESC LIMIT $2) AS former";
        self.json(query, &[&questions, &i64::from(most)])
    }

    fn last_seq(&mut self, entry: EntryId, token: Token) -> Result<u64> {
        let query =
            "SELECT last FROM event_chunk WHERE entry = $1 AND token = $2 ORDER BY first DESC LIMIT 1";
        let rows = self.query(query, &[&entry.cast_signed(), &token.cast_signed()])?;
        Ok(rows.first().map_or(0, |row| unsigned(row, 0)))
    }

    fn append_lines(&mut self, entry: EntryId, token: Token, first: u64, lines: &[String]) -> Result<()> {
        let last = first + lines.len() as u64 - 1;
        let [id, token, first, last] = [entry, token, first, last].map(u64::cast_signed);
        let insert = "INSERT INTO event_chunk VALUES ($1, $2, $3, $4, $5)";
        self.execute(insert, &[&id, &token, &first, &last, &lines.join("\n")])?;
        self.changed.insert(entry);
        Ok(())
    }

    fn lines_after(&mut self, entry: EntryId, after: (Token, u64), most: u32) -> Result<Vec<EventLine>> {
        // A chunk has a line at least, so more chunks than lines are never needed.
        let query = "SELECT token, first, lines FROM event_chunk
             WHERE entry = $1 AND (token > $2 OR (token = $2 AND last > $3)) ORDER BY token, first LIMIT $4";
        let [id, token, seq] = [entry, after.0, after.1].map(u64::cast_signed);
        let mut found = Vec::new();
        for row in self.query(query, &[&id, &token, &seq, &i64::from(most)])? {
            let (token, first) = (unsigned(&row, 0), unsigned(&row, 1));
            found.extend(EventLine::of_chunk(token, first, row.get(2), after));
        }
        found.truncate(most as usize);
        Ok(found)
    }

    fn add_note(&mut self, run: &str, note: &Note) -> Result<()> {
        let insert = "INSERT INTO note (run, author, unix_ms, text) VALUES ($1, $2, $3, $4)";
        self.execute(insert, &[&run, &note.author, &note.unix_ms.cast_signed(), &note.text])?;
        Ok(())
    }

    fn notes(&mut self, run: &str) -> Result<Vec<Note>> {
        let mut notes = Vec::new();
        for row in self.query("SELECT author, unix_ms, text FROM note WHERE run = $1 ORDER BY id", &[&run])? {
            notes.push(Note { author: row.get(0), unix_ms: unsigned(&row, 1), text: row.get(2) });
        }
        Ok(notes)
    }

    fn add_deletion(&mut self, deletion: &Deletion) -> Result<()> {
        let Deletion { run, author, unix_ms, reason } = deletion;
        let put = "INSERT INTO deletion VALUES ($1, $2, $3, $4) ON CONFLICT (run) DO UPDATE SET author = $2, unix_ms = $3, reason = $4";
        self.execute(put, &[run, author, &unix_ms.cast_signed(), reason])?;
        Ok(())
    }

    fn remove_deletion(&mut self, run: &str) -> Result<bool> {
        Ok(self.execute("DELETE FROM deletion WHERE run = $1", &[&run])? > 0)
    }

    fn deletions(&mut self) -> Result<Vec<Deletion>> {
        let query =
            r#"SELECT run, author, unix_ms, reason FROM deletion ORDER BY unix_ms DESC, run COLLATE "C""#;
        let mut found = Vec::new();
        for row in self.query(query, &[])? {
            let unix_ms = unsigned(&row, 2);
            found.push(Deletion { run: row.get(0), author: row.get(1), unix_ms, reason: row.get(3) });
        }
        Ok(found)
    }

    fn put_secret(&mut self, digest: &[u8; 32], kind: SecretKind, name: &str, until: u64) -> Result<()> {
        let put = "INSERT INTO secret VALUES ($1, $2, $3, $4) ON CONFLICT (digest) DO UPDATE SET kind = $2, name = $3, until_unix_ms = $4";
        self.execute(put, &[&&digest[..], &kind.name(), &name, &until.cast_signed()])?;
        Ok(())
    }

    fn secret(&mut self, digest: &[u8; 32], kind: SecretKind, now: u64) -> Result<Option<String>> {
        let select = "SELECT name FROM secret WHERE digest = $1 AND kind = $2 AND until_unix_ms > $3";
        self.text(select, &[&&digest[..], &kind.name(), &now.cast_signed()])
    }

    fn remove_secret(&mut self, digest: &[u8; 32]) -> Result<bool> {
        Ok(self.execute("DELETE FROM secret WHERE digest = $1", &[&&digest[..]])? > 0)
    }

    fn remove_secrets(&mut self, kind: SecretKind, name: &str) -> Result<u64> {
        self.execute("DELETE FROM secret WHERE kind = $1 AND name = $2", &[&kind.name(), &name])
    }

    fn remove_lapsed_secrets(&mut self, now: u64) -> Result<()> {
        self.execute("DELETE FROM secret WHERE until_unix_ms <= $1", &[&now.cast_signed()])?;
        Ok(())
    }

    fn names_of_secrets(&mut self, kind: SecretKind) -> Result<Vec<String>> {
        let select = r#"SELECT name FROM secret WHERE kind = $1 GROUP BY name ORDER BY name COLLATE "C""#;
        let rows = self.query(select, &[&kind.name()])?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    fn controller_owner(&mut self, controller: &str) -> Result<Option<String>> {
        self.text("SELECT owner FROM controller_owner WHERE controller = $1", &[&controller])
    }

    fn put_controller_owner(&mut self, controller: &str, owner: &str) -> Result<()> {
        let put =
            "INSERT INTO controller_owner VALUES ($1, $2) ON CONFLICT (controller) DO UPDATE SET owner = $2";
        self.execute(put, &[&controller, &owner])?;
        Ok(())
    }

    fn put_account(&mut self, account: &Account) -> Result<()> {
        let Account { name, role, hash, unix_ms } = account;
        let put = "INSERT INTO account VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO UPDATE SET role = $2, hash = $3, unix_ms = $4";
        self.execute(put, &[name, &role.name(), hash, &unix_ms.cast_signed()])?;
        Ok(())
    }

    fn account(&mut self, name: &str) -> Result<Option<Account>> {
        let rows = self.query("SELECT name, role, hash, unix_ms FROM account WHERE name = $1", &[&name])?;
        Ok(rows.first().map(account_of))
    }

    fn accounts(&mut self) -> Result<Vec<Account>> {
        let select = r#"SELECT name, role, hash, unix_ms FROM account ORDER BY name COLLATE "C""#;
        Ok(self.query(select, &[])?.iter().map(account_of).collect())
    }

    fn add_view(&mut self, owner: &str, name: &str, search: &ArchiveSearch, unix_ms: u64) -> Result<u64> {
        let search = serde_json::to_string(search)?;
        let insert =
            "INSERT INTO saved_view (owner, name, search, unix_ms) VALUES ($1, $2, $3, $4) RETURNING id";
        let rows = self.query(insert, &[&owner, &name, &search, &unix_ms.cast_signed()])?;
        let row = rows.first().ok_or_else(|| StoreError::Failed("a view has no number".to_owned()))?;
        Ok(unsigned(row, 0))
    }

    fn views(&mut self, owner: &str) -> Result<Vec<SavedView>> {
        let select =
            r#"SELECT id, name, search, unix_ms FROM saved_view WHERE owner = $1 ORDER BY name COLLATE "C""#;
        let mut views = Vec::new();
        for row in self.query(select, &[&owner])? {
            let search = serde_json::from_str(row.get(2))?;
            views.push(SavedView {
                id: unsigned(&row, 0),
                name: row.get(1),
                search,
                unix_ms: unsigned(&row, 3),
            });
        }
        Ok(views)
    }

    fn put_view(&mut self, owner: &str, view: &SavedView) -> Result<bool> {
        let search = serde_json::to_string(&view.search)?;
        let update = "UPDATE saved_view SET name = $1, search = $2 WHERE owner = $3 AND id = $4";
        Ok(self.execute(update, &[&view.name, &search, &owner, &view.id.cast_signed()])? > 0)
    }

    fn remove_view(&mut self, owner: &str, id: u64) -> Result<bool> {
        let delete = "DELETE FROM saved_view WHERE owner = $1 AND id = $2";
        Ok(self.execute(delete, &[&owner, &id.cast_signed()])? > 0)
    }

    fn audit(&mut self, unix_ms: u64, author: &str, what: &str) -> Result<()> {
        let insert = "INSERT INTO audit (unix_ms, author, what) VALUES ($1, $2, $3)";
        self.execute(insert, &[&unix_ms.cast_signed(), &author, &what])?;
        Ok(())
    }

    fn audits(&mut self, before: Option<u64>, most: u32) -> Result<Vec<AuditLine>> {
        let select = "SELECT id, unix_ms, author, what FROM audit WHERE id < $1 ORDER BY id DESC LIMIT $2";
        let mut lines = Vec::new();
        for row in self.query(select, &[&before.map_or(i64::MAX, u64::cast_signed), &i64::from(most)])? {
            let (id, unix_ms) = (unsigned(&row, 0), unsigned(&row, 1));
            lines.push(AuditLine { id, unix_ms, author: row.get(2), what: row.get(3) });
        }
        Ok(lines)
    }
}

fn account_of(row: &Row) -> Account {
    // A role of a later version may do nothing here.
    let role = Role::from_name(row.get(1)).unwrap_or(Role::Closed);
    Account { name: row.get(0), role, hash: row.get(2), unix_ms: unsigned(row, 3) }
}
