//! Usage of sessions: tokens and money by model, calls by tool and plugin, day by day. A fold over
//! the events of their logs, and tables of the figures for `stats`, `/cost` and `/context`.

pub mod context;
mod figures;
mod session;
pub mod tables;

pub use figures::{Figures, Spent, Used};
pub use session::{Fold, SessionFigures, complete_costs};
