//! The network of the programs that a role's tools run: the user's grant.

use std::sync::Arc;

use contract::sandbox::{Confinement, Network};
use contract::tool::ToolOutput;

use crate::remedy;

#[derive(Clone)]
pub struct Granted {
    /// The network at this moment: in read-only mode there is none.
    pub network: Arc<dyn Fn() -> Network + Send + Sync>,
    /// The advice that would let its programs out.
    pub remedy: String,
}

impl Granted {
    pub(super) fn within(&self, confinement: &Confinement) -> Confinement {
        match confinement.profile.network {
            Network::None => confinement.with_network((self.network)()),
            Network::Hosts(_) | Network::Host => confinement.clone(),
        }
    }

    /// Says what to do about a program that failed for want of a network under `confinement`.
    pub(super) fn explain(&self, confinement: &Confinement, output: &mut ToolOutput) {
        tell(confinement, output, &self.remedy);
    }
}

/// Says the same of a program whose entry closes the network itself.
pub(super) fn explain_closed(confinement: &Confinement, output: &mut ToolOutput) {
    tell(confinement, output, "`network_disabled` of its entry is true, as where it says nothing");
}

fn tell(confinement: &Confinement, output: &mut ToolOutput, why: &str) {
    let is_alone = confinement.profile.network == Network::None && remedy::is_alone(&output.output);
    if is_alone && !output.success {
        let advice = format!("\n(this program has no network: {why})");
        output.output.push_str(&advice);
    }
}
