use super::text;
use sqlx::Arguments;
use sqlx::postgres::PgArguments;
use sqlx::sqlite::SqliteArguments;
use uuid::Uuid;

/// What is put in place of a `$n`.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Int(Option<i64>),
    Bool(bool),
    Text(Option<String>),
    Uuid(Option<Uuid>),
    Bytes(Vec<u8>),
}

impl Value {
    pub(crate) fn sqlite(values: Vec<Self>) -> Result<SqliteArguments, sqlx::Error> {
        let mut args = SqliteArguments::default();
        args.reserve(values.len(), 0);
        for value in values {
            match value {
                Self::Int(v) => args.add(v),
                Self::Bool(v) => args.add(v),
                Self::Text(v) => args.add(v.map(text::encode)),
                Self::Uuid(v) => args.add(v),
                Self::Bytes(v) => args.add(v),
            }
            .map_err(sqlx::Error::Encode)?;
        }
        Ok(args)
    }

    pub(crate) fn postgres(values: Vec<Self>) -> Result<PgArguments, sqlx::Error> {
        let mut args = PgArguments::default();
        args.reserve(values.len(), values.len() * 16);
        for value in values {
            match value {
                Self::Int(v) => args.add(v),
                Self::Bool(v) => args.add(v),
                Self::Text(v) => args.add(v.map(text::encode)),
                Self::Uuid(v) => args.add(v),
                Self::Bytes(v) => args.add(v),
            }
            .map_err(sqlx::Error::Encode)?;
        }
        Ok(args)
    }
}

/// As a database holds it: what is beyond 63 bits was refused before it came here.
fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

macro_rules! from {
    ($($from:ty: $v:ident => $value:expr;)*) => {
        $(impl From<$from> for Value {
            fn from($v: $from) -> Self { $value }
        })*
    };
}

from! {
    i64: v => Self::Int(Some(v));
    u64: v => Self::Int(Some(int(v)));
    u32: v => Self::Int(Some(v.into()));
    Option<u64>: v => Self::Int(v.map(int));
    bool: v => Self::Bool(v);
    String: v => Self::Text(Some(v));
    &str: v => Self::Text(Some(v.to_owned()));
    &String: v => Self::Text(Some(v.clone()));
    Option<String>: v => Self::Text(v);
    Option<&str>: v => Self::Text(v.map(str::to_owned));
    &Option<String>: v => Self::Text(v.clone());
    Uuid: v => Self::Uuid(Some(v));
    Option<Uuid>: v => Self::Uuid(v);
    &[u8; 32]: v => Self::Bytes(v.to_vec());
    bir_model::RunId: v => Self::Uuid(Some(v.uuid()));
    bir_model::StepId: v => Self::Uuid(Some(v.uuid()));
    bir_model::TenantId: v => Self::Uuid(Some(v.uuid()));
    bir_model::UserId: v => Self::Uuid(Some(v.uuid()));
    bir_model::TokenId: v => Self::Uuid(Some(v.uuid()));
    bir_model::ScenarioId: v => Self::Uuid(Some(v.uuid()));
    bir_model::EditId: v => Self::Uuid(Some(v.uuid()));
    bir_model::TicketId: v => Self::Uuid(Some(v.uuid()));
    Option<bir_model::RunId>: v => Self::Uuid(v.map(bir_model::RunId::uuid));
    Option<bir_model::EditId>: v => Self::Uuid(v.map(bir_model::EditId::uuid));
    Option<i64>: v => Self::Int(v);
    Option<u32>: v => Self::Int(v.map(i64::from));
}

/// `values![a, b, c]`: a list of [`Value`]s.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::sql::Value::from($value)),*] };
}
pub(crate) use values;
