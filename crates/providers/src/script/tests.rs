//! Plays scenarios against histories that grow as they do in the loop.

mod conversation;
mod expectations;
mod files;
mod playing;
