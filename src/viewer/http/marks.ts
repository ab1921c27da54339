/** What a person says of a run, as it is sent. */
import { errorMessage, errorSentence } from '../../internal/errors.ts'
import { a, assertFields, type Fields, shape } from '../../internal/expect.ts'
import { MARKS, type Marking } from '../model/span.ts'
import { HttpError } from './body.ts'

const NOTE_CHARS = 10_000
const LABEL_CHARS = 100
const MOST_LABELS = 50

const FIELDS: Fields<Marking> = {
  mark: a.oneOf(...MARKS),
  note: shape(
    `a text of at most ${NOTE_CHARS} characters`,
    (value) => typeof value === 'string' && value.length <= NOTE_CHARS,
  ),
  labels: shape(
    `a list of at most ${MOST_LABELS} texts of 1 to ${LABEL_CHARS} characters`,
    (value) => Array.isArray(value) && value.length <= MOST_LABELS && value.every(isLabel),
  ),
}

function isLabel(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && value.length <= LABEL_CHARS
}

/** @throws HttpError 400 for what is no JSON, 422 naming what is wrong. */
export function readMarking(body: Buffer): Marking {
  let given: unknown
  try {
    given = JSON.parse(body.toString())
  } catch (error) {
    throw new HttpError(400, `The marks are not JSON: ${errorSentence(error)}`)
  }
  try {
    assertFields<Marking>(given, FIELDS, 'the marks')
  } catch (error) {
    throw new HttpError(422, errorMessage(error))
  }
  const { labels } = given
  return labels ? { ...given, labels: [...new Set(labels.map((label) => label.trim()))] } : given
}
