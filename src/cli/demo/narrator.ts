import type { Plugin } from '../../dispatcher/index.ts'
import { type AgentHook, HOOK_TYPES, type HookEvent, type HookType } from '../../hooks/index.ts'
import { formatCost, formatCount, formatDuration } from '../../viewer/model/format.ts'
import { fitTo, type Style } from '../../viewer/text/paint.ts'
import { plural, type Terminal } from '../render/terminal.ts'

const MAX_COLUMNS = 110
const HOOK_COLUMNS = 27
const TIME_COLUMNS = 8

/** Tells what happens while it happens, one line a hook. It is nothing but hooks. */
export class Narrator implements Plugin {
  readonly name = 'demo-narrator'
  readonly hooks: AgentHook[]
  readonly #terminal: Terminal
  readonly #startedAt = performance.now()
  readonly #fired = new Map<HookType, number>(HOOK_TYPES.map((type) => [type, 0]))

  constructor(terminal: Terminal) {
    this.#terminal = terminal
    this.hooks = [
      this.#hook('beforeStep', 'bold', ({ stepIndex }) => `step ${stepIndex}`),
      this.#hook('afterStep', 'dim', ({ usage, costUsd, executionTimeMs = 0 }) =>
        [
          formatDuration(executionTimeMs),
          usage === undefined
            ? ''
            : `${formatCount(usage.inputTokens)} → ${formatCount(usage.outputTokens)} tokens`,
          costUsd === undefined ? '' : formatCost(costUsd),
        ]
          .filter(Boolean)
          .join(', '),
      ),
      this.#hook('beforeToolCall', 'cyan', ({ apiName, args }) => `→ ${apiName} ${JSON.stringify(args)}`),
      this.#hook(
        'afterToolCall',
        ({ success }) => (success ? 'green' : 'yellow'),
        ({ apiName, content, mocked, outcome, reason, success }) => {
          if (reason !== undefined) return `✋ ${apiName} ${outcome}: ${reason}`
          return `${success ? '✓' : '✗'} ${apiName}${mocked ? ' (mocked)' : ''}: ${content}`
        },
      ),
      this.#hook(
        'onToolCallError',
        'red',
        ({ apiName, errorMessage }) => `✗ ${apiName} threw: ${errorMessage}`,
      ),
      this.#hook(
        'beforeHumanIntervention',
        'yellow',
        ({ pendingTools, instructions }) =>
          `⏸ ${instructions ?? 'A human is asked'} ${pendingTools.map(({ args }) => JSON.stringify(args)).join(' ')}`,
      ),
      this.#hook(
        'afterHumanIntervention',
        'yellow',
        ({ action, approver, waitedMs, rejectionReason }) =>
          `${approver ?? 'nobody'}: ${action} after ${formatDuration(waitedMs)}${rejectionReason ? `, "${rejectionReason}"` : ''}`,
      ),
      this.#hook('onStopByHumanIntervention', 'red', () => 'the human ended this agent’s run'),
      this.#hook(
        'beforeCompact',
        'magenta',
        ({ messageCount, tokenCount }) =>
          `the context is long: ${messageCount} messages, ${tokenCount} tokens`,
      ),
      this.#hook(
        'afterCompact',
        'magenta',
        ({ messagesBefore, messagesAfter, tokensBefore, tokensAfter }) =>
          `${messagesBefore} → ${messagesAfter} messages, ${tokensBefore} → ${tokensAfter} tokens`,
      ),
      this.#hook(
        'onCompactError',
        'red',
        ({ errorMessage }) => `not compacted, the run goes on: ${errorMessage}`,
      ),
      this.#hook(
        'beforeCallAgent',
        'magenta',
        ({ agentName, instruction }) => `▶ ${agentName}: ${instruction}`,
      ),
      this.#hook(
        'afterCallAgent',
        ({ success }) => (success ? 'magenta' : 'red'),
        ({ agentName, success, content }) =>
          `◀ ${agentName}${success ? '' : ' did not finish'}${content ? `: ${content}` : ''}`,
      ),
      this.#hook(
        'onCallAgentError',
        'red',
        ({ agentName, errorMessage }) => `◀ ${agentName}: ${errorMessage}`,
      ),
      this.#hook('onError', 'red', ({ errorMessage }) => `the run failed: ${errorMessage}`),
      this.#hook('onComplete', 'bold', ({ reason, totals }) =>
        [
          `the end: ${reason}`,
          totals && plural(totals.steps, 'step'),
          totals && plural(totals.llmCalls, 'model call'),
          totals && plural(totals.toolCalls, 'tool call'),
        ]
          .filter(Boolean)
          .join(', '),
      ),
    ] as AgentHook[]
  }

  /** How often each of the sixteen fired. */
  get fired(): ReadonlyMap<HookType, number> {
    return this.#fired
  }

  #hook<T extends HookType>(
    type: T,
    style: Style | ((event: HookEvent<T>) => Style),
    tell: (event: HookEvent<T>) => string,
  ): AgentHook<T> {
    const handler = (event: HookEvent<T>) => {
      this.#fired.set(type, (this.#fired.get(type) ?? 0) + 1)
      const isChild = event.parentOperationId !== undefined
      const who = isChild ? `${event.agentName ?? ''} ` : ''
      this.#line(type, who, typeof style === 'function' ? style(event) : style, tell(event))
    }
    return { id: `narrator-${type}`, type, handler } as AgentHook<T>
  }

  #line(type: string, who: string, style: Style, text: string): void {
    const terminal = this.#terminal
    const columns = Math.min(terminal.columns, MAX_COLUMNS)
    const time = `${((performance.now() - this.#startedAt) / 1000).toFixed(2)} s`.padStart(TIME_COLUMNS)
    const indent = who === '' ? '' : '  │ '
    const room = columns - TIME_COLUMNS - 2 - HOOK_COLUMNS - indent.length - who.length
    const told = terminal.style(style, fitTo(terminal.safe(text), room))
    terminal.line(
      `${terminal.style('dim', time)}  ${terminal.style('dim', type.padEnd(HOOK_COLUMNS))}${terminal.style('dim', indent + who)}${told}`,
    )
  }
}
