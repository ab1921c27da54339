import type { RunnableHook } from '../../hooks/agent-hook.ts'
import type { ToolMock } from '../../hooks/index.ts'
import { describeValue, HookspanError } from '../../internal/errors.ts'
import { assertKeys } from '../../internal/expect.ts'

/** Where the handlers of one `beforeToolCall` put their mock. */
export class MockSlot {
  #mock: ToolMock | null = null
  #closed: string | undefined
  #onMock: (() => void) | undefined

  /** `closed`: why no mock can be taken, from the beginning. */
  constructor(closed?: string) {
    this.#closed = closed
  }

  /** The `event.mock` of one hook. `mocked` is told that it was called, in time or not. */
  mockOf(hook: RunnableHook, mocked: (hook: RunnableHook) => void): (result: ToolMock) => void {
    return (result) => {
      mocked(hook)
      if (this.#closed !== undefined) throw new HookspanError('MOCK_TOO_LATE', this.#closed)
      try {
        if (hook.mocks === false) throw mocksAfterAll(hook)
        assertToolMock(result)
      } catch (error) {
        // Whoever mocks does not want the real tool to run: a malformed mock fails the call instead.
        this.#take({ error })
        throw error
      }
      this.#take(result)
    }
  }

  #take(mock: ToolMock): void {
    if (this.#mock !== null) return
    this.#mock = mock
    this.#onMock?.()
  }

  onMock(listener: () => void): void {
    this.#onMock = listener
  }

  get current(): ToolMock | null {
    return this.#mock
  }

  /** Decides the call: what was mocked until now stands, anything later throws. */
  close(): ToolMock | null {
    this.#onMock = undefined
    this.#closed ??=
      'event.mock() was called after the call was decided. Call it before the handler returns, or mark the hook ' +
      '`mocks: true` and raise its `timeoutMs`.'
    return this.#mock
  }
}

function mocksAfterAll({ id }: RunnableHook): HookspanError {
  const message = `Hook "${id}" has \`mocks: false\` and called event.mock(): the call fails. Mark it \`mocks: true\`.`
  return new HookspanError('MOCK_INVALID', message)
}

const MOCK_KEYS: ReadonlySet<string> = new Set(['content', 'success', 'data', 'error', 'delayMs'])

/** @throws HookspanError `MOCK_INVALID` naming the value. */
export function assertToolMock(value: unknown): asserts value is ToolMock {
  if (typeof value === 'object' && value !== null) {
    assertKeys(value, MOCK_KEYS, 'event.mock()', 'MOCK_INVALID')
    const { content, success, delayMs } = value as Record<string, unknown>
    const hasError = Object.hasOwn(value, 'error')
    const delayOk = delayMs === undefined || (Number.isFinite(delayMs) && (delayMs as number) >= 0)
    if (!delayOk) {
      throw new HookspanError(
        'MOCK_INVALID',
        `Expected \`delayMs\` to be a finite number >= 0, got ${describeValue(delayMs)}.`,
      )
    }
    const successOk = success === undefined || typeof success === 'boolean'
    // With both, it is a tool that reports a failure, and has to say so.
    if (typeof content === 'string' && successOk && (!hasError || success === false)) return
    if (hasError && content === undefined && successOk) return
  }
  throw new HookspanError(
    'MOCK_INVALID',
    'Expected event.mock() to get { content: string, success?: boolean, data? }, { content, error, success: false } ' +
      `or { error }, got ${describeValue(value)}.`,
  )
}
