use super::text;
use crate::StoreError;
use sqlx::postgres::{PgRow, Postgres};
use sqlx::sqlite::{Sqlite, SqliteRow};
use sqlx::{Decode, Row as _, Type};
use uuid::Uuid;

/// What a query gave; columns by their positions.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    fn get<T>(&self, at: usize) -> Result<T, StoreError>
    where
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        match self {
            Self::Sqlite(row) => Ok(row.try_get(at)?),
            Self::Postgres(row) => Ok(row.try_get(at)?),
        }
    }

    pub(crate) fn int(&self, at: usize) -> Result<i64, StoreError> {
        self.get(at)
    }

    /// A count, a time: what was a `u64` when it was written.
    pub(crate) fn number(&self, at: usize) -> Result<u64, StoreError> {
        Ok(u64::try_from(self.int(at)?).unwrap_or(0))
    }

    pub(crate) fn number32(&self, at: usize) -> Result<u32, StoreError> {
        Ok(u32::try_from(self.int(at)?).unwrap_or(u32::MAX))
    }

    pub(crate) fn opt_number(&self, at: usize) -> Result<Option<u64>, StoreError> {
        Ok(self.get::<Option<i64>>(at)?.and_then(|v| u64::try_from(v).ok()))
    }

    pub(crate) fn bool(&self, at: usize) -> Result<bool, StoreError> {
        self.get(at)
    }

    pub(crate) fn text(&self, at: usize) -> Result<String, StoreError> {
        Ok(text::decode(self.get(at)?))
    }

    pub(crate) fn opt_text(&self, at: usize) -> Result<Option<String>, StoreError> {
        Ok(self.get::<Option<String>>(at)?.map(text::decode))
    }

    pub(crate) fn uuid(&self, at: usize) -> Result<Uuid, StoreError> {
        self.get(at)
    }

    pub(crate) fn opt_uuid(&self, at: usize) -> Result<Option<Uuid>, StoreError> {
        self.get(at)
    }

    /// A value that has a name, an enum's.
    pub(crate) fn named<T: serde::de::DeserializeOwned>(&self, at: usize) -> Result<T, StoreError> {
        named(&self.text(at)?)
    }

    pub(crate) fn opt_named<T: serde::de::DeserializeOwned>(
        &self,
        at: usize,
    ) -> Result<Option<T>, StoreError> {
        self.opt_text(at)?.map(|name| named(&name)).transpose()
    }

    /// JSON that we wrote ourselves.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, at: usize) -> Result<Option<T>, StoreError> {
        let read = |text: String| serde_json::from_str(&text);
        let read = self.opt_text(at)?.map(read).transpose();
        read.map_err(|e| StoreError::Failed(format!("a stored value is no longer understood: {e}")))
    }
}

fn named<T: serde::de::DeserializeOwned>(name: &str) -> Result<T, StoreError> {
    use serde::de::IntoDeserializer as _;
    use serde::de::value::{Error, StrDeserializer};
    let name: StrDeserializer<'_, Error> = name.into_deserializer();
    T::deserialize(name)
        .map_err(|e| StoreError::Failed(format!("a stored name is no longer understood: {e}")))
}

/// A value's name, an enum's.
pub(crate) fn name_of<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}
