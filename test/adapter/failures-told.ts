import { HookDispatcher, type ToolMock, ToolResult } from 'hookspan'
import { skip } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'

/** What a model is told of a tool, in the words of its SDK. */
export interface Told {
  /** Whether the SDK's own mark of a failure is set. */
  readonly failed: boolean
  readonly text: string
}

/** An agent of an SDK whose one tool, `book`, is called once. */
export interface FailingCase {
  readonly name: string
  tell(dispatcher: HookDispatcher, execute: () => Promise<unknown>): Promise<Told>
  /** What its tools give that tell of their failure in the SDK's own words. */
  readonly ownFailure?: unknown
  /** The model is told that a tool failed, and not how it did, of one that throws. */
  readonly hidesThrown?: boolean
}

const CONTENT = 'sold out'

const failure = (more: object = {}) => ({ content: CONTENT, success: false, ...more })

const MOCKS: Readonly<Record<string, ToolMock>> = {
  'that fails': failure(),
  'that fails with data': failure({ data: { left: 0 } }),
  'that fails with an error': failure({ error: new Error('no seats') }),
  'that throws': { error: new Error(CONTENT) },
}

/** On every SDK that has a mark for failed tools: it is there whoever says that the tool fails, and however. */
export function tellFailures(cases: readonly FailingCase[]): void {
  describe.each(cases)('with $name', ({ tell, ownFailure, hidesThrown }) => {
    const live = async () => 'the tool ran'

    it.each(Object.entries(MOCKS))('a mock %s is a failure for the model', async (_how, mock) => {
      const dispatcher = new HookDispatcher()
      dispatcher.use({
        name: 'mocks',
        hooks: [{ id: 'm', type: 'beforeToolCall', match: 'book', handler: (event) => event.mock(mock) }],
      })
      const told = await tell(dispatcher, live)
      const isHidden = hidesThrown && !('content' in mock)
      expect(told).toEqual({
        failed: true,
        text: isHidden ? expect.any(String) : expect.stringContaining(CONTENT),
      })
      expect(told.text).not.toContain('ran')
    })

    it('so is a gate that answers with one', async () => {
      const dispatcher = new HookDispatcher()
      const decide = () => skip(new ToolResult(failure()))
      dispatcher.use({ name: 'gate', gates: [{ id: 'g', point: 'beforeToolCall', match: 'book', decide }] })
      expect(await tell(dispatcher, live)).toEqual({ failed: true, text: expect.stringContaining(CONTENT) })
    })

    it.runIf(ownFailure)('a tool that says so itself is a failure for hooks and the model', async () => {
      const dispatcher = new HookDispatcher()
      const seen: unknown[] = []
      const handler = ({ success, content }: { success: boolean; content: string }) => {
        seen.push([success, content])
      }
      dispatcher.use({ name: 'look', hooks: [{ id: 'l', type: 'afterToolCall', handler }] })
      expect(await tell(dispatcher, async () => ownFailure)).toEqual({
        failed: true,
        text: expect.stringContaining(CONTENT),
      })
      await dispatcher.drain()
      expect(seen).toEqual([[false, CONTENT]])
    })

    it('a mock that succeeds is none', async () => {
      const dispatcher = new HookDispatcher()
      dispatcher.use({
        name: 'mocks',
        hooks: [
          {
            id: 'm',
            type: 'beforeToolCall',
            match: 'book',
            handler: (event) => event.mock({ content: 'booked', data: { seat: 7 } }),
          },
        ],
      })
      expect(await tell(dispatcher, live)).toEqual({ failed: false, text: expect.stringContaining('booked') })
    })
  })
}
