import type { Attributes, Context } from '@opentelemetry/api'
import type { Activity, ActivityEnd, OperationInfo } from '../dispatcher/index.ts'
import { endOf } from '../spans/end.ts'
import { GEN_AI } from '../spans/names.ts'
import { type RenderOptions, startOf } from '../spans/start.ts'

/** The event of the conventions for the details of a call of a model. */
const INFERENCE_DETAILS = 'gen_ai.client.inference.operation.details'

/** Structural twin of the `Logger` of `@opentelemetry/api-logs`. */
export interface EventLogger {
  emit(record: {
    eventName: string
    timestamp: number
    severityNumber: number
    context: Context
    attributes: Attributes
  }): void
}

const INFO = 9
/** Of a span these are JSON; of an event the conventions want the values. */
const STRUCTURED = [
  GEN_AI.inputMessages,
  GEN_AI.outputMessages,
  GEN_AI.systemInstructions,
  GEN_AI.toolDefinitions,
]

/** Tells calls of models as log events, content included. */
export class ContentEvents {
  readonly #logger: EventLogger
  readonly #options: RenderOptions

  constructor(logger: EventLogger, options: RenderOptions) {
    this.#logger = logger
    this.#options = { ...options, content: { ...options.content, capture: true } }
  }

  tell(activity: Activity, info: OperationInfo, end: ActivityEnd, context: Context): void {
    if (activity.kind !== 'llm') return
    const attributes: Attributes = {
      ...startOf(activity, info, this.#options).attributes,
      ...endOf(activity, info, end, this.#options).attributes,
    }
    for (const name of STRUCTURED) {
      const json = attributes[name]
      if (typeof json === 'string') attributes[name] = JSON.parse(json)
    }
    this.#logger.emit({
      eventName: INFERENCE_DETAILS,
      timestamp: Date.now(),
      severityNumber: INFO,
      context,
      attributes,
    })
  }
}
