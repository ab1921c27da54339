import type { Message } from '../../../viewer/model/messages.ts'
import type { RecordedUsage } from './types.ts'

/** What an export of a tracing backend says of one span, whatever the backend calls it. */
export interface TracedCall {
  traceId: string
  id: string
  /** Undefined for a root. */
  parentId: string | undefined
  name: string
  kind: 'llm' | 'tool' | 'agent' | 'other'
  /** Milliseconds since 1970; undefined where the export has none. */
  startMs: number | undefined
  endMs: number | undefined
  /** Why it failed. */
  error?: string
  /** Of a model call. */
  model?: TracedModelCall
  /** Of a tool call. */
  tool?: TracedToolCall
  /** Name of the conversation that the trace is part of. */
  sessionId?: string
}

export interface TracedModelCall {
  input: Message[]
  output: Message[]
  requestModel?: string
  responseModel?: string
  finishReason?: string
  usage?: RecordedUsage
  costUsd?: number
}

export interface TracedToolCall {
  name: string
  id?: string
  args: unknown
  /** Undefined where the export does not say. */
  result: unknown
}
