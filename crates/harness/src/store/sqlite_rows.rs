//! What a transaction of the SQLite store reads and writes.

use std::ops::Deref;

use queue::api::Note;
use queue::{ControllerRow, Entry, EntryId, EntryState, HostRow, Rows, Sequence, Token};
use rusqlite::{OptionalExtension, Params, Row, Transaction as SqliteTransaction, params};
use serde::de::DeserializeOwned;

use super::{AuditLine, Deletion, EventLine, SecretKind, StoreError, Transaction};
use crate::people::{Account, Role};
use crate::search::{ArchiveSearch, SavedView};

/// A transaction of SQLite.
#[derive(Debug)]
pub struct SqliteRows<'t>(pub(super) SqliteTransaction<'t>);

impl<'t> Deref for SqliteRows<'t> {
    type Target = SqliteTransaction<'t>;

    fn deref(&self) -> &SqliteTransaction<'t> {
        &self.0
    }
}

type Result<T> = std::result::Result<T, StoreError>;

const ENTRY: &str = "SELECT row FROM entry";

/// The rows of a query whose first column is JSON.
fn json<T: DeserializeOwned>(
    change: &SqliteTransaction<'_>,
    query: &str,
    params: impl Params,
) -> Result<Vec<T>> {
    let mut select = change.prepare_cached(query)?;
    let mut rows = select.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(serde_json::from_str(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?);
    }
    Ok(found)
}

/// Numbers of the database have a sign; numbers of the queue have none.
fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.cast_unsigned())
}

impl Rows for SqliteRows<'_> {
    type Error = StoreError;

    fn next(&mut self, sequence: Sequence) -> Result<u64> {
        let mut count = self.prepare_cached(
            "INSERT INTO number VALUES (?1, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value",
        )?;
        Ok(count.query_row([sequence.name()], |row| row.get::<_, i64>(0))?.cast_unsigned())
    }

    fn entry(&mut self, id: EntryId) -> Result<Option<Entry>> {
        Ok(json(self, &format!("{ENTRY} WHERE id = ?1"), [id.cast_signed()])?.pop())
    }

    fn entry_of_key(&mut self, key: &str) -> Result<Option<Entry>> {
        Ok(json(self, &format!("{ENTRY} WHERE key = ?1"), [key])?.pop())
    }

    fn put_entry(&mut self, entry: &Entry) -> Result<()> {
        let row = serde_json::to_string(entry)?;
        let mut put = self.prepare_cached(
            "INSERT INTO entry (id, state, priority, position, question, key, run, row)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (id) DO UPDATE SET state = ?2, priority = ?3, position = ?4, run = ?7, row = ?8",
        )?;
        let Entry { state, priority, position, question, key, run, .. } = entry;
        let id = entry.id.cast_signed();
        put.execute(params![id, state.name(), priority, position, question, key, run, row])?;
        Ok(())
    }

    fn entries(&mut self, states: &[EntryState]) -> Result<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::new();
        for state in states {
            entries.extend(json(self, &format!("{ENTRY} WHERE state = ?1"), [state.name()])?);
        }
        entries.sort_by_key(Entry::place_in_order);
        Ok(entries)
    }

    fn in_order_after(&mut self, state: EntryState, after: Option<&Entry>, most: u32) -> Result<Vec<Entry>> {
        let (state, order) = (state.name(), "ORDER BY priority DESC, position, id LIMIT ?2");
        let Some(after) = after else {
            return json(self, &format!("{ENTRY} WHERE state = ?1 {order}"), params![state, most]);
        };
        let query = format!("{ENTRY} WHERE state = ?1 AND (-priority, position, id) > (-?3, ?4, ?5) {order}");
        let place = params![state, most, after.priority, after.position, after.id.cast_signed()];
        json(self, &query, place)
    }

    fn host(&mut self, name: &str) -> Result<Option<HostRow>> {
        Ok(json(self, "SELECT row FROM host WHERE name = ?1", [name])?.pop())
    }

    fn put_host(&mut self, host: &HostRow) -> Result<()> {
        let row = serde_json::to_string(host)?;
        self.prepare_cached("INSERT INTO host VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET row = ?2")?
            .execute([&host.name, &row])?;
        Ok(())
    }

    fn hosts(&mut self) -> Result<Vec<HostRow>> {
        json(self, "SELECT row FROM host ORDER BY name", [])
    }

    fn controller(&mut self, id: &str) -> Result<Option<ControllerRow>> {
        Ok(json(self, "SELECT row FROM controller WHERE id = ?1", [id])?.pop())
    }

    fn put_controller(&mut self, controller: &ControllerRow) -> Result<()> {
        let row = serde_json::to_string(controller)?;
        self.prepare_cached(
            "INSERT INTO controller VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET row = ?2",
        )?
        .execute([&controller.id, &row])?;
        Ok(())
    }

    fn controllers(&mut self) -> Result<Vec<ControllerRow>> {
        json(self, "SELECT row FROM controller ORDER BY id", [])
    }
}

