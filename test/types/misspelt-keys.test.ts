import { describe, expect, it } from 'vitest'
import { all, asks, CALLS, type Call } from '../support/option-calls.ts'

/** A letter less, or one twice, or two exchanged: what is no key itself. */
function misspellings(key: string, keys: readonly string[]): string[] {
  const swapped = `${key.slice(0, -2)}${key.at(-1)}${key.at(-2)}`
  return [key.slice(0, -1), `${key}${key.at(-1)}`, swapped].filter(
    (name) => name.length > 1 && name !== key && !keys.includes(name),
  )
}

describe('the types of what is handed in', () => {
  it('are read: those of all subpaths', () => {
    expect(all.length).toBeGreaterThan(150)
    expect(all.find(({ who, type }) => who === 'execAgent' && type === 'AgentTool')?.keys).toContain(
      'needsApproval',
    )
  })

  it('are each asked about here, or have a reason not to be', () => {
    const forgotten = asks.filter(({ who, type }) => CALLS[who]?.[type] === undefined)
    expect(forgotten.map(({ who, type }) => `${who}: ${type}`)).toEqual([])
  })

  it('are there for every call of this table', () => {
    const known = new Set(asks.map(({ who, type }) => `${who}: ${type}`))
    const made = Object.entries(CALLS).flatMap(([who, types]) =>
      Object.keys(types).map((type) => `${who}: ${type}`),
    )
    expect(made.filter((call) => !known.has(call))).toEqual([])
  })
})

describe.each(asks.map((taken) => [taken.who, taken.type.slice(0, 40), taken] as const))(
  '%s, %s',
  (who, _type, taken) => {
    it.each(taken.keys)('refuses a misspelt %s, and names it', async (key) => {
      const call = CALLS[who]?.[taken.type] as Call
      const wrong = misspellings(key, taken.keys)
      expect(wrong).not.toEqual([])
      const messages: string[] = []
      for (const name of wrong) {
        const refused = (async () => call({ [name]: 1 }))()
        await expect(refused, name).rejects.toMatchObject({
          code: expect.stringMatching(/^(INVALID_|MOCK_INVALID)/),
          message: expect.stringMatching(new RegExp(`[Uu]nknown .*\\b${name}\\b`)),
        })
        messages.push(await refused.then(String, (error: Error) => error.message))
      }
      expect(
        messages.some((message) => new RegExp(`Did you mean [\`"]${key}[\`"]`).test(message)),
        messages.join('\n'),
      ).toBe(true)
    })
  },
)
