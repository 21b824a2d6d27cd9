//! The network of the programs that a role's tools run: the user's grant.

use std::sync::Arc;

use contract::sandbox::{Confinement, Network};
use contract::tool::ToolOutput;

#[derive(Clone)]
pub struct Granted {
    /// The network at this moment: in read-only mode there is none.
    pub network: Arc<dyn Fn() -> Network + Send + Sync>,
    /// The advice that would let its programs out.
    pub remedy: String,
    /// Returns true if the output of a program says that it found no network.
    pub is_network_failure: fn(&str) -> bool,
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
        self.tell(confinement, output, &self.remedy);
    }

    /// Explains the failure of a program whose entry closes the network itself.
    pub(super) fn explain_closed(&self, confinement: &Confinement, output: &mut ToolOutput) {
        let why = "`network_disabled` of its entry is true, as where it says nothing";
        self.tell(confinement, output, why);
    }

    fn tell(&self, confinement: &Confinement, output: &mut ToolOutput, why: &str) {
        let has_none = confinement.profile.network == Network::None;
        if has_none && !output.success && (self.is_network_failure)(&output.output) {
            let advice = format!("\n(this program has no network: {why})");
            output.output.push_str(&advice);
        }
    }
}
