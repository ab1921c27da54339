import { expect, it } from 'vitest'
import { errorKind } from './error-kind.ts'

it.each([
  ['Error: flight HAT030 not available on date 2024-05-13', 'Error: flight HAT# not available on date #'],
  ['total price is 305, but paid 255.50', 'total price is #, but paid #'],
  ['user mia_li_3668 not found', 'user # not found'],
  ['no order 123e4567-e89b-12d3-a456-426614174000 or 00f067aa0ba902b7', 'no order # or #'],
  ['connect ECONNREFUSED 127.0.0.1:443', 'connect ECONNREFUSED #'],
  ['connect ECONNREFUSED shop.example:443', 'connect ECONNREFUSED shop.example:#'],
  ["ENOENT: no such file, open '/home/me/notes.txt'", 'ENOENT: no such file, open …'],
  ['ENOENT: no such file, open C:\\Users\\me\\notes.txt', 'ENOENT: no such file, open …'],
  ['No tool "refund" in `shop`', 'No tool … in …'],
  ['GET https://api.example/v1/orders/17?page=2 timed out', 'GET https://api.example/… timed out'],
])('counts %j as %j', (message, kind) => {
  expect(errorKind(message)).toBe(kind)
})

it.each([
  // A status is the kind of failure it is.
  '503 the model is overloaded.',
  'Request failed with status code 404',
  // What another program said.
  'Agent failed: "the shop is closed on Sundays"',
  '{"error":{"message":"Invalid key","type":"auth"}}',
  "can't read the user's and/or the shop's list",
])('leaves %j as it is', (message) => {
  expect(errorKind(message)).toBe(message)
})

it('ends long messages of one kind alike, however long their ids are', () => {
  const long = (id: string) => `order ${id}: ${'it does not fit '.repeat(20)}`
  expect(errorKind(long('7'))).toBe(errorKind(long('7'.repeat(40))))
})
