import fc from 'fast-check'
import { match, matchTrajectory, readTrajectory, type TrajectoryMode } from 'hookspan/mock'
import { describe, expect, it } from 'vitest'
import { bestAlignment, bestAssignment } from '../../src/mock/trajectory/index.ts'
import { cpuMs } from '../support/cpu.ts'

const call = (name: string, args: unknown = {}) => ({ name, args, outcome: 'completed' as const })
const calls = (names: string) => [...names].map((name) => call(name))

describe('bestAssignment', () => {
  const weights = fc
    .tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 }))
    .chain(([rows, columns]) =>
      fc.array(fc.array(fc.constantFrom(0, 0.25, 0.5, 0.75, 1), { minLength: columns, maxLength: columns }), {
        minLength: rows,
        maxLength: rows,
      }),
    )
  const sum = (table: number[][], columns: number[]) =>
    columns.reduce((total, column, row) => total + (column < 0 ? 0 : (table[row]?.[column] ?? 0)), 0)
  const bruteForce = (table: number[][], row = 0, taken: number[] = []): number => {
    if (row === table.length) return 0
    let best = bruteForce(table, row + 1, taken)
    for (const [column, weight] of (table[row] ?? []).entries()) {
      if (!taken.includes(column))
        best = Math.max(best, weight + bruteForce(table, row + 1, [...taken, column]))
    }
    return best
  }
  const bruteForceInOrder = (table: number[][], row = 0, from = 0): number => {
    if (row === table.length) return 0
    let best = bruteForceInOrder(table, row + 1, from)
    for (let column = from; column < (table[row]?.length ?? 0); column++) {
      best = Math.max(best, (table[row]?.[column] ?? 0) + bruteForceInOrder(table, row + 1, column + 1))
    }
    return best
  }

  it('finds the sum that trying everything finds, with no column used twice', () => {
    fc.assert(
      fc.property(weights, (table) => {
        const assigned = bestAssignment(table)
        const used = assigned.filter((column) => column >= 0)
        expect(new Set(used).size).toBe(used.length)
        expect(sum(table, assigned)).toBe(bruteForce(table))
      }),
      { numRuns: 500 },
    )
  })

  it('finds the best sum in order, too', () => {
    fc.assert(
      fc.property(weights, (table) => {
        const assigned = bestAlignment(table, table[0]?.length ?? 0)
        const used = assigned.filter((column) => column >= 0)
        expect(used).toEqual([...new Set(used)].sort((a, b) => a - b))
        expect(sum(table, assigned)).toBe(bruteForceInOrder(table))
      }),
      { numRuns: 500 },
    )
  })
})

describe('the modes', () => {
  const table: [TrajectoryMode, string, string, boolean][] = [
    ['strict', 'abc', 'abc', true],
    ['strict', 'abc', 'acb', false],
    ['strict', 'abc', 'abcd', false],
    ['strict', 'abc', 'ab', false],
    ['strict', '', '', true],
    ['subsequence', 'ac', 'abcd', true],
    ['subsequence', 'ca', 'abcd', false],
    ['subsequence', 'aa', 'a', false],
    ['unordered', 'abc', 'cab', true],
    ['unordered', 'abc', 'cabb', false],
    ['unordered', 'abb', 'ab', false],
    ['superset', 'ca', 'abcd', true],
    ['superset', 'ae', 'abcd', false],
    ['subset', 'abcd', 'ca', true],
    ['subset', 'abcd', 'ce', false],
    ['subset', 'abcd', 'aa', false],
    ['subset', 'a', '', true],
  ]
  it.each(table)('%s: expected %s, made %s -> %s', (mode, expected, made, pass) => {
    expect(matchTrajectory(calls(made), [...expected], { mode }).pass).toBe(pass)
  })
})

