//! Which database: the embedded one, or PostgreSQL where an address is given.

use std::error::Error;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rowmill_client::notice;
use rowmill_model::Secret;
use rowmill_store::Store;
use rowmill_store_postgres::{Options, PostgresStore};
use rowmill_store_sqlite::{Access, BeforeMigration, DATABASE_FILE, SqliteStore};

use crate::config::StoreArgs;
use crate::secret_key;
use crate::secret_setting::SecretSetting;

pub(crate) async fn open(args: &StoreArgs, access: Access) -> Result<Arc<dyn Store>, Box<dyn Error>> {
    let Some(url) = args.url() else {
        check_not_lost(&args.data_dir)?;
        if access == Access::Visit && is_new(args) {
            notice!(
                "rowmill: {} is new. If a server runs on other data, name its folder with --data-dir",
                args.data_dir.display()
            );
        }
        let before = if args.upgrade_copy { BeforeMigration::Copy } else { BeforeMigration::Nothing };
        return Ok(Arc::new(SqliteStore::open_with(&args.data_dir, access, before)?));
    };
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.expose().starts_with(scheme)) {
        return Err("ROWMILL_DATABASE_URL (--database-url) must start with postgres://".into());
    }
    let options = Options {
        pool_size: usize::try_from(args.database_connections)?,
        statement_timeout: Duration::from_secs(args.database_timeout_seconds.into()),
        ..Options::default()
    };
    Ok(Arc::new(PostgresStore::connect(url.expose(), options).await?))
}

/// Whether the embedded database is still to be made.
pub(crate) fn is_new(args: &StoreArgs) -> bool {
    args.url().is_none() && !args.data_dir.join(DATABASE_FILE).exists()
}

/// Refuses to look for something in a database that does not exist: it is most likely in another folder.
pub(crate) fn check_exists(args: &StoreArgs) -> Result<(), Box<dyn Error>> {
    if is_new(args) {
        check_not_lost(&args.data_dir)?;
        let folder = args.data_dir.display();
        return Err(format!(
            "there is no database in {folder}. Name the server's folder with --data-dir, or its database with \
             ROWMILL_DATABASE_URL. To begin with a new one, run `rowmill serve`"
        )
        .into());
    }
    Ok(())
}

/// Refuses a folder that had a database and has none any more: an empty one in its place would look as if all were lost,
/// and be written to. The database is made before the secret key, so a first start that fails leaves no key alone.
pub(crate) fn check_not_lost(data_dir: &Path) -> Result<(), Box<dyn Error>> {
    let database = data_dir.join(DATABASE_FILE);
    let size = |file: &Path| std::fs::metadata(file).map(|data| data.len());
    let what = match size(&database) {
        Ok(0) => "empty",
        Err(error) if error.kind() == ErrorKind::NotFound => "missing",
        // Opening it says what is the matter.
        Ok(_) | Err(_) => return Ok(()),
    };
    let key = data_dir.join(secret_key::FILE);
    let log = data_dir.join(format!("{DATABASE_FILE}-wal"));
    let left = if key.exists() {
        key
    } else if size(&log).is_ok_and(|bytes| bytes > 0) {
        log
    } else {
        return Ok(());
    };
    Err(format!(
        "{} is {what}, but {} is there, so there was a database. Put it back from a backup with \
         `rowmill restore BACKUP`. To start with a new one, choose another --data-dir, or move that file away. If the data is in PostgreSQL, set ROWMILL_DATABASE_URL",
        database.display(),
        left.display()
    )
    .into())
}

/// Makes the folder for the secret key, which the embedded database makes for itself.
pub(crate) fn make_ready(args: &StoreArgs) -> Result<(), Box<dyn Error>> {
    if args.url().is_none() {
        return Ok(());
    }
    let data_dir = &args.data_dir;
    make_private(data_dir)
        .map_err(|error| format!("cannot use {} as the data folder: {error}", data_dir.display()).into())
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

impl StoreArgs {
    /// Where other processes find the data, too.
    pub(crate) fn url(&self) -> Option<&Secret> {
        let SecretSetting(url) = self.database_url.as_ref()?;
        (!url.expose().trim().is_empty()).then_some(url)
    }

    /// The kind of database, as metrics name it.
    pub(crate) fn kind(&self) -> &'static str {
        if self.url().is_some() { "postgres" } else { "sqlite" }
    }

    /// Where data is, for people: an address may hold a password and is not shown.
    pub(crate) fn place(&self) -> String {
        match self.url() {
            Some(_) => "PostgreSQL".to_owned(),
            None => self.data_dir.display().to_string(),
        }
    }
}
