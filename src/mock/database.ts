import { describeValue, HookspanError } from '../internal/errors.ts'
import { a, assertFields, expected } from '../internal/expect.ts'
import { snapshot } from '../internal/snapshot.ts'

type Row = Record<string, unknown>
type Seed = Record<string, readonly Row[]>

/** One row that is not as it was at the beginning. */
export interface RowChange {
  readonly table: string
  readonly kind: 'inserted' | 'updated' | 'deleted'
  readonly key: unknown
  readonly before?: Row
  readonly after?: Row
}

/** The rows of one table. Rows go in and out as copies: nobody changes the table by holding one. */
export class MockTable<R extends Row = Row> {
  readonly #name: string
  readonly #key: string
  readonly #rows = new Map<unknown, R>()

  constructor(name: string, key: string, rows: readonly R[]) {
    this.#name = name
    this.#key = key
    for (const row of rows) this.insert(row)
  }

  get size(): number {
    return this.#rows.size
  }

  get(key: unknown): R | undefined {
    return snapshot(this.#rows.get(key))
  }

  /** The rows for which all of these properties are equal, or the function is true; all rows without either. */
  find(where?: Partial<R> | ((row: R) => boolean)): R[] {
    const fits =
      typeof where === 'function'
        ? where
        : (row: R) => Object.entries(where ?? {}).every(([key, value]) => Object.is(row[key], value))
    return [...this.#rows.values()].map((row) => snapshot(row)).filter(fits)
  }

  /** @throws HookspanError `INVALID_CALL` when the key is missing or taken, as a database would. */
  insert(row: R): R {
    const key = row[this.#key]
    if (key === undefined)
      throw this.#invalid(`a row of "${this.#name}" needs "${this.#key}", got ${describeValue(row)}`)
    if (this.#rows.has(key)) throw this.#invalid(`"${this.#name}" has a row ${describeValue(key)} already`)
    this.#rows.set(key, snapshot(row))
    return snapshot(row)
  }

  /** @throws HookspanError `INVALID_CALL` when there is no such row. */
  update(key: unknown, change: Partial<R> | ((row: R) => Partial<R>)): R {
    const row = this.get(key)
    if (row === undefined) throw this.#invalid(`"${this.#name}" has no row ${describeValue(key)}`)
    const updated = { ...row, ...(typeof change === 'function' ? change(row) : snapshot(change)) }
    this.#rows.set(key, snapshot(updated))
    return updated
  }

  /** Whether there was such a row. */
  delete(key: unknown): boolean {
    return this.#rows.delete(key)
  }

  #invalid(problem: string): HookspanError {
    return new HookspanError('INVALID_CALL', `Mock database: ${problem}.`)
  }
}

/**
 * A small world in memory that several mocked tools read and write, and a test looks at in the end.
 *
 * @param seed tables by name; every row has the `key` property.
 * @example
 * const db = mockDatabase({ orders: [{ id: '7', state: 'open' }] })
 * mock('cancel_order').calls(({ id }) => db.table('orders').update(id, { state: 'cancelled' }))
 */
export function mockDatabase<S extends Seed>(seed: S, options: { key?: string } = {}): MockDatabase<S> {
  assertFields(options, { key: a.name }, 'mockDatabase')
  return new MockDatabase(seed, options.key ?? 'id')
}

export class MockDatabase<S extends Seed = Seed> {
  readonly #tables = new Map<string, MockTable>()
  readonly #before: Record<string, Row[]>
  readonly #key: string

  constructor(seed: S, key: string) {
    this.#key = key
    if (!a.object.fits(seed) || !Object.values(seed).every(a.objects.fits)) {
      throw expected('the tables of mockDatabase to be lists of rows by their name', seed)
    }
    for (const [name, rows] of Object.entries(seed)) this.#tables.set(name, new MockTable(name, key, rows))
    this.#before = this.snapshot()
  }

  /** @throws HookspanError `INVALID_CALL` for an unknown name. */
  table<N extends keyof S & string>(name: N): MockTable<S[N][number] & Row> {
    const table = this.#tables.get(name)
    if (table === undefined) {
      const known = [...this.#tables.keys()].join(', ')
      throw new HookspanError(
        'INVALID_CALL',
        `Mock database: no table ${describeValue(name)}. Tables: ${known}.`,
      )
    }
    return table as unknown as MockTable<S[N][number] & Row>
  }

  /** Every row of every table, as copies. */
  snapshot(): Record<string, Row[]> {
    return Object.fromEntries([...this.#tables].map(([name, table]) => [name, table.find()]))
  }

  /** What the tools changed since the beginning. */
  changes(): RowChange[] {
    return [...this.#tables].flatMap(([table, rows]) => {
      const before = new Map(this.#before[table]?.map((row) => [row[this.#key], row]))
      const after = new Map(rows.find().map((row) => [row[this.#key], row]))
      const keys = [...new Set([...before.keys(), ...after.keys()])]
      return keys.flatMap((key): RowChange[] => {
        const [was, is] = [before.get(key), after.get(key)]
        if (was === undefined && is !== undefined) return [{ table, kind: 'inserted', key, after: is }]
        if (was !== undefined && is === undefined) return [{ table, kind: 'deleted', key, before: was }]
        if (JSON.stringify(was) === JSON.stringify(is)) return []
        return [{ table, kind: 'updated', key, before: was as Row, after: is as Row }]
      })
    })
  }
}
