//! What the system lets this process have, whatever a body does: the last line behind the engine's own limits.

use rustix::process::{Resource, Rlimit, setrlimit};

/// Bytes of address space. The engine's own limit is far below; this one holds for what it does not count.
const ADDRESS_SPACE: u64 = 1 << 30;
/// Seconds of the processor in all. A worker that is left alone in one endless native call ends by itself then.
const PROCESSOR: u64 = 120;

/// Sets them. One that cannot be set is not needed for anything else to hold.
pub(crate) fn set() {
    let to = |most| Rlimit { current: Some(most), maximum: Some(most) };
    let _ = setrlimit(Resource::As, to(ADDRESS_SPACE));
    let _ = setrlimit(Resource::Cpu, to(PROCESSOR));
    // No file can be written, and no core of what a body held is left behind.
    let _ = setrlimit(Resource::Fsize, to(0));
    let _ = setrlimit(Resource::Core, to(0));
}
