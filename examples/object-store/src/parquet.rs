//! Reads one column of an encrypted Parquet file, and counts the bytes that this takes.
//!
//!     cargo run --manifest-path examples/object-store/Cargo.toml

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, Float64Array, RecordBatch, UInt64Array};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryFutureExt, TryStreamExt};
use object_store::buffered::BufWriter;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};
use palladion_file::MasterKey;
use palladion_object_store::EncryptedStore;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::{
    AsyncFileReader, MetadataSuffixFetch, ParquetRecordBatchStreamBuilder,
};
use parquet::arrow::async_writer::AsyncArrowWriter;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;

// Writes down the requests.
#[path = "../../../crates/palladion-object-store/tests/spy.rs"]
#[allow(dead_code)]
mod spy;
use spy::Spy;

const ROWS: u64 = 2_000_000;
const ROWS_IN_GROUP: u64 = 250_000;
const GROUP: u64 = 5;

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    // In place of `InMemory`: `AmazonS3Builder::from_env().with_bucket_name("…").build()?`
    let spy = Spy::new(Arc::new(InMemory::new()));
    let log = spy.log.clone();
    let store: Arc<dyn ObjectStore> = Arc::new(EncryptedStore::new(spy, MasterKey::generate()?));
    let path = Path::from("measurements.parquet");

    let id = UInt64Array::from_iter_values(0..ROWS);
    let value = Float64Array::from_iter_values((0..ROWS).map(|row| (row as f64).sin()));
    let columns: [(_, Arc<dyn Array>); 2] = [("id", Arc::new(id)), ("value", Arc::new(value))];
    let table = RecordBatch::try_from_iter(columns)?;
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(ROWS_IN_GROUP as usize))
        .set_dictionary_enabled(false)
        .build();
    let file = BufWriter::new(store.clone(), path.clone());
    let mut writer = AsyncArrowWriter::try_new(file, table.schema(), Some(properties))?;
    writer.write(&table).await?;
    writer.close().await?;
    println!("the file:    {} bytes", store.head(&path).await?.size);
    log.take_gets();

    let builder = ParquetRecordBatchStreamBuilder::new(Reader { store, path }).await?;
    let column = ProjectionMask::columns(builder.parquet_schema(), ["id"]);
    let wanted = builder.metadata().row_group(GROUP as usize).column(0).compressed_size();
    let rows = builder.with_projection(column).with_row_groups(vec![GROUP as usize]).build()?;
    let rows: Vec<_> = rows.try_collect().await?;
    let ids = rows.iter().flat_map(|rows| {
        let ids = rows.column(0).as_any().downcast_ref::<UInt64Array>();
        ids.expect("a column of numbers").values().iter().copied()
    });
    assert!(ids.eq(GROUP * ROWS_IN_GROUP..(GROUP + 1) * ROWS_IN_GROUP));

    println!("the column:  {wanted} bytes");
    let gets = log.take_gets();
    let bytes = |range: &Range<u64>| range.end - range.start;
    for range in &gets {
        println!("fetched:     {} bytes from {}", bytes(range), range.start);
    }
    let fetched: u64 = gets.iter().map(bytes).sum();
    println!("in all:      {fetched} bytes");
    // The header, the end of the file, the column, and a part of a chunk at each end of these.
    assert!(gets.len() <= 5 && fetched < wanted as u64 + 300_000);
    Ok(())
}

/// A Parquet file in a store, as in the documentation of [`AsyncFileReader`].
#[derive(Clone)]
struct Reader {
    store: Arc<dyn ObjectStore>,
    path: Path,
}

fn error(error: object_store::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

impl AsyncFileReader for Reader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, Result<Bytes>> {
        self.store.get_range(&self.path, range).map_err(error).boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        async move { self.store.get_ranges(&self.path, &ranges).await.map_err(error) }.boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, Result<Arc<ParquetMetaData>>> {
        async move {
            // From the end of the file. So the reader need not be told the size, which would not
            // be authentic if it came from `list` or `head`.
            let reader = ParquetMetaDataReader::new().with_arrow_reader_options(options);
            reader.load_via_suffix_and_finish(self).await.map(Arc::new)
        }
        .boxed()
    }
}

impl MetadataSuffixFetch for &mut Reader {
    fn fetch_suffix(&mut self, suffix: usize) -> BoxFuture<'_, Result<Bytes>> {
        let options = GetOptions::new().with_range(Some(GetRange::Suffix(suffix as u64)));
        async move {
            let result = self.store.get_opts(&self.path, options).await.map_err(error)?;
            result.bytes().await.map_err(error)
        }
        .boxed()
    }
}
