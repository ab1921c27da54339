import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { EVENT_SCHEMA_VERSION, HookDispatcher, type HookEvent } from 'hookspan'
import { beforeAll, describe, expect, it } from 'vitest'
import { EVENTS_FILE, eventSchema, schemaText } from '../../scripts/event-schemas.ts'
import { ALL_TYPES, collector, everything, failures, hooksOfEveryType } from './support.ts'

const published = readFileSync(new URL(`../../schemas/${EVENTS_FILE}`, import.meta.url), 'utf8')
const ajv = new Ajv({ strict: false, allErrors: false })
const validate = ajv.compile(JSON.parse(published))

let events: HookEvent[]

beforeAll(async () => {
  const seen = collector()
  const dispatcher = new HookDispatcher(failures())
  dispatcher.use({ name: 'all', hooks: hooksOfEveryType(seen.handler) })
  await everything(dispatcher)
  // As they arrive at whoever reads them as JSON.
  events = JSON.parse(JSON.stringify(seen.events))
})

/** Whether the definition of a hook type takes an event. */
function takes(type: string, event: unknown): boolean {
  const { definitions } = JSON.parse(published)
  return ajv.compile({ $ref: `#/definitions/${type}`, definitions })(event) as boolean
}

describe('the published schema of events', () => {
  it('is what the types say: run `npm run schemas` when this fails', () => {
    expect(published).toBe(schemaText(eventSchema()))
  })

  it('has the version of the events in its name', () => {
    expect(EVENTS_FILE).toBe(`events-${EVENT_SCHEMA_VERSION}.schema.json`)
  })

  it('takes every event of a real run, and there is one of each type', () => {
    expect(new Set(events.map(({ hookType }) => hookType))).toEqual(new Set(ALL_TYPES))
    for (const event of events)
      expect(validate(event), `${event.hookType}: ${ajv.errorsText(validate.errors)}`).toBe(true)
  })

  it('has a definition per type, which takes the events of this type only', () => {
    for (const type of ALL_TYPES) {
      const ofType = events.find(({ hookType }) => hookType === type)
      const other = events.find(({ hookType }) => hookType !== type)
      expect([type, takes(type, ofType), takes(type, other)]).toEqual([type, true, false])
    }
  })

  it('names every field that real events have', () => {
    const closed = new Ajv({ strict: false }).compile(eventSchema({ closed: true }))

    for (const event of events)
      expect(closed(event), `${event.hookType}: ${JSON.stringify(closed.errors?.at(-1))}`).toBe(true)
  })

  it.each([
    ['an unknown type', { hookType: 'beforeToolcall' }],
    ['another version', { schemaVersion: '2.0' }],
    ['a negative sequence', { sequence: -1 }],
    ['half a sequence', { sequence: 0.5 }],
    ['a time that is text', { timestamp: '2026-01-01' }],
    ['no operation', { operationId: undefined }],
    ['no root', { rootOperationId: null }],
  ])('refuses %s', (_name, broken) => {
    for (const event of events)
      expect(validate(JSON.parse(JSON.stringify({ ...event, ...broken })))).toBe(false)
  })

  it('refuses an event without what its type requires', () => {
    const required = {
      afterToolCall: 'success',
      onError: 'errorType',
      onComplete: 'reason',
      afterLlmCall: 'response',
    }
    for (const [type, field] of Object.entries(required)) {
      const event = events.find(({ hookType }) => hookType === type)
      expect([type, validate({ ...event, [field]: undefined })]).toEqual([type, false])
    }
  })

  it('takes a field that a later version adds', () => {
    for (const event of events) expect(validate({ ...event, addedLater: 1 })).toBe(true)
  })
})
