//! The JSON grammar, as a machine that can stop after any byte.
//!
//! It runs in two modes with one body: *tracked* inside the few containers whose keys matter, where each token is told
//! to the [`Tracker`], and *skimming* everywhere else, where nothing but the grammar is looked at. The compiler makes
//! two loops of it.
//!
//! ```text
//!   Start ─► Value ─► After ─►, Key | Value      Done: only white space may follow
//!             │ ▲       └─────►} ] (leave) ─► After | Done
//!      { [ ───┘ └── Colon ◄── Key
//! ```
//!
//! A fault is remembered, the first one counts, and the rest of the message is only counted.

use crate::envelope::ValueKind;
use crate::nest::{Nest, Spill};
use crate::scanner::{Fault, FaultKind};
use crate::strings::{self, Sequence, Stop};
use crate::track::Tracker;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing but white space yet, and a byte order mark may still come.
    Start,
    /// Inside a byte order mark, which has three bytes.
    Mark,
    /// A value must come.
    Value,
    /// After `[`: a value or the end.
    First,
    /// After `{`: a key or the end.
    FirstKey,
    /// After a comma in an object: a key.
    Key,
    Colon,
    /// After a value in a container.
    After,
    /// The message's value is complete.
    Done,
    KeyText,
    Text,
    /// After a backslash.
    Escape,
    /// Inside the four digits of `\u`.
    Hex,
    /// Inside a UTF-8 sequence that a chunk boundary cut.
    Sequence,
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
    /// Inside `true`, `false` or `null`.
    Literal,
}

/// A literal in progress.
#[derive(Clone, Copy, Debug)]
struct Word {
    text: &'static [u8],
    /// How many bytes have come.
    read: usize,
}

impl Word {
    fn kind(self) -> ValueKind {
        if self.text == b"null" { ValueKind::Null } else { ValueKind::Bool }
    }
}

pub(crate) struct Machine {
    state: State,
    nest: Nest,
    spill: Spill,
    deepest: u32,
    /// While skimming: the depth at which tracking goes on.
    floor: u32,
    skimming: bool,
    /// Whether the string in progress is a key.
    key: bool,
    hex: u8,
    sequence: Sequence,
    word: Word,
    fault: Option<Fault>,
    /// Bytes of the message before this chunk.
    base: u64,
    pub(crate) tracker: Tracker,
}

const NO_WORD: Word = Word { text: b"", read: 0 };

#[inline(always)]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

impl Machine {
    pub(crate) fn new(deepest: u32, tracker: Tracker) -> Self {
        Self {
            state: State::Start,
            nest: Nest::default(),
            spill: Spill::default(),
            deepest,
            floor: 0,
            skimming: false,
            key: false,
            hex: 0,
            sequence: Sequence::default(),
            word: NO_WORD,
            fault: None,
            base: 0,
            tracker,
        }
    }

    pub(crate) fn reset(&mut self) {
        self.state = State::Start;
        self.nest = Nest::default();
        self.spill.clear();
        self.skimming = false;
        self.fault = None;
        self.base = 0;
        self.tracker.reset();
    }

    /// Bytes that were pushed.
    pub(crate) fn len(&self) -> u64 {
        self.base
    }

    /// The first fault.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Bytes reserved for the nesting and by the tracker.
    pub(crate) fn capacity(&self) -> usize {
        self.spill.capacity() + self.tracker.capacity()
    }

    /// Whether the message held nothing but white space so far.
    pub(crate) fn blank(&self) -> bool {
        self.fault.is_none() && matches!(self.state, State::Start | State::Value) && self.nest.depth == 0
    }

