import type { HookDispatcher } from '../../dispatcher/index.ts'
import type { AdapterCapabilities, Capability } from '../../dispatcher/run/capabilities.ts'

/** What the model says when it is asked: one of these for each time, in their order. */
export interface ContractReply {
  readonly content?: string
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly args: object }[]
  /** Only where the run streams: the connection breaks after the first chunk that holds content. */
  readonly broken?: boolean
}

/** A tool that the run is given. Its arguments are an object with the one key `q`, a text. */
export interface ContractTool {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>
  execute(args: { readonly q: string }, context: { readonly signal?: AbortSignal }): Promise<string>
}

/**
 * An agent that the run's agent may call: by a tool of this name, with the one argument `instruction` (or what the SDK
 * calls it).
 */
export interface ContractAgent {
  readonly name: string
  readonly replies: readonly ContractReply[]
}

/** What an adapter is to run, with its SDK, on a model that says what it is told to say. */
export interface ContractRun {
  readonly dispatcher: HookDispatcher
  readonly agentName: string
  readonly prompt: string
  readonly replies: readonly ContractReply[]
  readonly tools: readonly ContractTool[]
  readonly subAgent?: ContractAgent
  /** `read`: model calls are streamed and read to their end; `abandon`: the reader stops after the first chunk. */
  readonly stream?: 'read' | 'abandon'
  readonly signal?: AbortSignal
  /** What a run that waited gave as its state, by way of JSON: it is to go on. `replies` are those that are left. */
  readonly state?: unknown
}

/** How it ended. */
export interface ContractOutcome {
  readonly status: 'done' | 'waiting' | 'interrupted' | 'error'
  /** The run's last word. */
  readonly content?: string
  /** What continues a run that waits: JSON. */
  readonly state?: unknown
}

/** An adapter, as it is put to the test. */
export interface ContractSubject {
  readonly name: string
  readonly capabilities: AdapterCapabilities
  run(run: ContractRun): Promise<ContractOutcome>
  /** True when the SDK reads its streams itself, so that nobody can abandon one. */
  readonly readsItself?: boolean
  /** True when the SDK itself refuses a reply in which two calls share an id. */
  readonly refusesSameIds?: boolean
  /** True when the SDK itself tells the model one result alone for two calls that share an id. */
  readonly keepsOneOfSameIds?: boolean
  /** True when the SDK itself runs one of two calls that share an id twice, and the other not at all. */
  readonly repeatsOneOfSameIds?: boolean
  /** True when the SDK itself tells the model no more of what a tool throws than that it failed. */
  readonly hidesFailures?: boolean
  /** True when the SDK itself ends the run with what a tool throws. */
  readonly endsOnFailure?: boolean
  /** True when the SDK itself waits for tools that are at work when a run is aborted, however long they take. */
  readonly waitsForTools?: boolean
  /**
   * Calls {@link resumeElsewhere} with the same subject in another process, hands it `saved`, and gives what it gives.
   * Absent: the run goes on in this process, with nothing but the JSON.
   */
  elsewhere?(saved: string): Promise<string>
}

export interface ContractScenario {
  readonly name: string
  /** What an adapter must be able to do for it. Where it cannot, asking for it is refused, and the scenario holds that. */
  readonly needs: readonly Capability[]
  /**
   * What this adapter is held to: `whole` where it can do all that the scenario needs, `refused` where it must refuse what
   * is asked for, `nothing` where nobody can ask it.
   */
  readonly held: 'whole' | 'refused' | 'nothing'
  /** @throws AssertionError naming what differs. */
  run(): Promise<void>
}
