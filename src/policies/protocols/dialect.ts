import type { Decision, GateContext, GatePoint } from '../../gates/index.ts'

/** What a protocol has to say for itself. */
export interface Dialect {
  /** Where it can be asked. */
  readonly points: readonly GatePoint[]
  /** The last status that is an answer of an endpoint; 200 is the first. */
  readonly maxStatus: number
  /** What is sent. */
  question(ctx: GateContext, gateId: string): object
  /** What was answered, as one of ours. @throws Error saying what is wrong with it. */
  decision(answer: unknown): Decision
}

/** The conversation where there is one, else the run. */
export function sessionOf(asked: Pick<GateContext, 'conversationId' | 'rootOperationId'>): string {
  return asked.conversationId ?? asked.rootOperationId
}
