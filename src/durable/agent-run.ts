import { invalidCheckpoint } from '../agent/checkpoint/record.ts'
import type { AgentRun, CheckpointStore, ExecAgentOptions } from '../agent/index.ts'
import { execAgent, resumeAgent } from '../agent/index.ts'
import { endAgent } from '../agent/resume-agent.ts'
import { leftRun } from '../gates/left-run.ts'
import { MAX_TIMER_MS, unref } from '../internal/async.ts'
import { errorMessage, errorType, HookspanError } from '../internal/errors.ts'
import { defined } from '../internal/objects.ts'
import type { AskedRequest, Segment, SegmentInput } from './drive.ts'
import type { Live } from './segments.ts'

/** What is the run's own, beside the options that all runs of the agent have. Plain JSON. */
export type DurableInput = Pick<
  ExecAgentOptions,
  'prompt' | 'messages' | 'userId' | 'conversationId' | 'traceparent' | 'attributes'
>

export type AgentRunOptions = Omit<
  ExecAgentOptions,
  keyof DurableInput | 'operationId' | 'checkpoint' | 'signal' | 'parent'
>

/** How a durable run ended: `AgentRun` as JSON. */
export interface DurableRun
  extends Omit<AgentRun, 'state' | 'pendingApprovals' | 'resumedBefore' | 'error' | 'reason'> {
  readonly reason: Exclude<AgentRun['reason'], 'waiting'>
  /** What failed the run. */
  readonly error?: { readonly type: string; readonly message: string }
  /** Who ended it, where `reason` is `interrupted`. */
  readonly endedBy?: 'cancel' | 'maxDurationMs'
  /** How many are missing at the beginning of `messages`, where the engine takes no more: on Temporal. */
  readonly omittedMessages?: number
}

interface Unkept {
  readonly record: string
  readonly kept: PromiseWithResolvers<void>
}

/**
 * A run that goes on in this process, from one record of its checkpoints to the next. It stands still behind each until the
 * engine has it: then, and only then, the next part is asked for.
 */
export class LiveRun implements Live<string, DurableRun> {
  /** How many records there are, those that it went on from included. */
  position: number
  readonly #lost = new AbortController()
  readonly #stop = new AbortController()
  readonly #ended: Promise<AgentRun>
  #endedBy: DurableRun['endedBy']
  #deadline: NodeJS.Timeout | undefined
  #unkept: Unkept | undefined
  #given: Unkept | undefined
  /** What is written down while nobody waits for what comes next. */
  #rest: string[] | undefined
  #changed = Promise.withResolvers<void>()

  constructor(
    options: AgentRunOptions,
    operationId: string,
    input: DurableInput,
    { kept, endsAt, cancelled }: SegmentInput<string>,
  ) {
    this.position = kept.length
    if (kept.some((record: unknown) => typeof record !== 'string')) {
      throw invalidCheckpoint(
        `it is of a function, and \`agent\` is one that execAgent runs now. Bring the code back that began the run`,
      )
    }
    const signal = AbortSignal.any([this.#stop.signal, this.#lost.signal])
    const shared = { ...options, operationId, checkpoint: this.#store(kept), signal }
    if (endsAt !== undefined) this.#endAt(endsAt)
    // Before it goes on: nothing of it is to be run any more.
    if (cancelled) this.stop('cancel')
    const goesOn = {
      ...shared,
      ...defined({
        userId: input.userId,
        conversationId: input.conversationId,
        attributes: input.attributes,
      }),
    }
    if (kept.length === 0) this.#ended = execAgent({ ...shared, ...input })
    else this.#ended = cancelled ? endAgent(shared.checkpoint, goesOn) : resumeAgent(goesOn)
    this.#ended
      .catch(() => {})
      .finally(() => {
        clearTimeout(this.#deadline)
        this.#changed.resolve()
      })
  }

  #endAt(endsAt: number): void {
    const end = () => this.stop('maxDurationMs')
    const leftMs = endsAt - Date.now()
    if (leftMs <= 0) end()
    else if (leftMs <= MAX_TIMER_MS) this.#deadline = unref(setTimeout(end, leftMs))
  }

  /** Ends the run: what is at work is aborted. */
  stop(by: 'cancel' | 'maxDurationMs'): void {
    if (this.#stop.signal.aborted) return
    this.#endedBy = by
    this.#stop.abort(
      new DOMException(
        by === 'cancel' ? 'The run was cancelled.' : 'The run has taken too long.',
        'AbortError',
      ),
    )
  }

  /** Another attempt of the engine goes on with it: nothing more of it is done or told here. */
  leave(): void {
    clearTimeout(this.#deadline)
    this.#lost.abort(leftRun())
    this.#unkept?.kept.reject(lost())
    this.#given?.kept.reject(lost())
  }

  /** What comes next of it; what was given before has been kept. @throws what keeps the run from being begun or gone on with. */
  async next(): Promise<Segment<string, DurableRun>> {
    this.#given?.kept.resolve()
    this.#given = undefined
    while (this.#unkept === undefined && !(await this.#hasEnded())) await this.#changed.promise
    const unkept = this.#unkept
    if (unkept === undefined) return this.#end(await this.#ended)
    this.#unkept = undefined
    this.#given = unkept
    this.position++
    return { kept: [unkept.record], at: Date.now() }
  }

  /** To its end: whoever still waits in `next` may be somebody whom the engine does not listen to any more. */
  async rest(): Promise<Segment<string, DurableRun>> {
    this.#rest = []
    this.#given?.kept.resolve()
    if (this.#unkept !== undefined) this.#rest.push(this.#unkept.record)
    this.#unkept?.kept.resolve()
    const run = await this.#ended
    return { ...this.#end(run), kept: this.#rest }
  }

  async #hasEnded(): Promise<boolean> {
    const pending = Symbol('pending')
    return (await Promise.race([this.#ended, pending])) !== pending
  }

  #end(run: AgentRun): Segment<string, DurableRun> {
    const { state, pendingApprovals, resumedBefore: _resumed, error, reason, ...rest } = run
    const at = Date.now()
    if (reason === 'waiting') {
      const asked = (pendingApprovals ?? []).map(
        ({ id, expiresAt }): AskedRequest => ({ id, ...defined({ expiresAt }) }),
      )
      return { kept: [], at, asked }
    }
    const outcome = {
      ...rest,
      reason,
      ...(error !== undefined && { error: { type: errorType(error), message: errorMessage(error) } }),
      ...(reason === 'interrupted' && defined({ endedBy: this.#endedBy })),
    }
    return { kept: [], at, outcome }
  }

  #store(records: readonly string[]): CheckpointStore {
    return {
      claim: async () => ({ state: 'claimed', token: 'engine', records, lost: this.#lost.signal }),
      append: (_id, _token, { record }) => {
        if (this.#lost.signal.aborted) return Promise.reject(lost())
        if (this.#rest !== undefined) {
          this.#rest.push(record)
          return Promise.resolve()
        }
        this.#unkept = { record, kept: Promise.withResolvers() }
        this.#changed.resolve()
        this.#changed = Promise.withResolvers()
        return this.#unkept.kept.promise
      },
      // The engine forgets the run when it ends.
      release: async () => {},
      list: async () => [],
    }
  }
}

function lost(): HookspanError {
  return new HookspanError('STATE_CLAIMED', 'Another process goes on with the run.')
}
