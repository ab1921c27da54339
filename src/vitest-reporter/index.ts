export { formatCoverage, MockCoverageReporter } from './coverage-reporter.ts'
