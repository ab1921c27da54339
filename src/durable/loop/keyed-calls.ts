import { CallMaker } from '../../dispatcher/calls/call-maker.ts'
import type {
  AgentCall,
  CallAgentInit,
  CompactCall,
  CompactInit,
  CompactResult,
  HumanIntervention,
  LlmCallInit,
  LlmFunction,
  OpenLlmCall,
  OpenToolCall,
  ToolCallInit,
  ToolFunction,
  ToolOutcome,
} from '../../dispatcher/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import type { LoopKeeper } from './keeper.ts'
import { KeyedLlmCall } from './keyed-llm-call.ts'
import { KeyedToolCall } from './keyed-tool-call.ts'

/** From where the calls of one turn of a durable loop are made: what is kept of them is not made again. */
export class KeyedCalls extends CallMaker {
  protected readonly loop: LoopKeeper
  readonly turn: number

  constructor(loop: LoopKeeper, turn: number) {
    const { core } = loop
    super(core, { traced: core.traced, stepIndex: undefined, nextCallIndex: () => 0 })
    this.loop = loop
    this.turn = turn
  }

  override llmCall<R>(init: LlmCallInit<R>, fn: LlmFunction<R>): Promise<R> {
    return new KeyedLlmCall<R>(this.loop, this.turn, init).make(fn)
  }

  override openLlmCall<R = unknown>(init: LlmCallInit<R>): OpenLlmCall<R> {
    return new KeyedLlmCall<R>(this.loop, this.turn, init) as unknown as OpenLlmCall<R>
  }

  override async toolCall<A, R>(init: ToolCallInit<A>, fn: ToolFunction<A, R>): Promise<ToolOutcome<R>> {
    return new KeyedToolCall<A, R>(this.loop, this.turn, init).run(fn)
  }

  override openToolCall<A, R = unknown>(init: ToolCallInit<A>): OpenToolCall<A, R> {
    return new KeyedToolCall<A, R>(this.loop, this.turn, init) as unknown as OpenToolCall<A, R>
  }

  override openAgentCall<R = unknown>(init: CallAgentInit): AgentCall<R> {
    throw notDurable(
      `calls agent "${init.agentName ?? init.agentId ?? '?'}" beside its tools`,
      'Call it in a tool.',
    )
  }

  override openCompaction<R extends CompactResult = CompactResult>(_init: CompactInit): CompactCall<R> {
    throw notDurable('compacts its conversation', 'Compact in a tool or a model call.')
  }

  override openHumanIntervention(): HumanIntervention {
    throw notDurable(
      'asks a human by itself (`needsApproval`, `toolApproval`)',
      'Ask by a gate, as `requireHuman()` of hookspan/policies is one.',
    )
  }
}

export function notDurable(what: string, instead: string): HookspanError {
  return new HookspanError('NOT_CAPABLE', `A durable run ${what}, which is not kept. ${instead}`)
}

/** A step of an SDK's turn. */
export class KeyedStep extends KeyedCalls {
  run<T>(fn: () => T): T {
    return this.loop.operation.run(fn)
  }

  end(): Promise<void> {
    return this.loop.steps.end(this.turn)
  }

  fail(error: unknown): void {
    void this.loop.steps.fail(this.turn, error)
  }
}
