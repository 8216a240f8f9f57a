//! Opening a store, and bringing one forward.

use crate::args::Migrate;
use crate::config::store_of;
use crate::fault::Fault;
use bir_store::{Options, Store};
use std::path::Path;
use std::sync::Arc;

fn is_postgres(address: &str) -> bool {
    address.starts_with("postgres://") || address.starts_with("postgresql://")
}

/// Opens the store of an address.
///
/// Every commit waits for the disk: whoever ships deletes its own copy once the hub has acknowledged, so what a power failure
/// takes from the store would be nowhere any more. Batches make the wait cheap.
pub(crate) async fn open(address: &str) -> Result<Arc<dyn Store>, Fault> {
    let options = Options { durable: true, ..Options::default() };
    Ok(bir_store::open(address, options).await?)
}

/// Opens a store that is there; a file of SQLite is not made.
pub(crate) async fn open_existing(address: &str) -> Result<Arc<dyn Store>, Fault> {
    if let Some(file) = file(address).filter(|file| !file.exists()) {
        return Err(Fault::new(format!(
            "there is no store at {}; check the path, or make one with `bir-hub migrate --store {address}`",
            file.display()
        )));
    }
    open(address).await
}

/// The file of an SQLite store.
fn file(address: &str) -> Option<&Path> {
    let path = address.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    Some(Path::new(path)).filter(|_| !path.is_empty() && path != ":memory:")
}

/// `bir-hub migrate`.
pub(crate) async fn migrate(args: &Migrate) -> Result<(), Fault> {
    let address = store_of(args.store.clone())?;
    if !is_postgres(&address) {
        // An SQLite file is brought forward by whoever opens it.
        open(&address).await?.close().await;
        return Ok(());
    }
    let Some(role) = &args.app_role else {
        return Err(Fault::usage(
            "which role serves? name it with --app-role; it gets what the hub needs and nothing else",
        ));
    };
    Ok(bir_store::migrate(&address, role).await?)
}
