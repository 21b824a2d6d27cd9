// Drives Brynhild, an AI coding assistant, from JavaScript: it starts the program, or talks to a server.

export { Brynhild } from "./client.js";
export {
  BrynhildError,
  ConnectionLost,
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
