import { a, assertFields } from '../internal/expect.ts'
import type { MockCoverage } from '../mock/index.ts'

interface TestCase {
  meta(): object
}

interface TestModule {
  children: { allTests(): Iterable<TestCase> }
}

/**
 * A vitest reporter: which tools the tests knew, mocked, and ran for real.
 *
 * @example
 * // vitest.config.ts
 * test: { reporters: ['default', 'hookspan/vitest-reporter'] }
 */
export class MockCoverageReporter {
  readonly #write: (text: string) => void

  constructor(options: { write?: (text: string) => void } = {}) {
    assertFields(options, { write: a.function }, 'MockCoverageReporter')
    this.#write = options.write ?? ((text) => process.stdout.write(text))
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const all = modules.flatMap((module) =>
      [...module.children.allTests()].flatMap((test) => coverageOf(test) ?? []),
    )
    if (all.length > 0) this.#write(`\n${formatCoverage(all)}\n`)
  }
}

function coverageOf(test: TestCase): MockCoverage | undefined {
  return (test.meta() as { hookspan?: MockCoverage }).hookspan
}

/** A line per group: `mocked 3 of 4 tools, ...`. */
export function formatCoverage(all: readonly MockCoverage[]): string {
  const names = (key: keyof MockCoverage) => [...new Set(all.flatMap((one) => one[key]))].sort()
  const [discovered, mocked, live, refused] = [
    names('discovered'),
    names('mocked'),
    names('live'),
    names('refused'),
  ]
  const never = discovered.filter((name) => ![mocked, live, refused].some((list) => list.includes(name)))
  const line = (label: string, list: readonly string[]) =>
    list.length === 0 ? [] : [`  ${label}  ${list.join(', ')}`]
  return [
    `Mock coverage: ${mocked.length} of ${discovered.length} tools mocked, ${live.length} live, in ${all.length} tests`,
    ...line('mocked ', mocked),
    ...line('live   ', live),
    ...line('refused', refused),
    ...line('unused ', never),
  ].join('\n')
}