    /// Reads the next bytes of the message.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut i = 0;
        while i < bytes.len() && self.fault.is_none() {
            i = if self.skimming { self.run::<false>(bytes, i) } else { self.run::<true>(bytes, i) };
        }
        if self.fault.is_none() && !self.skimming {
            match self.state {
                State::KeyText => self.tracker.carry_key(bytes),
                State::Escape | State::Hex | State::Sequence if self.key => self.tracker.carry_key(bytes),
                State::Start | State::Mark | State::Value | State::First | State::FirstKey => {}
                State::Key | State::Colon | State::After | State::Done => {}
                _ => self.tracker.carry_scalar(bytes),
            }
        }
        self.base += bytes.len() as u64;
        if self.state != State::Done {
            self.tracker.root_mut().set_end(self.base);
        }
    }

    /// The message ends here. Asking twice gives the same answer.
    pub(crate) fn finish(&mut self) {
        let number =
            matches!(self.state, State::Zero | State::Integer | State::Fraction | State::ExponentDigits);
        if self.fault.is_none() && number && self.nest.depth == 0 {
            self.tracker.end_scalar(&[], 0, self.base, ValueKind::Number);
            self.state = State::Done;
        }
        if self.fault.is_none() && self.state != State::Done && !self.blank() {
            self.fault = Some(Fault { at: self.base, what: FaultKind::Truncated });
        }
        self.tracker.finish();
    }

    #[cold]
    fn fail(&mut self, bytes: &[u8], at: u64, what: FaultKind) -> usize {
        self.fault = Some(Fault { at, what });
        bytes.len()
    }

    /// Reads from byte `i` until the chunk ends, a fault is found, or the mode changes. Returns where it stopped.
    fn run<const TRACKED: bool>(&mut self, bytes: &[u8], mut i: usize) -> usize {
        let base = self.base;
        let at = |i: usize| base + i as u64;
        let mut state = self.state;
        let mut nest = self.nest;

        // Leaves the loop with everything that it kept in registers written back.
        macro_rules! leave {
            ($i:expr) => {{
                self.state = state;
                self.nest = nest;
                return $i;
            }};
        }
        macro_rules! fail {
            ($i:expr, $what:ident) => {{
                self.state = state;
                return self.fail(bytes, at($i), FaultKind::$what);
            }};
        }
        // The next byte that is not white space.
        macro_rules! token {
            () => {
                loop {
                    match bytes.get(i) {
                        None => leave!(i),
                        Some(&byte) if !is_space(byte) => break byte,
                        Some(_) => i += 1,
                    }
                }
            };
        }
        macro_rules! after {
            () => {
                if TRACKED && nest.depth == 0 { State::Done } else { State::After }
            };
        }
        macro_rules! close {
            ($object:expr) => {{
                if nest.in_object() != $object || nest.depth == 0 {
                    fail!(i, Nesting);
                }
                i += 1;
                nest.close(&mut self.spill);
                if TRACKED {
                    self.tracker.close(at(i));
                    state = after!();
                } else {
                    state = State::After;
                    if nest.depth == self.floor {
                        self.skimming = false;
                        self.tracker.skimmed(at(i));
                        leave!(i);
                    }
                }
            }};
        }
        macro_rules! open {
            ($object:expr) => {{
                if nest.depth == self.deepest {
                    fail!(i, Nesting);
                }
                let tracked = TRACKED && self.tracker.open(at(i), $object);
                state = if $object { State::FirstKey } else { State::First };
                i += 1;
                if TRACKED && !tracked {
                    self.skimming = true;
                    self.floor = nest.depth;
                    nest.open($object, &mut self.spill);
                    leave!(i);
                }
                nest.open($object, &mut self.spill);
            }};
        }
        macro_rules! scalar {
            ($kind:expr) => {{
                if TRACKED {
                    self.tracker.end_scalar(bytes, i, at(i), $kind);
                }
                state = after!();
            }};
        }
        macro_rules! begin {
            ($state:expr) => {{
                if TRACKED {
                    self.tracker.begin_scalar(i, at(i));
                }
                i += 1;
                state = $state;
            }};
        }
        macro_rules! word {
            ($text:literal) => {{
                if TRACKED {
                    self.tracker.begin_scalar(i, at(i));
                }
                let word = Word { text: $text, read: 1 };
                if bytes[i..].starts_with($text) {
                    i += $text.len();
                    scalar!(word.kind());
                } else {
                    i += 1;
                    self.word = word;
                    state = State::Literal;
                }
            }};
        }
        // The inside of a string, up to and including its closing quote.
        macro_rules! text {
            ($key:literal) => {
                match strings::read(bytes, i) {
                    Stop::Quote(quote) => {
                        i = quote + 1;
                        if $key {
                            if TRACKED {
                                self.tracker.end_key(bytes, quote);
                            }
                            state = State::Colon;
                        } else {
                            scalar!(ValueKind::String);
                        }
                    }
                    Stop::Backslash(slash) => {
                        i = slash + 1;
                        self.key = $key;
                        state = State::Escape;
                    }
                    Stop::End => leave!(bytes.len()),
                    Stop::Cut(cut) => {
                        self.key = $key;
                        self.sequence = Sequence::cut(&bytes[cut..], at(cut));
                        state = State::Sequence;
                        leave!(bytes.len());
                    }
                    Stop::Bad(bad, what) => return self.fail(bytes, at(bad), what),
                }
            };
        }

        loop {
            match state {
                State::After => match token!() {
                    b',' => {
                        i += 1;
                        state = if nest.in_object() { State::Key } else { State::Value };
                    }
                    b'}' => close!(true),
                    b']' => close!(false),
                    _ => fail!(i, Syntax),
                },
                State::Key | State::FirstKey => match token!() {
                    b'"' => {
                        i += 1;
                        if TRACKED {
                            self.tracker.begin_key(i);
                        }
                        state = State::KeyText;
                    }
                    b'}' if state == State::FirstKey => close!(true),
                    b']' if state == State::FirstKey => fail!(i, Nesting),
                    _ => fail!(i, Syntax),
                },
                State::KeyText => text!(true),
                State::Colon => match token!() {
                    b':' => {
                        i += 1;
                        state = State::Value;
                    }
                    _ => fail!(i, Syntax),
                },
                State::Value | State::First => match token!() {
                    b'"' => begin!(State::Text),
                    b'{' => open!(true),
                    b'[' => open!(false),
                    b'1'..=b'9' => begin!(State::Integer),
                    b'0' => begin!(State::Zero),
                    b'-' => begin!(State::Minus),
                    b't' => word!(b"true"),
                    b'f' => word!(b"false"),
                    b'n' => word!(b"null"),
                    b']' if state == State::First => close!(false),
                    b'}' if state == State::First => fail!(i, Nesting),
                    b'}' | b']' if nest.depth == 0 => fail!(i, Nesting),
                    _ => fail!(i, Syntax),
                },
                State::Text => text!(false),
                State::Integer => {
                    while let Some(b'0'..=b'9') = bytes.get(i) {
                        i += 1;
                    }
                    match bytes.get(i) {
                        None => leave!(i),
                        Some(b'.') => {
                            i += 1;
                            state = State::Point;
                        }
                        Some(b'e' | b'E') => {
                            i += 1;
                            state = State::Exponent;
                        }
                        Some(_) => scalar!(ValueKind::Number),
                    }
                }
                State::Zero => match bytes.get(i) {
                    None => leave!(i),
                    Some(b'.') => {
                        i += 1;
                        state = State::Point;
                    }
                    Some(b'e' | b'E') => {
                        i += 1;
                        state = State::Exponent;
                    }
                    Some(_) => scalar!(ValueKind::Number),
                },
                State::Fraction => {
                    while let Some(b'0'..=b'9') = bytes.get(i) {
                        i += 1;
                    }
                    match bytes.get(i) {
                        None => leave!(i),
                        Some(b'e' | b'E') => {
                            i += 1;
                            state = State::Exponent;
                        }
                        Some(_) => scalar!(ValueKind::Number),
                    }
                }
                State::ExponentDigits => {
                    while let Some(b'0'..=b'9') = bytes.get(i) {
                        i += 1;
                    }
                    if i == bytes.len() {
                        leave!(i);
                    }
                    scalar!(ValueKind::Number);
                }
                State::Minus | State::Point | State::Exponent | State::ExponentSign => {
                    let Some(&byte) = bytes.get(i) else { leave!(i) };
                    state = match (state, byte) {
                        (State::Minus, b'0') => State::Zero,
                        (State::Minus, b'1'..=b'9') => State::Integer,
                        (State::Point, b'0'..=b'9') => State::Fraction,
                        (State::Exponent, b'+' | b'-') => State::ExponentSign,
                        (State::Exponent | State::ExponentSign, b'0'..=b'9') => State::ExponentDigits,
                        _ => fail!(i, Syntax),
                    };
                    i += 1;
                }
                State::Literal => {
                    let word = self.word;
                    match (word.text.get(word.read), bytes.get(i)) {
                        (None, _) => scalar!(word.kind()),
                        (Some(_), None) => leave!(i),
                        (Some(expected), Some(byte)) if expected == byte => {
                            i += 1;
                            self.word.read += 1;
                        }
                        _ => fail!(i, Syntax),
                    }
                }
                State::Escape => {
                    let Some(&byte) = bytes.get(i) else { leave!(i) };
                    state = match byte {
                        letter if strings::is_letter(letter) => self.inside(),
                        b'u' => {
                            self.hex = 0;
                            State::Hex
                        }
                        _ => fail!(i, Syntax),
                    };
                    i += 1;
                }
                State::Hex => {
                    let Some(&byte) = bytes.get(i) else { leave!(i) };
                    if !byte.is_ascii_hexdigit() {
                        fail!(i, Syntax);
                    }
                    i += 1;
                    self.hex += 1;
                    if self.hex == 4 {
                        state = self.inside();
                    }
                }
                State::Sequence => {
                    let Some(&byte) = bytes.get(i) else { leave!(i) };
                    match self.sequence.take(byte) {
                        None => return self.fail(bytes, self.sequence.start, FaultKind::Utf8),
                        Some(false) => {}
                        Some(true) => state = self.inside(),
                    }
                    i += 1;
                }
                State::Done => match token!() {
                    b'}' | b']' => fail!(i, Nesting),
                    _ => fail!(i, Syntax),
                },
                State::Start => match bytes.get(i) {
                    None => leave!(i),
                    Some(0xef) => {
                        i += 1;
                        self.hex = 1;
                        state = State::Mark;
                    }
                    Some(_) => state = State::Value,
                },
                State::Mark => {
                    let Some(&byte) = bytes.get(i) else { leave!(i) };
                    if byte != [0xef, 0xbb, 0xbf][usize::from(self.hex.min(2))] {
                        fail!(i, Syntax);
                    }
                    i += 1;
                    self.hex += 1;
                    if self.hex == 3 {
                        state = State::Value;
                    }
                }
            }
        }
    }

    /// Where an escape or a sequence leads back to.
    fn inside(&self) -> State {
        if self.key { State::KeyText } else { State::Text }
    }
}
