//! The protocol with a scripted program behind it. Every line is checked against the schema.

mod client;
mod fake;
mod flows;
mod fuzz;
mod replay;
mod schema;
mod shown;
