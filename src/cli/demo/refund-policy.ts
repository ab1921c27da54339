/**
 * A policy as a program of its own, in any language: the question comes as JSON on standard input, the decision
 * goes as JSON to standard output. This one lets nobody refund more than was paid.
 */
import { readFileSync } from 'node:fs'

const { payload } = JSON.parse(readFileSync(0, 'utf8')) as { payload: { amountEur?: unknown } }
const paidEur = Number(process.env.PAID_EUR)
const decision =
  Number(payload.amountEur) > paidEur
    ? {
        decision: 'deny',
        code: 'refund_limit',
        reason: `a refund of €${payload.amountEur} is more than the €${paidEur} that were paid`,
      }
    : { decision: 'proceed' }
process.stdout.write(JSON.stringify(decision))
