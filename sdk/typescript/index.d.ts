import type { Action, ChangedFile, Event, EventAsked, Mode, Outcome, Usage } from "./types.js";

export * from "./types.js";

export interface Options {
  cwd?: string;
  /** `http://…`, `https://…` or `unix:PATH`: talks to `brynhild serve` instead of starting the program. */
  url?: string;
  token?: string;
  model?: string;
  provider?: string;
  profile?: string;
  mode?: Mode;
  agent?: string;
  systemPrompt?: string;
  appendSystemPrompt?: string;
  maxCost?: number;
  maxTurns?: number;
  maxTokens?: number;
  timeout?: number;
  allowedTools?: string[];
  mcpServers?: Record<string, unknown>;
  session?: string;
  resume?: string;
  fork?: boolean;
  onQuestion?: OnQuestion;
  binary?: string;
  env?: Record<string, string>;
}

export interface Question {
  call: string;
  tool: string;
  args: unknown;
  why: string;
  actions: Action[];
  destructive: boolean;
  isReadOnly: boolean;
  event: EventAsked;
}

export type GivenAnswer =
  | { answer: "once" | "session" | "project" | "always" | "cancel" | "nobody" }
  | { answer: "deny"; reason?: string | null };
export type OnQuestion = (question: Question) => GivenAnswer | null | undefined | Promise<GivenAnswer | null | undefined>;

export const Answer: {
  once(): GivenAnswer;
  session(): GivenAnswer;
  project(): GivenAnswer;
  always(): GivenAnswer;
  deny(reason?: string): GivenAnswer;
  cancel(): GivenAnswer;
  nobody(): GivenAnswer;
};

export interface Result {
  text: string;
  /** `answered`, `finished` or `cancelled`; others are errors. */
  outcome: string;
  details: Outcome;
  usage: Usage;
  /** US dollars; null if it is not known. */
  cost: number | null;
  session: string;
  changes: ChangedFile[];
  structured: unknown;
  /** Questions that were answered with `nobody`. */
  unanswered: Question[];
}

export interface TurnOptions {
  onQuestion?: OnQuestion;
  outputSchema?: Record<string, unknown> | null;
}

export interface ToolOptions {
  name: string;
  description: string;
  schema?: Record<string, unknown>;
}

export interface Undone {
  files: unknown[];
  kept: unknown[];
  turns: number[];
}

export class Brynhild {
  constructor(options?: Options);
  static resume(session: string, options?: Options): Brynhild;
  readonly session: string | null;
  readonly pid: number | null;
  tool(options: ToolOptions, run: (args: any) => unknown): this;
  run(prompt: string, options?: TurnOptions): Promise<Result>;
  stream(prompt: string, options?: TurnOptions): AsyncGenerator<Event, Result, void>;
  compact(instructions?: string | null): Promise<Result>;
  clear(): Promise<Result>;
  steer(text: string): void;
  interrupt(): void;
  setMode(mode: Mode): void;
  undo(turns?: number): Promise<Undone>;
  fork(): Brynhild;
  close(): Promise<void>;
}

export class BrynhildError extends Error {
  exitCode: number | null;
  result: Result | null;
}
export class TaskFailed extends BrynhildError {}
export class InvalidAnswer extends TaskFailed {}
export class SetupError extends BrynhildError {}
export class PermissionNeeded extends BrynhildError {}
export class NoSandbox extends BrynhildError {}
export class LimitReached extends BrynhildError {}
export class ProcessDied extends BrynhildError {}
export class ConnectionLost extends BrynhildError {}

export function findBinary(binary?: string): string;
