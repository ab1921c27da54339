import type { ProviderToolCall, ToolCallContext } from '../../hooks/index.ts'
import { toContent } from '../../internal/json.ts'
import type { LlmReading } from '../../wire/reading.ts'
import type { ToolEnd } from '../plugins/instrument.ts'
import { Bracket } from '../run/bracket.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'
import { reportRanUnasked } from '../run/out-of-reach.ts'
import { erroredEnding, returnedEnding, toldToolEnd } from './tool-ending.ts'
import { ToolResult } from './tool-outcome.ts'

const CLOSED = 'The provider of the model ran this tool by itself: nothing can stand in for it any more.'

/**
 * Tells what the provider ran to come to its reply, beside the model call: counted, with hooks and a span like every
 * tool call, but nobody decides on it, for it is over.
 */
export function tellProviderCalls(core: OperationCore, site: CallSite, reading: LlmReading): void {
  // A reply of which all is read only when somebody asks, and naming `response` asks, is of an API whose provider runs
  // nothing.
  if (reading.head !== undefined) return
  for (const call of reading.response.providerToolCalls ?? []) {
    // What has neither ended nor given anything is told by the reply that has the end of it.
    const isOver = call.success !== undefined || call.result !== undefined || call.error !== undefined
    if (isOver && !core.ended) new ProviderCall(core, site, call).tell(call)
  }
}

class ProviderCall extends Bracket<ToolEnd, CallSite> {
  readonly #call: ToolCallContext

  constructor(core: OperationCore, site: CallSite, call: ProviderToolCall) {
    const { identifier, args } = call
    const callKey = core.nextCallKey()
    const context: ToolCallContext = {
      identifier,
      source: 'provider',
      apiName: call.apiName || 'unnamed',
      args,
      callIndex: site.nextCallIndex(),
      toolCallId: call.toolCallId || callKey,
      callKey,
    }
    core.countToolCall(context)
    const { callIndex, apiName, toolCallId, source } = context
    super(core, site, { kind: 'tool', callKey, identifier, source, apiName, args, toolCallId, callIndex })
    this.#call = context
  }

  protected get during(): string {
    return 'while the provider ran a tool'
  }

  protected failed(error: unknown): ToolEnd {
    const ending = erroredEnding(this.#call.toolCallId, error, false)
    return toldToolEnd(this.core, this.#call, ending, this, undefined)
  }

  tell({ result, success = true, error }: ProviderToolCall): void {
    const call = this.#call
    const { record } = this.core
    reportRanUnasked(this.core, call.apiName, call.identifier)
    if (record.hears('beforeToolCall')) void record.decideMock({ ...call, ...this.where }, { closed: CLOSED })
    else record.count('beforeToolCall')
    if (!this.claim()) return
    const given = success ? result : new ToolResult({ content: toContent(error ?? result), success })
    const ending = returnedEnding('completed', call.toolCallId, given)
    this.close(toldToolEnd(this.core, call, ending, this, undefined))
  }
}
