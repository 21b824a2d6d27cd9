// Errors, by the exit codes of the program.

/** The base of all errors. `result` is what the turn had until then, if one ran. */
export class BrynhildError extends Error {
  constructor(message, { exitCode = null, result = null } = {}) {
    super(message);
    this.name = new.target.name;
    this.exitCode = exitCode;
    this.result = result;
  }
}

/** The task failed: the provider gave up, a hook blocked the prompt, or the model says so. */
export class TaskFailed extends BrynhildError {
  constructor(message, result = null) {
    super(message, { exitCode: 1, result });
  }
}

/** The answer is not JSON, although an output schema was given. */
export class InvalidAnswer extends TaskFailed {}

/** Misuse, or something is not set up: no program, a bad option, no model. */
export class SetupError extends BrynhildError {
  constructor(message, result = null) {
    super(message, { exitCode: 2, result });
  }
}

/** The program ended because nobody could give a permission. */
export class PermissionNeeded extends BrynhildError {
  constructor(message, result = null) {
    super(message, { exitCode: 3, result });
  }
}

/** The program ended because no sandbox works on this machine. */
export class NoSandbox extends BrynhildError {
  constructor(message, result = null) {
    super(message, { exitCode: 4, result });
  }
}

/** A limit was reached, or the model repeated itself. */
export class LimitReached extends BrynhildError {
  constructor(message, result = null) {
    super(message, { exitCode: 5, result });
  }
}

/** The program was killed, crashed, or ended in the middle of a turn. */
export class ProcessDied extends BrynhildError {}

/** The server cannot be reached, or it ended in the middle of a turn. */
export class ConnectionLost extends BrynhildError {}

const BY_CODE = { 1: TaskFailed, 2: SetupError, 3: PermissionNeeded, 4: NoSandbox, 5: LimitReached };

/** Returns the error for a program that ended before its turn did. */
export function errorOfExit(code, signal, stderr) {
  const said = stderr.trim();
  if (BY_CODE[code]) return new BY_CODE[code](said || `brynhild ended with exit code ${code}`);
  const how = signal ? `was killed by signal ${signal}` : `ended with exit code ${code} in the middle of a turn`;
  return new ProcessDied(`brynhild ${how}${said ? `: ${said}` : ""}`, { exitCode: code });
}
