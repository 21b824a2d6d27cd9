//! A home that lasts, for processes of plugins that start anew each time: a folder among the
//! plugin's data, in which links lead to what the confinement shows of the person's own. A shell
//! makes it inside of the walls, so that nothing that a plugin leaves there can lead out of them.

use std::ffi::OsString;
use std::path::Path;

use contract::sandbox::Spawn;

/// The folder among a plugin's data.
const FOLDER: &str = "home";

/// Makes the home in `$1` and goes on with the rest of the words. Folders that programs share are
/// made anew, so that what is kept in them lasts too.
const SCRIPT: &str = r#"
settle() {
    [ -d "$2" ] || mkdir -p "$2" 2>/dev/null || return 1
    for entry in "$1"/* "$1"/.[!.]*; do
        name=${entry##*/}
        case $name in
        .cache | .cargo | .config | .local | share | state)
            if [ -d "$entry" ] && [ ! -L "$entry" ]; then settle "$entry" "$2/$name"; fi ;;
        *)
            if [ -e "$entry" ] && [ ! -e "$2/$name" ]; then
                ln -s "$entry" "$2/$name" 2>/dev/null
            fi ;;
        esac
    done
    return 0
}
folder=$1
shift
if [ -n "$HOME" ] && settle "$HOME" "$folder"; then
    HOME=$folder
    export HOME
    unset XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME
fi
unset folder entry name
unset -f settle
exec "$@"
"#;

/// The same program with a home in the folder of a plugin's data.
pub(crate) fn settled(spawn: Spawn, data: &Path) -> Spawn {
    let Spawn { program, args, cwd, stdin, channel, env } = spawn;
    let words = [
        OsString::from("-c"),
        SCRIPT.into(),
        "sh".into(),
        data.join(FOLDER).into(),
        program.into(),
    ];
    let args = words.into_iter().chain(args).collect();
    Spawn { program: "/bin/sh".into(), args, cwd, stdin, channel, env }
}
