//! The telemetry of a host during a trial as Parquet: two columns of times, and one column of numbers per measure.
//!
//! Any Parquet reader opens the file. The unit and the description of each column are in the file's key-value metadata
//! under [`COLUMNS_KEY`]. The crate `host` decides what is measured.

use bytes::Bytes;
use parquet::{
    basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType},
    column::reader::ColumnReader,
    column::writer::ColumnWriter,
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::WriterProperties,
        reader::{FileReader, RowGroupReader, SerializedFileReader},
        writer::SerializedFileWriter,
    },
    schema::types::Type,
};
use serde::{Deserialize, Serialize};
use std::{panic, sync::Arc};
use thiserror::Error;

/// Name of the column of wall-clock times: milliseconds since 1970, UTC.
pub const TIME_COLUMN: &str = "time";
/// Name of the column of monotonic times: seconds from the start of the trial. Clock steps do not affect it.
pub const SECONDS_COLUMN: &str = "t_s";
/// Key of the file's metadata with name, unit and help of each column as JSON.
pub const COLUMNS_KEY: &str = "showdown.columns";

/// Largest number of values, of all columns together. Nulls take no room in a file, and as much as numbers in memory: 16 bytes each.
const MAX_VALUES: u64 = 50_000_000;

/// Maximum number of rows: eleven days at 1 Hz. A file with more is refused.
const MAX_ROWS: i64 = 1_000_000;

/// Number of columns of times before the measures.
const TIME_COLUMNS: usize = 2;

/// Why telemetry cannot be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// A column has another length than the table.
    #[error("column {column} has {values} values for {rows} rows")]
    UnequalLengths {
        /// The column.
        column: String,
        /// Its length.
        values: usize,
        /// The length of the table.
        rows: usize,
    },
    /// The file is Parquet, but not telemetry of showdown.
    #[error("not telemetry of showdown: {0}")]
    Foreign(&'static str),
    /// The file is damaged.
    #[error("damaged: restore it from an export of the run, or continue without it")]
    Damaged,
    /// The Parquet library refused the file.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
}

/// A table over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Telemetry {
    /// Unix time of each row, milliseconds.
    pub unix_ms: Vec<i64>,
    /// Seconds from the start of the trial to each row, on the monotonic clock.
    pub t_s: Vec<f64>,
    /// The measures, each with one value per row.
    pub columns: Vec<Column>,
}

/// One measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name, unit and description.
    pub info: ColumnInfo,
    /// One value per row; `None` where it is missing.
    pub values: Vec<Option<f64>>,
}

/// The description of a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnInfo {
    /// Its name, unique, with dots from general to specific: `cpu.0.softirq`.
    pub name: String,
    /// The unit, such as `share`, `bytes/s` or `1/s`.
    pub unit: String,
    /// What it measures and where the value comes from, in a sentence.
    pub help: String,
}

