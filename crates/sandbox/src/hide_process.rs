//! Keeps the program's own memory and environment, which hold keys, from other processes of the
//! same user.

/// Makes this process one that others of the same user can neither trace nor read, and that leaves
/// no image of its memory behind.
pub fn hide_process() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // It fails on no kernel that Landlock or bubblewrap run on.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let nothing = Rlimit { current: Some(0), maximum: Some(0) };
        let _ = setrlimit(Resource::Core, nothing);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::{DumpableBehavior, dumpable_behavior};

    #[test]
    fn process_is_hidden_from_other_users() {
        super::hide_process();
        assert!(matches!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable)));
        assert_eq!(rustix::process::getrlimit(rustix::process::Resource::Core).current, Some(0));
    }
}