impl Transaction for SqliteRows<'_> {
    fn put_plan(&mut self, entry: EntryId, plan: &str) -> Result<()> {
        self.execute("INSERT OR REPLACE INTO plan VALUES (?1, ?2)", params![entry.cast_signed(), plan])?;
        Ok(())
    }

    fn plan(&mut self, entry: EntryId) -> Result<Option<String>> {
        let select =
            self.query_row("SELECT plan FROM plan WHERE entry = ?1", [entry.cast_signed()], |row| row.get(0));
        Ok(select.optional()?)
    }

    fn ended(&mut self, before: Option<EntryId>, most: u32) -> Result<Vec<Entry>> {
        let query = format!(
            "{ENTRY} WHERE state IN ('done', 'failed', 'cancelled', 'lost') AND (?1 IS NULL OR id < ?1) ORDER BY id DESC LIMIT ?2"
        );
        json(self, &query, params![before.map(u64::cast_signed), most])
    }

    fn entry_of_run(&mut self, run: &str) -> Result<Option<Entry>> {
        Ok(json(self, &format!("{ENTRY} WHERE run = ?1 ORDER BY id DESC LIMIT 1"), [run])?.pop())
    }

    fn count_before(&mut self, state: EntryState, before: Option<&Entry>) -> Result<u64> {
        let count = "SELECT count(*) FROM entry WHERE state = ?1";
        Ok(match before {
            None => self.query_row(count, [state.name()], |row| unsigned(row, 0))?,
            Some(Entry { priority, position, id, .. }) => {
                let query = format!("{count} AND (-priority, position, id) < (-?2, ?3, ?4)");
                let place = params![state.name(), priority, position, id.cast_signed()];
                self.query_row(&query, place, |row| unsigned(row, 0))?
            }
        })
    }

    fn former_runs(&mut self, questions: &[&str], most: u32) -> Result<Vec<Entry>> {
        let query = format!("{ENTRY} WHERE question = ?1 AND state = 'done' ORDER BY id DESC LIMIT ?2");
        let mut found = Vec::new();
        for question in questions {
            found.extend(json::<Entry>(self, &query, params![question, most])?);
        }
        Ok(found)
    }

    fn last_seq(&mut self, entry: EntryId, token: Token) -> Result<u64> {
        let query =
            "SELECT last FROM event_chunk WHERE entry = ?1 AND token = ?2 ORDER BY first DESC LIMIT 1";
        let of_attempt = params![entry.cast_signed(), token.cast_signed()];
        let last: Option<i64> = self.query_row(query, of_attempt, |row| row.get(0)).optional()?;
        Ok(last.unwrap_or(0).cast_unsigned())
    }

    fn append_lines(&mut self, entry: EntryId, token: Token, first: u64, lines: &[String]) -> Result<()> {
        let last = first + lines.len() as u64 - 1;
        let mut insert = self.prepare_cached("INSERT INTO event_chunk VALUES (?1, ?2, ?3, ?4, ?5)")?;
        let numbers = [entry, token, first, last].map(u64::cast_signed);
        insert.execute(params![numbers[0], numbers[1], numbers[2], numbers[3], lines.join("\n")])?;
        Ok(())
    }

    fn lines_after(&mut self, entry: EntryId, after: (Token, u64), most: u32) -> Result<Vec<EventLine>> {
        let mut select = self.prepare_cached(
            "SELECT token, first, lines FROM event_chunk
             WHERE entry = ?1 AND (token > ?2 OR (token = ?2 AND last > ?3)) ORDER BY token, first",
        )?;
        let mut rows = select.query([entry, after.0, after.1].map(u64::cast_signed))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (token, first) = (unsigned(row, 0)?, unsigned(row, 1)?);
            let lines: String = row.get(2)?;
            found.extend(EventLine::of_chunk(token, first, &lines, after));
            if found.len() >= most as usize {
                break;
            }
        }
        found.truncate(most as usize);
        Ok(found)
    }

    fn add_note(&mut self, run: &str, note: &Note) -> Result<()> {
        let insert = "INSERT INTO note (run, author, unix_ms, text) VALUES (?1, ?2, ?3, ?4)";
        self.execute(insert, params![run, note.author, note.unix_ms.cast_signed(), note.text])?;
        Ok(())
    }

    fn notes(&mut self, run: &str) -> Result<Vec<Note>> {
        let mut select =
            self.prepare_cached("SELECT author, unix_ms, text FROM note WHERE run = ?1 ORDER BY id")?;
        let mut rows = select.query([run])?;
        let mut notes = Vec::new();
        while let Some(row) = rows.next()? {
            notes.push(Note { author: row.get(0)?, unix_ms: unsigned(row, 1)?, text: row.get(2)? });
        }
        Ok(notes)
    }

    fn add_deletion(&mut self, deletion: &Deletion) -> Result<()> {
        let Deletion { run, author, unix_ms, reason } = deletion;
        let insert = "INSERT OR REPLACE INTO deletion VALUES (?1, ?2, ?3, ?4)";
        self.execute(insert, params![run, author, unix_ms.cast_signed(), reason])?;
        Ok(())
    }

    fn remove_deletion(&mut self, run: &str) -> Result<bool> {
        Ok(self.execute("DELETE FROM deletion WHERE run = ?1", [run])? > 0)
    }

    fn deletions(&mut self) -> Result<Vec<Deletion>> {
        let mut select = self
            .prepare_cached("SELECT run, author, unix_ms, reason FROM deletion ORDER BY unix_ms DESC, run")?;
        let mut rows = select.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (run, author, unix_ms, reason) = (row.get(0)?, row.get(1)?, unsigned(row, 2)?, row.get(3)?);
            found.push(Deletion { run, author, unix_ms, reason });
        }
        Ok(found)
    }

    fn put_secret(&mut self, digest: &[u8; 32], kind: SecretKind, name: &str, until: u64) -> Result<()> {
        let insert = "INSERT OR REPLACE INTO secret VALUES (?1, ?2, ?3, ?4)";
        self.execute(insert, params![digest, kind.name(), name, until.cast_signed()])?;
        Ok(())
    }

    fn secret(&mut self, digest: &[u8; 32], kind: SecretKind, now: u64) -> Result<Option<String>> {
        let select = "SELECT name FROM secret WHERE digest = ?1 AND kind = ?2 AND until_unix_ms > ?3";
        let mut select = self.prepare_cached(select)?;
        Ok(select.query_row(params![digest, kind.name(), now.cast_signed()], |row| row.get(0)).optional()?)
    }

    fn remove_secret(&mut self, digest: &[u8; 32]) -> Result<bool> {
        Ok(self.execute("DELETE FROM secret WHERE digest = ?1", [digest])? > 0)
    }

    fn remove_secrets(&mut self, kind: SecretKind, name: &str) -> Result<u64> {
        let removed =
            self.execute("DELETE FROM secret WHERE kind = ?1 AND name = ?2", [kind.name(), name])?;
        Ok(removed as u64)
    }

    fn remove_lapsed_secrets(&mut self, now: u64) -> Result<()> {
        self.execute("DELETE FROM secret WHERE until_unix_ms <= ?1", [now.cast_signed()])?;
        Ok(())
    }

    fn names_of_secrets(&mut self, kind: SecretKind) -> Result<Vec<String>> {
        let mut select =
            self.prepare_cached("SELECT DISTINCT name FROM secret WHERE kind = ?1 ORDER BY name")?;
        let names = select.query_map([kind.name()], |row| row.get(0))?;
        Ok(names.collect::<rusqlite::Result<_>>()?)
    }

    fn controller_owner(&mut self, controller: &str) -> Result<Option<String>> {
        let mut select = self.prepare_cached("SELECT owner FROM controller_owner WHERE controller = ?1")?;
        Ok(select.query_row([controller], |row| row.get(0)).optional()?)
    }

    fn put_controller_owner(&mut self, controller: &str, owner: &str) -> Result<()> {
        self.execute("INSERT OR REPLACE INTO controller_owner VALUES (?1, ?2)", [controller, owner])?;
        Ok(())
    }

    fn put_account(&mut self, account: &Account) -> Result<()> {
        let Account { name, role, hash, unix_ms } = account;
        let insert = "INSERT OR REPLACE INTO account VALUES (?1, ?2, ?3, ?4)";
        self.execute(insert, params![name, role.name(), hash, unix_ms.cast_signed()])?;
        Ok(())
    }

    fn account(&mut self, name: &str) -> Result<Option<Account>> {
        let mut select =
            self.prepare_cached("SELECT name, role, hash, unix_ms FROM account WHERE name = ?1")?;
        Ok(select.query_row([name], account_of).optional()?)
    }

    fn accounts(&mut self) -> Result<Vec<Account>> {
        let mut select =
            self.prepare_cached("SELECT name, role, hash, unix_ms FROM account ORDER BY name")?;
        let accounts = select.query_map([], account_of)?;
        Ok(accounts.collect::<rusqlite::Result<_>>()?)
    }

    fn add_view(&mut self, owner: &str, name: &str, search: &ArchiveSearch, unix_ms: u64) -> Result<u64> {
        let search = serde_json::to_string(search)?;
        let insert = "INSERT INTO saved_view (owner, name, search, unix_ms) VALUES (?1, ?2, ?3, ?4)";
        self.execute(insert, params![owner, name, search, unix_ms.cast_signed()])?;
        Ok(self.last_insert_rowid().cast_unsigned())
    }

    fn views(&mut self, owner: &str) -> Result<Vec<SavedView>> {
        let select = "SELECT id, name, search, unix_ms FROM saved_view WHERE owner = ?1 ORDER BY name";
        let mut select = self.prepare_cached(select)?;
        let mut rows = select.query([owner])?;
        let mut views = Vec::new();
        while let Some(row) = rows.next()? {
            let search = serde_json::from_str(row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?)?;
            views.push(SavedView {
                id: unsigned(row, 0)?,
                name: row.get(1)?,
                search,
                unix_ms: unsigned(row, 3)?,
            });
        }
        Ok(views)
    }

    fn put_view(&mut self, owner: &str, view: &SavedView) -> Result<bool> {
        let search = serde_json::to_string(&view.search)?;
        let update = "UPDATE saved_view SET name = ?1, search = ?2 WHERE owner = ?3 AND id = ?4";
        Ok(self.execute(update, params![view.name, search, owner, view.id.cast_signed()])? > 0)
    }

    fn remove_view(&mut self, owner: &str, id: u64) -> Result<bool> {
        let delete = "DELETE FROM saved_view WHERE owner = ?1 AND id = ?2";
        Ok(self.execute(delete, params![owner, id.cast_signed()])? > 0)
    }

    fn audit(&mut self, unix_ms: u64, author: &str, what: &str) -> Result<()> {
        let insert = "INSERT INTO audit (unix_ms, author, what) VALUES (?1, ?2, ?3)";
        self.execute(insert, params![unix_ms.cast_signed(), author, what])?;
        Ok(())
    }

    fn audits(&mut self, before: Option<u64>, most: u32) -> Result<Vec<AuditLine>> {
        let mut select = self.prepare_cached(
            "SELECT id, unix_ms, author, what FROM audit WHERE ?1 IS NULL OR id < ?1 ORDER BY id DESC LIMIT ?2",
        )?;
        let mut rows = select.query(params![before.map(u64::cast_signed), most])?;
        let mut lines = Vec::new();
        while let Some(row) = rows.next()? {
            let (id, unix_ms) = (unsigned(row, 0)?, unsigned(row, 1)?);
            lines.push(AuditLine { id, unix_ms, author: row.get(2)?, what: row.get(3)? });
        }
        Ok(lines)
    }
}

fn account_of(row: &Row<'_>) -> rusqlite::Result<Account> {
    let role: String = row.get(1)?;
    // A role of a later version may do nothing here.
    let role = Role::from_name(&role).unwrap_or(Role::Closed);
    Ok(Account { name: row.get(0)?, role, hash: row.get(2)?, unix_ms: unsigned(row, 3)? })
}
