import { findTemporal } from '../../../scripts/temporal.ts'

/** Undefined where there is no Temporal. */
export const temporalProgram = findTemporal()

/** For the name of what is skipped. */
export const WITHOUT_TEMPORAL = temporalProgram
  ? ''
  : ': there is none, run `npm run temporal:install` or set TEMPORAL_BIN'
