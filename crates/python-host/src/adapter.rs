//! How the host treats the plugins of each adapter in `python/adapters`.

use contract::python::PythonFacts;

/// An adapter, as far as the host differs by it.
#[derive(Debug)]
pub(crate) struct Adapter {
    name: &'static str,
    /// True if a worker serves several plugins and lasts while other files than modules change.
    pub(crate) is_shared: bool,
    /// True if plugins load before a call is timed, and one without some of its files is of no use.
    pub(crate) loads_whole: bool,
}

const ADAPTERS: [Adapter; 3] = [
    Adapter { name: "brynhild", is_shared: false, loads_whole: false },
    Adapter { name: "initrunner", is_shared: false, loads_whole: true },
    Adapter { name: "lmao", is_shared: true, loads_whole: false },
];

/// The adapter of a plugin.
pub(crate) fn adapter(facts: &PythonFacts) -> &'static Adapter {
    ADAPTERS.iter().find(|it| it.name == facts.adapter).unwrap_or(&ADAPTERS[0])
}
