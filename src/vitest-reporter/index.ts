// vitest makes one of the default export of what `--reporter` names.
export { formatCoverage, MockCoverageReporter, MockCoverageReporter as default } from './coverage-reporter.ts'
