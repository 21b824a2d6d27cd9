//! Checks the parts of a plugin's directory, for its author. Its Python runs in its sandbox, unless
//! the directory belongs to a project that is not trusted.

use std::path::Path;

use assemble::assembly::{Assembly, workers};
use assemble::exit::Problem;
use plugins::discovery::Trust;
use plugins::manifest::Validation;
use plugins::parts;
use plugins::plugin::Place;
use python_host::Missing;

/// Adds the faults of the parts of the plugin in `root` to those of its manifest.
pub(super) async fn check(
    assembly: &Assembly,
    root: &Path,
    validation: &mut Validation,
) -> Result<(), Problem> {
    let places = (assembly.place(), assembly.environment.home.as_deref());
    let Some(plugin) = parts::check(validation, root, places) else { return Ok(()) };
    if assembly.plugin_env().program.trust(root, Place::Flag) == Trust::Given {
        let python = workers::quiet_host(assembly)?;
        for described in python.host.describe(&python.plugins([&plugin]), Missing::Report).await {
            let offer = described.offer;
            let offers_nothing = offer.tools.is_empty() && described.providers.is_empty();
            let faults =
                if offers_nothing { &mut validation.errors } else { &mut validation.warnings };
            faults.extend(offer.faults.into_iter().map(Into::into));
            validation.warnings.extend(described.notes.into_iter().map(Into::into));
        }
        python.host.shutdown().await;
    }
    Ok(())
}
