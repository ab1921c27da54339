import { describe, expect, it } from 'vitest'
import { startWatched } from './support.ts'

describe('what a called agent gives', () => {
  it.each<[unknown, object]>([
    [
      { status: 'success', content: 'x' },
      { success: true, reason: 'success', content: 'x' },
    ],
    [
      { reason: 'done', error: null },
      { success: true, reason: 'done' },
    ],
    [{ status: { state: 'completed' } }, { success: true, reason: 'completed' }],
    [{ status: 200, ok: true }, { success: true }],
    ['text', { success: true, content: 'text' }],
    [
      { status: 500, ok: false },
      { success: false, errorType: '500' },
    ],
    [{ status: { state: 'failed' } }, { success: false, reason: 'failed', errorType: 'failed' }],
    [{ error: 'no' }, { success: false, errorType: '_OTHER', errorMessage: 'no' }],
    [{ error: { code: 'E1', message: 'no' } }, { success: false, errorType: 'E1', errorMessage: 'no' }],
    [{ success: false }, { success: false, errorMessage: 'Agent "far" did not finish.' }],
    [
      { isError: true, content: 'x' },
      { success: false, content: 'x' },
    ],
  ])('is read for how it ended: %j', async (given, told) => {
    const { op, told: events } = watched()
    expect(await op.callAgent({ agentName: 'far', instruction: 'i', remote: true }, () => given)).toBe(given)
    await op.complete()
    const [ended, failed] = events()
    expect(ended).toMatchObject({ hookType: 'afterCallAgent', ...told })
    expect(failed?.hookType).toBe((told as { success: boolean }).success ? undefined : 'onCallAgentError')
  })

  it('counts in no sum where its numbers are none', async () => {
    const { op, told: events } = watched()
    const usage = { inputTokens: Number.NaN, outputTokens: 1 }
    await op.callAgent({ agentName: 'far', instruction: 'i' }, () => ({ usage, costUsd: Number.NaN }))
    await op.complete()
    const [ended] = events()
    expect(ended).not.toHaveProperty('usage')
    expect(ended).not.toHaveProperty('costUsd')
  })
})

function watched() {
  const { op, events } = startWatched()
  const told = () => events.filter(({ hookType }) => /^(afterCallAgent|onCallAgentError)$/.test(hookType))
  return { op, told }
}
