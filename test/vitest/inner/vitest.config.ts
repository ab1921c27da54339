import { defineConfig } from 'vitest/config'
import { MockCoverageReporter } from '../../../src/vitest-reporter/index.ts'
import outer from '../../../vitest.config.ts'

export default defineConfig({
  resolve: (outer as { resolve: object }).resolve,
  test: {
    include: ['test/vitest/inner/*.inner.ts'],
    reporters: [
      'default',
      ['json', { outputFile: process.env.INNER_REPORT }],
      new MockCoverageReporter({ write: (text) => process.stdout.write(text) }),
    ],
  },
})
