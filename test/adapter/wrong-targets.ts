import { HookDispatcher } from 'hookspan'
import { describe, expect, it, vi } from 'vitest'

/** One that observes, what it says that it takes, and what is handed in by mistake, with what is said of it. */
export interface WrongTargets {
  readonly observe: (target: never, options: never) => unknown
  readonly wants: RegExp
  readonly given: Readonly<Record<string, readonly [target: unknown, said: RegExp]>>
}

export const SECRET = 'sk-secret'

const ANYTHING: WrongTargets['given'] = {
  nothing: [undefined, /got `undefined`/],
  null: [null, /got `null`/],
  text: ['text', /got `"text"` \(string\)/],
  'an empty object': [{}, /got an empty object/],
  'options that it is made with': [{ apiKey: SECRET }, /got an object with `apiKey`/],
  'an empty list': [[], /got a list\. Call observe\w+ for each of the list/],
  'a list of what holds keys': [[{ apiKey: SECRET }], /got a list/],
  'an object of another class': [new Map(), /got an object of the class Map/],
  'the dispatcher': [new HookDispatcher(), /got an object of the class HookDispatcher/],
  'a promise': [Promise.resolve({}), /got a promise\. Await it first/],
}

/** Nobody hears of a tool that runs past its gates, so nothing that is not observed is taken without a word. */
export function refuseAlike(table: Readonly<Record<string, WrongTargets>>): void {
  describe.each(Object.entries(table))('%s refuses', (_name, { observe, wants, given }) => {
    it.each(Object.entries({ ...ANYTHING, ...given }))('%s, and says what it is', (_what, [target, said]) => {
      const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
      const dispatcher = new HookDispatcher()
      let thrown: unknown = 'it was taken'
      try {
        observe(target as never, { dispatcher } as never)
      } catch (error) {
        thrown = error
      }
      expect(thrown).toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringMatching(wants),
      })
      const { message } = thrown as Error
      expect(message).toMatch(said)
      expect(message).not.toContain(SECRET)
      expect(warn).not.toHaveBeenCalled()
      warn.mockRestore()
    })
  })
}
