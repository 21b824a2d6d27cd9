//! `find` with tests and printing actions only.

use super::{NotReadOnly, Operand, ReadPaths};
use crate::shell::Word;
use crate::word_list::listed;

const ALONE: &str = "\
    ! ( ) -not -a -and -o -or -print -print0 -ls -prune -quit -depth -d -xdev -mount -daystart \
    -true -false -empty -executable -readable -writable -nouser -nogroup -noleaf \
    -ignore_readdir_race -H -P -nowarn -warn";
const WITH_VALUE: &str = "\
    -name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype \
    -size -mtime -mmin -atime -amin -ctime -cmin -perm -user -group -uid -gid -maxdepth \
    -mindepth -links -inum -lname -ilname -fstype -used -printf -newermt -newerct -newerat";
const WITH_FILE: &str = "-newer -anewer -cnewer -samefile";

/// Checks the starting points and the expression.
pub(crate) fn check(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    let mut read_paths = ReadPaths::default();
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if word.glob || !(text.starts_with(['-', '!']) || ["(", ")", ","].contains(&text)) {
            read_paths.names.push(Operand::from(word));
        } else if listed(ALONE, text) {
        } else if listed(WITH_VALUE, text) || listed(WITH_FILE, text) {
            let value = rest.next().filter(|value| !value.glob).ok_or_else(|| {
                NotReadOnly::new(format!("the value of `{text}` is missing or not quoted"))
            })?;
            if listed(WITH_FILE, text) {
                read_paths.names.push(Operand::from(value));
            }
        } else {
            return Err(NotReadOnly::new(format!("`{text}` is not known to be harmless")));
        }
    }
    Ok(read_paths)
}
