import { HookDispatcher } from 'hookspan'
import { describe, expect, it } from 'vitest'

/** What became of a call whose runtime asks somebody, and what the tool ran with. */
async function call(permit: unknown): Promise<{ outcome: unknown; ran: unknown[] }> {
  const ran: unknown[] = []
  const op = new HookDispatcher().startOperation()
  const init = { apiName: 'pay', args: { amount: 1 }, permit: async () => permit } as never
  const outcome = await op.step((step) => step.toolCall(init, (args) => void ran.push(args)))
  await op.complete()
  return { outcome, ran }
}

describe('whom the runtime itself asks about a call', () => {
  it('lets it run, or changes its arguments, or refuses it', async () => {
    expect(await call(undefined)).toMatchObject({ outcome: { state: 'completed' }, ran: [{ amount: 1 }] })
    expect(await call({ args: { amount: 2 } })).toMatchObject({ ran: [{ amount: 2 }] })
    const refused = { outcome: { state: 'rejected', code: 'rejected', reason: 'no' }, ran: [] }
    expect(await call({ kind: 'reject', reason: 'no' })).toMatchObject(refused)
  })

  it.each([
    null,
    false,
    'no',
    {},
    { kind: 'no' },
    { kind: 'deny' },
    { kind: 'deny', reason: 'no', cod: 'x' },
  ])('and says what cannot be understood, such as %j: then it does not run', async (said) => {
    const { outcome, ran } = await call(said)
    expect(ran).toEqual([])
    const message = expect.stringContaining('what refuses a tool call')
    expect(outcome).toMatchObject({ state: 'errored', error: { code: 'INVALID_CALL', message } })
  })
})