impl Telemetry {
    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.info.name == name)
    }

    /// The table as a Parquet file.
    pub fn to_parquet(&self) -> Result<Vec<u8>, TelemetryError> {
        let rows = self.unix_ms.len();
        let measures = self.columns.iter().map(|column| (column.info.name.as_str(), column.values.len()));
        let lengths = std::iter::once((SECONDS_COLUMN, self.t_s.len())).chain(measures);
        if let Some((name, values)) = lengths.into_iter().find(|(_, length)| *length != rows) {
            return Err(TelemetryError::UnequalLengths { column: name.to_owned(), values, rows });
        }
        Ok(self.encode()?)
    }

    fn encode(&self) -> Result<Vec<u8>, ParquetError> {
        let infos: Vec<&ColumnInfo> = self.columns.iter().map(|column| &column.info).collect();
        let infos = serde_json::to_string(&infos).map_err(|error| ParquetError::External(error.into()))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by("showdown".to_owned())
            .set_key_value_metadata(Some(vec![KeyValue::new(COLUMNS_KEY.to_owned(), infos)]))
            .build();
        let mut bytes = Vec::new();
        let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(self.schema()?), Arc::new(properties))?;
        let mut rows = file.next_row_group()?;
        let mut place = 0;
        while let Some(mut column) = rows.next_column()? {
            match (column.untyped(), place) {
                (ColumnWriter::Int64ColumnWriter(writer), _) => {
                    writer.write_batch(&self.unix_ms, None, None)?
                }
                (ColumnWriter::DoubleColumnWriter(writer), 1) => writer.write_batch(&self.t_s, None, None)?,
                (ColumnWriter::DoubleColumnWriter(writer), _) => {
                    let values = &self.columns[place - TIME_COLUMNS].values;
                    let present: Vec<f64> = values.iter().copied().flatten().collect();
                    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
                    writer.write_batch(&present, Some(&levels), None)?
                }
                _ => unreachable!("the schema has no other types"),
            };
            column.close()?;
            place += 1;
        }
        rows.close()?;
        file.close()?;
        Ok(bytes)
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let time = Type::primitive_type_builder(TIME_COLUMN, PhysicalType::INT64)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::timestamp(true, TimeUnit::MILLIS)))
            .build()?;
        let seconds = Type::primitive_type_builder(SECONDS_COLUMN, PhysicalType::DOUBLE)
            .with_repetition(Repetition::REQUIRED)
            .build()?;
        let numbers = self.columns.iter().map(|column| {
            Type::primitive_type_builder(&column.info.name, PhysicalType::DOUBLE)
                .with_repetition(Repetition::OPTIONAL)
                .build()
        });
        let fields = [Ok(time), Ok(seconds)].into_iter().chain(numbers).map(|field| field.map(Arc::new));
        Type::group_type_builder("telemetry").with_fields(fields.collect::<Result<_, _>>()?).build()
    }

    /// Reads a file that [`Telemetry::to_parquet`] made.
    pub fn from_parquet(bytes: impl Into<Bytes>) -> Result<Self, TelemetryError> {
        let bytes = bytes.into();
        // The parquet crate panics on some damaged files. A report must still be written.
        panic::catch_unwind(|| decode(bytes)).unwrap_or(Err(TelemetryError::Damaged))
    }
}

fn decode(bytes: Bytes) -> Result<Telemetry, TelemetryError> {
    let file = SerializedFileReader::new(bytes)?;
    let metadata = file.metadata().file_metadata();
    if !(0..=MAX_ROWS).contains(&metadata.num_rows()) {
        return Err(TelemetryError::Foreign("it has too many rows"));
    }
    let infos: Vec<ColumnInfo> = metadata
        .key_value_metadata()
        .and_then(|pairs| pairs.iter().find(|pair| pair.key == COLUMNS_KEY)?.value.as_deref())
        .and_then(|json| serde_json::from_str(json).ok())
        .ok_or(TelemetryError::Foreign("its metadata does not describe the columns"))?;
    if metadata.num_rows().unsigned_abs().saturating_mul(infos.len() as u64) > MAX_VALUES {
        return Err(TelemetryError::Foreign("it has too many values"));
    }
    let names = metadata.schema_descr().columns().iter().map(|column| column.name());
    let clocks = [TIME_COLUMN, SECONDS_COLUMN].into_iter();
    if !names.eq(clocks.chain(infos.iter().map(|info| info.name.as_str()))) {
        return Err(TelemetryError::Foreign("its columns differ from its metadata"));
    }
    let columns = infos.into_iter().map(|info| Column { info, values: Vec::new() }).collect();
    let mut telemetry = Telemetry { columns, ..Telemetry::default() };
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
        if telemetry.unix_ms.len().saturating_add(rows) > MAX_ROWS as usize {
            return Err(TelemetryError::Foreign("it has too many rows"));
        }
        telemetry.unix_ms.extend(wall_times(&*group, rows)?);
        telemetry.t_s.extend(numbers(&*group, 1, rows)?.into_iter().map(|value| value.unwrap_or(f64::NAN)));
        for (place, column) in telemetry.columns.iter_mut().enumerate() {
            column.values.extend(numbers(&*group, place + TIME_COLUMNS, rows)?);
        }
    }
    Ok(telemetry)
}