describe('matchTrajectory', () => {
  it('pairs by the best assignment where a greedy one would fail', () => {
    const expected = [
      { name: 'a', args: { x: 1 } },
      { name: 'a', args: { x: 1, y: 2 } },
    ]
    const made = [call('a', { x: 1, y: 2 }), call('a', { x: 1 })]
    expect(matchTrajectory(made, expected, { mode: 'unordered', args: 'partial' }).pass).toBe(true)
  })

  it('compares arguments exactly, partially, not at all, by tool, and by predicate', () => {
    const made = [call('a', { x: 1, id: 77 })]
    const pass = (options: Parameters<typeof matchTrajectory>[2], args: unknown = { x: 1 }) =>
      matchTrajectory(made, [{ name: 'a', args }], options).pass
    expect(pass({})).toBe(false)
    expect(pass({}, { x: 1, id: match.number() })).toBe(true)
    expect(pass({ args: 'partial' })).toBe(true)
    expect(pass({ args: 'ignore' }, { z: 9 })).toBe(true)
    expect(pass({ argsByTool: { a: 'ignore' } }, { z: 9 })).toBe(true)
    expect(
      pass({
        argsByTool: { a: (actual: { id: number }, expected) => actual.id > (expected as { x: number }).x },
      }),
    ).toBe(true)
    expect(pass({ argsByTool: { a: () => false } })).toBe(false)
    expect(pass({ argsByTool: { 'a*': 'ignore', b: 'exact' } }, { z: 9 })).toBe(true)
    expect(pass({ argsByTool: { '*': 'ignore', a: 'exact' } }, { z: 9 })).toBe(false)
    expect(matchTrajectory([call('constructor', { x: 1 })], [{ name: 'constructor', args: {} }]).pass).toBe(
      false,
    )
    expect(
      matchTrajectory([call('toString', {})], [{ name: 'toString', args: {} }], { argsByTool: {} }).pass,
    ).toBe(true)
  })

  it('compares results, outcomes and agents where they are expected', () => {
    const made = [{ ...call('a'), result: { ok: true, n: 1 }, agent: 'support' }]
    expect(
      matchTrajectory(made, [{ name: 'a', result: { ok: true }, outcome: 'completed', agent: 'support' }])
        .pass,
    ).toBe(true)
    expect(matchTrajectory(made, [{ name: 'a', agent: 'other' }]).pass).toBe(false)
    const wrong = matchTrajectory(made, [{ name: 'a', result: { ok: false }, outcome: 'denied' }])
    expect(wrong.report).toContain('result.ok: expected false, got true')
    expect(wrong.report).toContain('outcome: expected denied, got completed')
    const mocked = [{ ...call('a'), outcome: 'mocked' as const }]
    expect(matchTrajectory(mocked, [{ name: 'a', outcome: 'completed' }]).pass).toBe(true)
    expect(matchTrajectory(calls('a'), [{ name: 'a', outcome: 'mocked' }]).pass).toBe(false)
  })

  it('grades, and takes a score that is high enough', () => {
    const expected = ['a', 'b', 'c', { name: 'd', args: { x: 1, y: 2 } }]
    const made = [...calls('abc'), call('d', { x: 1, y: 3 })]
    const { score, pass } = matchTrajectory(made, expected)
    expect(pass).toBe(false)
    expect(score).toBeGreaterThan(0.9)
    expect(score).toBeLessThan(1)
    expect(matchTrajectory(made, expected, { minScore: 0.9 }).pass).toBe(true)
    expect(matchTrajectory(calls('ab'), ['a', 'b', 'c', 'd']).score).toBe(0.5)
    expect(matchTrajectory([], ['a']).score).toBe(0)
  })

  it('compares lists of any length', () => {
    const long = Array.from({ length: 130_000 }, (_, index) => index)
    const { pass, score } = matchTrajectory(
      [call('a', { long })],
      [{ name: 'a', args: { long: [...long, 0] } }],
    )
    expect(pass).toBe(false)
    expect(score).toBeGreaterThan(0.9)
    const other = long.map((value) => value + 1)
    expect(matchTrajectory([call('a', { long })], [{ name: 'a', args: { long: other } }]).pass).toBe(false)
  })

  it('explains the difference as an alignment', () => {
    const expected = ['search', { name: 'book', args: { id: 7 } }, 'pay', 'mail']
    const made = [
      call('search', { q: 'x' }),
      call('book', { id: 8 }),
      call('mail'),
      call('pay'),
      call('cancel'),
    ]
    expect(matchTrajectory(made, expected).report).toBe(
      [
        'Trajectory does not match: mode strict, score 0.55, 4 calls expected, 5 made',
        '= search({"q":"x"})',
        '~ book({"id":8})',
        '    args.id: expected 7, got 8',
        '> mail({})',
        '    expected as call 4, made as call 3',
        '= pay({})',
        '+ cancel({})    not expected',
      ].join('\n'),
    )
  })

  it('says whose call it was where that may be what differs', () => {
    const made = [
      { ...call('search'), agent: 'boss' },
      { ...call('mail'), agent: 'clerk' },
    ]
    expect(matchTrajectory(made, [{ name: 'search', agent: 'clerk' }, 'mail']).report).toBe(
      [
        'Trajectory does not match: mode strict, score 0.5, 2 calls expected, 2 made',
        '+ search({})  by boss    not expected',
        '- search(…)  by clerk    expected as call 1, not made',
        '= mail({})  by clerk',
      ].join('\n'),
    )
    expect(matchTrajectory(made.slice(1), ['search']).report).not.toContain('by clerk')
  })

  it('counts forbidden and too many calls', () => {
    const result = matchTrajectory(calls('aab'), ['a', 'a', 'b'], { forbidden: ['b*'], maxCalls: { a: 1 } })
    expect(result.pass).toBe(false)
    expect(result.problems).toEqual([
      'forbidden call: "b" was called (call 3)',
      'too many calls: 2 calls of "a", at most 1 allowed',
    ])
    expect(matchTrajectory(calls('aab'), ['a', 'a', 'b'], { maxCalls: 2 }).problems).toHaveLength(1)
    expect(matchTrajectory(calls('b'), ['b'], { forbidden: ['b'], minScore: 0.1 }).pass).toBe(false)
  })

  it('keeps a partial order', () => {
    const expected = ['a', 'b', { name: 'c', after: ['a', 'b'] }, { name: 'd' }]
    const options = { mode: 'unordered' as const }
    expect(matchTrajectory(calls('dbac'), expected, options).pass).toBe(true)
    const broken = matchTrajectory(calls('acbd'), expected, options)
    expect(broken.pass).toBe(false)
    expect(broken.problems).toEqual(['wrong order: "c" was called before "b", expected after it'])
  })

  it('wants the call before, too, of a call that comes after it', () => {
    const expected = ['look', { name: 'pay', after: 'look' }]
    expect(matchTrajectory([call('look')], expected, { mode: 'subset' }).pass).toBe(true)
    const { pass, report } = matchTrajectory([call('pay')], expected, { mode: 'subset' })
    expect(pass).toBe(false)
    expect(report).toContain('"pay" was called without "look", expected after it')
  })

  it.each([
    ['a misspelt option', ['a'], { forbiden: ['b'] }, 'Unknown option `forbiden` of the trajectory'],
    ['a mode that is none', ['a'], { mode: 'strct' }, 'Expected `mode` to be one of strict, subsequence'],
    ['an arguments mode that is none', ['a'], { args: 'fuzzy' }, 'Expected `args` to be one of exact'],
    ['one by tool', ['a'], { argsByTool: { a: 'fuzzy' } }, 'Expected argsByTool.a to be one of exact'],
    [
      'a score out of range',
      ['a'],
      { minScore: 2 },
      'Expected `minScore` to be a number from 0 to 1, got `2`',
    ],
    ['a negative maximum', ['a'], { maxCalls: { a: -1 } }, 'Expected `maxCalls` to be a number >= 0'],
    ['forbidden tools that are no list', ['a'], { forbidden: 'b' }, 'Expected `forbidden` to be a list'],
    ['a misspelt key of a call', [{ name: 'a', arg: 1 }], {}, 'Unknown option `arg` of expected[0]'],
    ['a call without a name', [{ args: 1 }], {}, "Expected expected[0].name to be a tool's name"],
    ['a call that is none', [5], {}, "Expected expected[0] to be a tool's name or an object, got `5`"],
    [
      'an outcome that is none',
      [{ name: 'a', outcome: 'failed' }],
      {},
      'Expected expected[0].outcome to be one',
    ],
    ['no list', 'a', {}, 'Expected a list of expected calls, got `"a"`'],
  ])('refuses %s, which would hold for every run', (_name, expected, options, message) => {
    expect(() => matchTrajectory(calls('a'), expected as never, options as never)).toThrow(message)
  })

  it('takes what was read from another run as an expectation', () => {
    const made = readTrajectory([{ ...call('a'), identifier: 'local', toolCallId: 'c', agentPath: ['x'] }])
    expect(matchTrajectory(calls('a'), made).pass).toBe(true)
  })

  it('finds the assignment that keeps the order where another one would not', () => {
    const expected = [
      { name: 'a', id: 'first' },
      { name: 'b', after: 'first' },
      { name: 'a', after: 'b' },
    ]
    expect(matchTrajectory(calls('aba'), expected, { mode: 'unordered' }).pass).toBe(true)
    expect(matchTrajectory(calls('aab'), expected, { mode: 'unordered' }).pass).toBe(false)
  })

  it('takes little work for long traces', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `t${index % 7}`)
    const spent = await cpuMs(() =>
      expect(
        matchTrajectory(
          names.map((name) => call(name)),
          names.toReversed(),
          { mode: 'unordered' },
        ).pass,
      ).toBe(true),
    )
    expect(spent).toBeLessThan(20_000)
  })

  it('knows a tool by its home, too: in globs, among what is forbidden, and where calls are counted', () => {
    const made = [{ ...call('create_issue'), identifier: 'github' }]
    expect(matchTrajectory(made, ['github/create_*']).pass).toBe(true)
    expect(matchTrajectory(made, ['gitlab/create_*']).pass).toBe(false)
    const { problems } = matchTrajectory(made, ['*'], {
      forbidden: ['github/*'],
      maxCalls: { 'github/*': 0 },
    })
    expect(problems).toHaveLength(2)
  })

  it('pairs the calls of a subset so that none comes without what it is to come after', () => {
    const wanted = [
      { name: 'a', id: 'second', after: 'first' },
      { name: 'a', id: 'first' },
    ]
    expect(matchTrajectory(calls('a'), wanted, { mode: 'subset' }).pass).toBe(true)
    expect(matchTrajectory(calls('aa'), wanted, { mode: 'subset' }).pass).toBe(true)
    const other = [
      { name: 'b', id: 'second', after: 'first' },
      { name: 'a', id: 'first' },
    ]
    expect(matchTrajectory(calls('b'), other, { mode: 'subset' }).pass).toBe(false)
  })

  it.each([
    [
      () => matchTrajectory(calls('a'), ['a'], { mode: 'loose' as never }),
      'Expected `mode` to be one of strict',
    ],
    [() => matchTrajectory(calls('a'), 'a' as never), 'Expected a list of expected calls'],
    [() => matchTrajectory({ what: 1 }, []), 'Expected an AgentRun, hook events, spans'],
    [() => matchTrajectory(calls('a'), [{ name: 'a', after: 'x' }]), 'no expected call has it'],
    [
      () =>
        matchTrajectory(calls('a'), [
          { name: 'a', after: 'b' },
          { name: 'b', after: 'a' },
        ]),
      'round in a circle',
    ],
    [() => matchTrajectory(calls('a'), ['b', 'b', { name: 'a', after: 'b' }]), 'give them ids'],
  ])('refuses what is wrong in itself (%#)', (make, message) => {
    expect(make).toThrow(message)
  })
})

describe('a long run', () => {
  it('puts into words what is told, and not each pair of calls', () => {
    let told = 0
    const calls = Array.from({ length: 60 }, (_, id) => ({
      name: 'find',
      args: { id },
      outcome: 'completed' as const,
    }))
    const expected = calls.map(({ name, args: { id } }) => ({
      name,
      args: {
        id: {
          asymmetricMatch: (value: unknown) => value === id + 1,
          toAsymmetricMatcher: () => {
            told++
            return `${id + 1}`
          },
        },
      },
    }))
    expect(matchTrajectory(calls, expected).pass).toBe(false)
    expect(told).toBeLessThan(calls.length * 3)
  })
})
