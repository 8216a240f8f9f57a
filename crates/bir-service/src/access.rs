//! Who may do what: one table, and nothing else decides.
//!
//! | action | member | admin | auditor | operator |
//! |---|---|---|---|---|
//! | record, import | own | own | – | – |
//! | read runs, export | own | tenant | tenant | – |
//! | delete runs | own | tenant | – | – |
//! | scenarios: read, change, match and execute | own | own | – | – |
//! | own account, sign a browser in | own | own | own | own |
//! | tokens | own | tenant | own | own |
//! | see people | – | tenant | tenant | – |
//! | change people | – | tenant | – | – |
//! | metrics | – | tenant | – | tenant |
//!
//! A scope narrows what a token may: `record` records, matches and tells what was executed (and says whose it is), `api` is
//! everything that the role may.

use bir_store::model::Role;

/// Something that is done to the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Append to runs.
    Record,
    /// Append what an export gave.
    Import,
    /// Look at runs.
    ReadRuns,
    /// Delete runs.
    DeleteRuns,
    /// Look at scenarios.
    ReadScenarios,
    /// Calculate, edit, approve and delete scenarios.
    ChangeScenarios,
    /// Ask what a prompt matches, with which parameters; tell what was executed.
    Execute,
    /// Ask who one is.
    Me,
    /// Sign a browser or a device in, and out.
    SignIn,
    /// List, make and revoke tokens.
    Tokens,
    /// List people.
    ReadPeople,
    /// Add, change and delete people.
    ManagePeople,
    /// Read the service's metrics.
    ReadMetrics,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Record,
        Self::Import,
        Self::ReadRuns,
        Self::DeleteRuns,
        Self::ReadScenarios,
        Self::ChangeScenarios,
        Self::Execute,
        Self::Me,
        Self::SignIn,
        Self::Tokens,
        Self::ReadPeople,
        Self::ManagePeople,
        Self::ReadMetrics,
    ];
}

/// How far an action reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Not allowed.
    No,
    /// What is one's own.
    Own,
    /// Everything in the tenant.
    Tenant,
}

/// The roles, in the order of the table's columns.
pub const ROLES: [Role; 4] = [Role::Member, Role::Admin, Role::Auditor, Role::Operator];

/// The table: an action, then member, admin, auditor, operator.
pub const MATRIX: [(Action, [Reach; 4]); 13] = {
    use Reach::{No, Own, Tenant};
    [
        (Action::Record, [Own, Own, No, No]),
        (Action::Import, [Own, Own, No, No]),
        (Action::ReadRuns, [Own, Tenant, Tenant, No]),
        (Action::DeleteRuns, [Own, Tenant, No, No]),
        (Action::ReadScenarios, [Own, Own, No, No]),
        (Action::ChangeScenarios, [Own, Own, No, No]),
        (Action::Execute, [Own, Own, No, No]),
        (Action::Me, [Own, Own, Own, Own]),
        (Action::SignIn, [Own, Own, Own, Own]),
        (Action::Tokens, [Own, Tenant, Own, Own]),
        (Action::ReadPeople, [No, Tenant, Tenant, No]),
        (Action::ManagePeople, [No, Tenant, No, No]),
        (Action::ReadMetrics, [No, Tenant, No, Tenant]),
    ]
};

/// How far a role reaches with an action.
#[must_use]
pub fn reach(role: Role, action: Action) -> Reach {
    let column = ROLES.iter().position(|r| *r == role);
    let row = MATRIX.iter().find(|(a, _)| *a == action);
    match (row, column) {
        (Some((_, cells)), Some(column)) => cells[column],
        _ => Reach::No,
    }
}

/// What a token may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Append only.
    Record,
    /// Everything the role may.
    Api,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Record, Self::Api];

    /// As it stands in a token's list.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Api => "api",
        }
    }

    /// Whether it covers the action.
    #[must_use]
    pub fn covers(self, action: Action) -> bool {
        match self {
            Self::Api => true,
            Self::Record => matches!(action, Action::Record | Action::Execute | Action::Me),
        }
    }
}

/// Whether one of the scopes, as they stand in a token, covers the action.
#[must_use]
pub fn covered(scopes: &[String], action: Action) -> bool {
    Scope::ALL.iter().any(|s| s.covers(action) && scopes.iter().any(|have| have == s.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_has_one_row_and_every_cell_is_what_the_documentation_says() {
        let mut rows = String::new();
        for action in Action::ALL {
            assert_eq!(MATRIX.iter().filter(|(a, _)| *a == action).count(), 1, "{action:?}");
            let cells = ROLES.map(|role| format!("{:?}", reach(role, action)));
            rows.push_str(&format!("{action:?}: {}\n", cells.join(" ")));
        }
        let said = "\
Record: Own Own No No
Import: Own Own No No
ReadRuns: Own Tenant Tenant No
DeleteRuns: Own Tenant No No
ReadScenarios: Own Own No No
ChangeScenarios: Own Own No No
Execute: Own Own No No
Me: Own Own Own Own
SignIn: Own Own Own Own
Tokens: Own Tenant Own Own
ReadPeople: No Tenant Tenant No
ManagePeople: No Tenant No No
ReadMetrics: No Tenant No Tenant
";
        println!("{rows}");
        assert_eq!(rows, said);
    }

    #[test]
    fn a_recording_token_records_executes_and_says_whose_it_is() {
        for action in Action::ALL {
            let may = covered(&["record".into()], action);
            assert_eq!(may, matches!(action, Action::Record | Action::Execute | Action::Me), "{action:?}");
            assert!(covered(&["api".into()], action));
            assert!(!covered(&[], action) && !covered(&["API".into(), "machine-ctl".into()], action));
        }
    }
}
