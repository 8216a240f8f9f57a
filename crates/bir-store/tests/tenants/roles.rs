//! A role with which row-level security would be no barrier is refused at the start, whatever it is that makes it so.

use crate::common::Database;
use bir_store::{Options, StoreError};

/// What is done to the role (as superuser), what is said about it, and how it is taken back.
const FAULTS: [(&str, &str, &str); 12] = [
    ("ALTER ROLE {app} SUPERUSER", "is a superuser", "ALTER ROLE {app} NOSUPERUSER"),
    ("ALTER ROLE {app} BYPASSRLS", "has BYPASSRLS", "ALTER ROLE {app} NOBYPASSRLS"),
    ("ALTER ROLE {app} CREATEROLE", "has CREATEROLE", "ALTER ROLE {app} NOCREATEROLE"),
    (
        "CREATE ROLE {app}_other; GRANT {app}_other TO {app}; ALTER ROLE {app} SET role = '{app}_other'",
        "acts as another role",
        "ALTER ROLE {app} RESET role; DROP ROLE {app}_other",
    ),
    (
        "ALTER TABLE bir.losses OWNER TO {app}",
        "owns the hub's schema, a table",
        "ALTER TABLE bir.losses OWNER TO {owner}",
    ),
    ("ALTER SCHEMA bir OWNER TO {app}", "owns the hub's schema", "ALTER SCHEMA bir OWNER TO {owner}"),
    (
        "ALTER FUNCTION bir.tenant_list() OWNER TO {app}",
        "owns the hub's schema",
        "ALTER FUNCTION bir.tenant_list() OWNER TO {owner}",
    ),
    ("GRANT {owner} TO {app}", "is a member of the role that owns", "REVOKE {owner} FROM {app}"),
    (
        "CREATE ROLE {app}_mighty BYPASSRLS; GRANT {app}_mighty TO {app}",
        "is a member of a role that is a superuser, has BYPASSRLS",
        "DROP ROLE {app}_mighty",
    ),
    ("GRANT TRUNCATE ON bir.steps TO {app}", "may TRUNCATE", "REVOKE TRUNCATE ON bir.steps FROM {app}"),
    ("GRANT TRUNCATE ON bir.steps TO PUBLIC", "may TRUNCATE", "REVOKE TRUNCATE ON bir.steps FROM PUBLIC"),
    ("GRANT TRIGGER ON bir.steps TO {app}", "TRIGGER", "REVOKE TRIGGER ON bir.steps FROM {app}"),
];

#[tokio::test]
async fn a_role_that_could_step_around_the_policies_is_refused() {
    let Some(mut database) = Database::new("bir-store: the check of the role").await else { return };
    let refused = bir_store::open(&database.owner_url, Options::default()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Role { .. }), "{refused}");
    for (fault, said, back) in FAULTS {
        database.as_admin(fault).await;
        let refused = bir_store::open(&database.app_url, Options::default()).await.unwrap_err();
        assert!(matches!(refused, StoreError::Role { .. }), "{fault}: {refused}");
        let message = refused.to_string();
        assert!(message.contains(said) && message.contains(&database.app), "{fault}: {message}");
        assert!(message.contains("bir-hub migrate"), "it says what to do: {message}");
        database.as_admin(back).await;
        // A change of ownership takes grants along; the owner gives them again.
        bir_store::migrate(&database.owner_url, &database.app).await.unwrap();
        bir_store::open(&database.app_url, Options::default()).await.unwrap().close().await;
    }
    database.end().await;
}

#[tokio::test]
async fn a_schema_without_its_barrier_is_refused() {
    let Some(mut database) = Database::new("bir-store: the check of the schema").await else { return };
    for (fault, back) in [
        (
            "ALTER TABLE bir.steps NO FORCE ROW LEVEL SECURITY",
            "ALTER TABLE bir.steps FORCE ROW LEVEL SECURITY",
        ),
        (
            "ALTER TABLE bir.steps DISABLE ROW LEVEL SECURITY",
            "ALTER TABLE bir.steps ENABLE ROW LEVEL SECURITY",
        ),
    ] {
        database.as_admin(fault).await;
        let refused = bir_store::open(&database.app_url, Options::default()).await.unwrap_err().to_string();
        assert!(refused.contains("`steps`") && refused.contains("row-level security"), "{fault}: {refused}");
        database.as_admin(back).await;
    }
    bir_store::open(&database.app_url, Options::default()).await.unwrap().close().await;
    // Who may not even look is told what is missing.
    database.as_admin("REVOKE USAGE ON SCHEMA bir FROM {app}").await;
    let refused = bir_store::open(&database.app_url, Options::default()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Role { .. }), "{refused}");
    database.end().await;
}

#[tokio::test]
async fn migrating_for_a_wrong_role_is_refused() {
    let Some(database) = Database::empty("bir-store: migrating for a wrong role").await else { return };
    for role in [&*database.owner, "nobody_has_this_name"] {
        let refused = bir_store::migrate(&database.owner_url, role).await.unwrap_err();
        assert!(matches!(refused, StoreError::Role { .. }), "{role}: {refused}");
    }
    let early = bir_store::open(&database.app_url, Options::default()).await.unwrap_err();
    assert!(matches!(early, StoreError::Older { found: 0, .. }), "nothing was made: {early}");
    let wrong = bir_store::migrate("sqlite:hub.db", &database.app).await.unwrap_err().to_string();
    assert!(wrong.contains("PostgreSQL"), "{wrong}");
    database.end().await;
}
