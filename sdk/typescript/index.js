// Drives Brynhild, an AI coding assistant, from JavaScript: it starts the program and talks to it.

export { Brynhild } from "./client.js";
export {
  BrynhildError,
  InvalidAnswer,
  LimitReached,
  NoSandbox,
  PermissionNeeded,
  ProcessDied,
  SetupError,
  TaskFailed,
} from "./errors.js";
export { findBinary } from "./transport.js";
export { Answer } from "./turn.js";
