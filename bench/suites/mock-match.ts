import { isDeepStrictEqual } from 'node:util'
import { HookDispatcher } from 'hookspan'
import { type MockRule, match, mock, mockTools } from 'hookspan/mock'
import type { Suite, Workload } from '../harness/types.ts'

const RULES = 1_000
const argsOf = (index: number) => ({
  order: `order-${index}`,
  lines: [{ sku: 'a', count: index }],
  note: 'none',
})

/** A thousand calls against a thousand rules, each call for another rule. */
function workload(rules: () => MockRule[], toolOf: (index: number) => string): Workload {
  let answered = 0
  return {
    async run(count) {
      for (let done = 0; done < count; done += RULES) {
        const dispatcher = new HookDispatcher()
        using _mocks = mockTools(dispatcher, rules())
        const operation = dispatcher.startOperation()
        for (let i = 0; i < RULES; i++) {
          const init = { toolCallId: 'call', apiName: toolOf(i), args: argsOf(i) }
          const outcome = await operation.toolCall<unknown, unknown>(init, () => 'real')
          if ('result' in outcome && outcome.result === i) answered++
        }
        await operation.complete()
      }
    },
    verify: (total) => {
      if (answered !== total) throw new Error(`${answered} of ${total} calls got their rule.`)
      return { answered: 'all' }
    },
  }
}

const many = (rule: (index: number) => MockRule) => () =>
  Array.from({ length: RULES }, (_, index) => rule(index))

function plainSearch(): Workload {
  let answered = 0
  const rules = Array.from({ length: RULES }, (_, index) => ({ args: argsOf(index), result: index }))
  return {
    run(count) {
      for (let done = 0; done < count; done += RULES) {
        for (let i = 0; i < RULES; i++) {
          const args = argsOf(i)
          if (rules.find((rule) => isDeepStrictEqual(rule.args, args))?.result === i) answered++
        }
      }
    },
    verify: (total) => {
      if (answered !== total) throw new Error(`${answered} of ${total} calls got their rule.`)
      return { answered: 'all' }
    },
  }
}

export const mockMatch: Suite = {
  id: 'mock-match',
  title: 'Matching 1,000 calls against 1,000 rules',
  notes: [
    'Microseconds per call, the call itself included. `One tool`: all rules are for one tool and tell calls apart by arguments, so that on average 500 of them are looked at. `Many tools`: each rule is for a tool of its own.',
  ],
  unit: 'us',
  clock: 'wall',
  rounds: 5,
  effort: { warmups: 1, batches: 7, count: RULES },
  baselines: [{ title: 'x a list and `isDeepStrictEqual`', of: () => 'plain' }],
  variants: [
    {
      id: 'plain',
      title: 'a list, searched with `isDeepStrictEqual`, no call made',
      load: async () => plainSearch(),
    },
    {
      id: 'many-tools',
      title: '**hookspan**, many tools',
      load: async () =>
        workload(
          many((i) => mock(`tool_${i}`).returns(i)),
          (i) => `tool_${i}`,
        ),
    },
    {
      id: 'one-tool',
      title: '**hookspan**, one tool, partial arguments',
      load: async () =>
        workload(
          many((i) =>
            mock('t')
              .when({ order: `order-${i}` })
              .returns(i),
          ),
          () => 't',
        ),
    },
    {
      id: 'one-tool-matchers',
      title: '**hookspan**, one tool, matchers',
      load: async () =>
        workload(
          many((i) =>
            mock('t')
              .when({ order: match.regex(new RegExp(`^order-${i}$`)), lines: [{ count: match.gte(i) }] })
              .returns(i),
          ),
          () => 't',
        ),
    },
  ],
  aims: [
    {
      text: 'a call among 1,000 rules for one tool',
      measure: (of) => of('one-tool'),
      atMost: 200,
      unit: 'us',
    },
  ],
}
