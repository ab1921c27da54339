import {
  HookDispatcher,
  type HookDispatcherOptions,
  type Operation,
  type OperationInit,
  type Plugin,
} from 'hookspan'
import type { Gate, GateContext, GatePoint } from 'hookspan/gates'

/** A dispatcher with these gates, and one operation of it. */
export function start(
  gates: Gate[],
  options: { init?: OperationInit; dispatcher?: HookDispatcherOptions; plugin?: Partial<Plugin> } = {},
): { dispatcher: HookDispatcher; op: Operation } {
  const dispatcher = new HookDispatcher(options.dispatcher)
  dispatcher.use({ name: 'gates', gates, ...options.plugin })
  return { dispatcher, op: dispatcher.startOperation({ operationId: 'op', ...options.init }) }
}

export function gate(point: GatePoint | GatePoint[], decide: Gate['decide'], more: Partial<Gate> = {}): Gate {
  return { id: 'g', point, decide, ...more }
}

/** A gate that lets everything through and keeps what it was told. */
export function spy(point: GatePoint | GatePoint[], id = 'spy'): Spy {
  return new Spy(point, id)
}

class Spy implements Gate {
  readonly seen: GateContext[] = []
  readonly point: GatePoint | GatePoint[]
  readonly id: string

  constructor(point: GatePoint | GatePoint[], id: string) {
    this.point = point
    this.id = id
  }

  decide(ctx: GateContext): void {
    this.seen.push(ctx)
  }
}

/** One tool call; counts how often the tool ran. */
export async function callTool(op: Operation, args: unknown = { q: 1 }, apiName = 'search') {
  const ran: unknown[] = []
  const outcome = await op.toolCall({ apiName, args, toolCallId: 't1' }, (given) => {
    ran.push(given)
    return { found: given }
  })
  return { outcome, ran }
}