fn wall_times(group: &dyn RowGroupReader, rows: usize) -> Result<Vec<i64>, ParquetError> {
    let ColumnReader::Int64ColumnReader(mut reader) = group.get_column_reader(0)? else {
        return Err(ParquetError::General("its times are not 64-bit integers".to_owned()));
    };
    let mut times = Vec::new();
    let (_, read, _) = reader.read_records(rows, None, None, &mut times)?;
    if read == rows { Ok(times) } else { Err(ParquetError::EOF("its times end early".to_owned())) }
}

fn numbers(group: &dyn RowGroupReader, place: usize, rows: usize) -> Result<Vec<Option<f64>>, ParquetError> {
    let ColumnReader::DoubleColumnReader(mut reader) = group.get_column_reader(place)? else {
        return Err(ParquetError::General(format!("its column {place} is not of doubles")));
    };
    let (mut levels, mut present) = (Vec::new(), Vec::new());
    let (_, read, _) = reader.read_records(rows, Some(&mut levels), None, &mut present)?;
    // A column without missing values has no levels.
    levels.resize(levels.len().max(read), 1);
    if levels.len() != rows {
        return Err(ParquetError::EOF(format!("its column {place} ends early")));
    }
    let mut present = present.into_iter();
    Ok(levels.iter().map(|level| if *level == 0 { None } else { present.next() }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(values: Vec<(i64, Option<f64>)>) -> Telemetry {
        let info = |name: &str| ColumnInfo {
            name: name.to_owned(),
            unit: "share".to_owned(),
            help: "Share of the second spent in user mode.".to_owned(),
        };
        let (unix_ms, values): (Vec<_>, Vec<_>) = values.into_iter().unzip();
        Telemetry {
            columns: vec![
                Column { info: info("cpu.0.user"), values: values.clone() },
                Column { info: info("cpu.1.user"), values: vec![None; values.len()] },
            ],
            t_s: unix_ms.iter().map(|ms: &i64| *ms as f64 / 1e3).collect(),
            unix_ms,
        }
    }

    proptest! {
        #[test]
        fn a_table_reads_back_unchanged(
            rows in prop::collection::vec((any::<i64>(), prop::option::of(-1e300..1e300_f64)), 0..50),
        ) {
            let table = table(rows);
            prop_assert_eq!(Telemetry::from_parquet(table.to_parquet().unwrap()).unwrap(), table);
        }

        #[test]
        fn changed_or_missing_bytes_never_panic(
            at in 0.0..1.0_f64, byte: u8, keep in 0.0..1.0_f64, cut: bool,
        ) {
            let mut bytes = table((0..20).map(|i| (i, Some(i as f64))).collect()).to_parquet().unwrap();
            let place = (at * bytes.len() as f64) as usize;
            bytes[place] = byte;
            if cut {
                bytes.truncate((keep * bytes.len() as f64) as usize);
            }
            // Some bytes have no effect. The test is that no byte panics or enlarges the table.
            if let Ok(read) = Telemetry::from_parquet(bytes) {
                prop_assert!(read.unix_ms.len() <= MAX_ROWS as usize);
            }
        }
    }

    #[test]
    fn a_column_of_another_length_is_refused_by_name() {
        let mut table = table(vec![(0, Some(1.0))]);
        table.columns[1].values.clear();
        let message = table.to_parquet().unwrap_err().to_string();
        assert_eq!(message, "column cpu.1.user has 0 values for 1 rows");
    }

    #[test]
    fn a_file_that_is_not_telemetry_is_refused() {
        assert!(Telemetry::from_parquet(&b"PAR1 nothing"[..]).is_err());
    }
}
