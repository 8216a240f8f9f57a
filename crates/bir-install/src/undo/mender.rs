//! What a crash has left half done in a file that another program has written since, brought to one state.

use super::own::{Rest, rest};
use super::structural::{Taken, says_nothing, take_out};
use crate::operation::{Mended, Mender, Mending};
use crate::plan::sheet::Sheet;
use crate::survey::Modules;
use bir_hosts::Host;
use bir_hosts::config::Role;

/// Takes the layers off that are not to stand any more, each entry and hook by itself.
pub struct ByEntries<'m>(pub &'m Modules<'m>);

impl Mender for ByEntries<'_> {
    fn mend(&self, mending: &Mending<'_>) -> Mended {
        let Some(record) = mending.from else { return Mended::Text(mending.text.to_vec()) };
        if record.role == Role::Own {
            let unclear =
                || Mended::Unclear("another program has changed it, though it is ours alone".into());
            return match rest(Host::named(&record.host), record.format, mending.text) {
                // What is to stand there is a text of ours that is known by its hash alone.
                _ if mending.to.is_some() => unclear(),
                Rest::Theirs => Mended::Text(mending.text.to_vec()),
                Rest::Ours => Mended::Gone,
                Rest::Text(text) => Mended::Text(text),
                Rest::Unclear => unclear(),
            };
        }
        let mut sheet = Sheet::of_text(&record.path, record.format, mending.text);
        let mut taken = Taken::default();
        for layer in mending.layers() {
            if let Err(why) = take_out(self.0, &mut sheet, record, layer, &taken) {
                return Mended::Unclear(why);
            }
            taken.add(record, layer);
        }
        let is_made =
            mending.to.is_none() && record.layers.first().is_some_and(|layer| layer.before.is_none());
        match sheet.now {
            Some(_) if is_made && says_nothing(&sheet) => Mended::Gone,
            Some(text) => Mended::Text(text),
            None => Mended::Gone,
        }
    }
}
