import {
  type Attributes,
  type Context,
  context,
  diag,
  type Span,
  SpanKind,
  type SpanOptions,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Activity, ActivityScope, Instrument, OperationInfo } from '../dispatcher/index.ts'
import { describeValue } from '../internal/errors.ts'
import {
  agentCallAttributes,
  compactAttributes,
  humanAttributes,
  llmAttributes,
  operationAttributes,
  stepAttributes,
  toolAttributes,
} from './attributes.ts'
import { ContentWriter } from './content.ts'
import type { ResolvedTraceOptions } from './options.ts'
import { GEN_AI, HOOKSPAN } from './semconv.ts'
import { hrTime, SpanClock } from './span-clock.ts'
import { PassThroughScope, type ScopeShared, SpanScope } from './span-scope.ts'
import { idsOfOperation, RootSpans, withIds } from './trace-ids.ts'
import { parseTraceparent } from './traceparent.ts'

interface SpanPlan {
  readonly name: string
  readonly kind: SpanKind
  readonly attributes: Attributes
}

/** Activities become spans. */
export class SpanInstrument implements Instrument {
  readonly #tracer: Tracer
  readonly #shared: ScopeShared
  readonly #options: ResolvedTraceOptions
  readonly #rootSpans = new RootSpans()
  #warned = false

  constructor(tracer: Tracer, shared: ScopeShared) {
    this.#tracer = tracer
    this.#shared = shared
    this.#options = shared.options
  }

  start(
    activity: Activity,
    info: OperationInfo,
    parent: ActivityScope | undefined,
    timestamp?: number,
  ): ActivityScope {
    const above = parent instanceof PassThroughScope ? parent.parent : (parent as SpanScope | undefined)
    if (activity.kind === 'step' && !this.#options.stepSpans && above !== undefined)
      return new PassThroughScope(above)
    if (activity.kind === 'operation' && above?.activity.kind === 'agent' && !above.adopted) {
      return this.#adopt(activity, info, above)
    }
    const plan = this.#plan(activity, info)
    const clock = above?.clock ?? new SpanClock()
    const startTime = hrTime(timestamp) ?? clock.now()
    const options: SpanOptions = { kind: plan.kind, attributes: plan.attributes, startTime }
    if (above !== undefined) {
      const span = this.#tracer.startSpan(plan.name, options, above.context)
      return new SpanScope(this.#shared, activity, info, span, above.context, clock)
    }
    const { span, parentContext } = this.#startRoot(activity, info, plan.name, options)
    return new SpanScope(this.#shared, activity, info, span, parentContext, clock)
  }

  /** The child's run is the parent's call: one span, not two. The call ends it. */
  #adopt(
    activity: Extract<Activity, { kind: 'operation' }>,
    info: OperationInfo,
    call: SpanScope,
  ): SpanScope {
    call.adopted = true
    const plan = this.#plan(activity, info)
    call.span.setAttributes(plan.attributes)
    return new SpanScope(this.#shared, activity, info, call.span, call.context, call.clock, false)
  }

  /** Once on the console: whoever may send a header could fill a log with it. */
  #warnOfTraceparent(given: unknown): void {
    const warning =
      `[hookspan] Ignored the traceparent ${describeValue(given)}: expected 00-<32 hex digits>-<16>-<2>. ` +
      'The run has a trace of its own.'
    if (this.#warned) return diag.warn(warning)
    this.#warned = true
    console.warn(warning)
  }

  #startRoot(
    activity: Activity,
    info: OperationInfo,
    name: string,
    options: SpanOptions,
  ): { span: Span; parentContext: Context } {
    const active = context.active()
    const given = activity.kind === 'operation' ? activity.traceparent : undefined
    if (given !== undefined) {
      const remote = parseTraceparent(given)
      if (remote !== undefined) {
        const parentContext = trace.setSpanContext(active, remote)
        return { span: this.#tracer.startSpan(name, options, parentContext), parentContext }
      }
      this.#warnOfTraceparent(given)
    }
    if (trace.getSpanContext(active) !== undefined) {
      return { span: this.#tracer.startSpan(name, options, active), parentContext: active }
    }
    const ids = idsOfOperation(info.rootOperationId)
    const start = () => this.#tracer.startSpan(name, { ...options, root: true }, active)
    // Only the root operation itself has the root's span id; a child in another process gets one of its own.
    if (info.rootOperationId === info.operationId) {
      const { traceId } = ids
      const rootIds = this.#rootSpans.isNew(ids.spanId) ? ids : { traceId }
      return { span: withIds(rootIds, start), parentContext: active }
    }
    const parentContext = trace.setSpanContext(active, { ...ids, traceFlags: 1, isRemote: true })
    return { span: this.#tracer.startSpan(name, options, parentContext), parentContext }
  }

  #plan(activity: Activity, info: OperationInfo): SpanPlan {
    switch (activity.kind) {
      case 'operation': {
        const attributes = operationAttributes(activity, info)
        this.#content(attributes, info)?.instructions(activity.instructions).input(activity.input)
        const name = info.agentName === undefined ? 'invoke_agent' : `invoke_agent ${info.agentName}`
        return { name, kind: SpanKind.INTERNAL, attributes }
      }
      case 'step':
        return {
          name: `step ${activity.stepIndex}`,
          kind: SpanKind.INTERNAL,
          attributes: stepAttributes(activity),
        }
      case 'llm': {
        const attributes = llmAttributes(activity, info, this.#options.semconv)
        this.#content(attributes, info)?.request(activity.request)
        return { name: `chat ${activity.model}`, kind: SpanKind.CLIENT, attributes }
      }
      case 'tool': {
        const attributes = toolAttributes(activity, info)
        this.#content(attributes, info, activity.apiName)?.object(
          GEN_AI.toolCallArguments,
          activity.args,
          'input',
        )
        return { name: `execute_tool ${activity.apiName}`, kind: SpanKind.INTERNAL, attributes }
      }
      case 'human': {
        const attributes = humanAttributes(activity)
        this.#content(attributes, info)?.text(HOOKSPAN.humanInstructions, activity.instructions)
        return { name: 'human_intervention', kind: SpanKind.INTERNAL, attributes }
      }
      case 'compact':
        return { name: 'compact_context', kind: SpanKind.INTERNAL, attributes: compactAttributes(activity) }
      case 'agent': {
        const attributes = agentCallAttributes(activity)
        this.#content(attributes, info)?.input(activity.instruction)
        const kind = activity.remote ? SpanKind.CLIENT : SpanKind.INTERNAL
        return { name: `invoke_agent ${activity.agentName ?? activity.agentId}`, kind, attributes }
      }
      case 'gate': {
        const attributes = { [HOOKSPAN.gateId]: activity.gateId, [HOOKSPAN.gatePoint]: activity.point }
        return { name: `gate ${activity.gateId}`, kind: SpanKind.INTERNAL, attributes }
      }
    }
  }

  /** Undefined when content is not captured, so that nothing is paid for it. */
  #content(attributes: Attributes, info: OperationInfo, toolName?: string): ContentWriter | undefined {
    if (!this.#options.content.capture) return undefined
    const place = { operationId: info.operationId, ...(toolName !== undefined && { toolName }) }
    return new ContentWriter(this.#options.content, attributes, place)
  }
}
