import { asObjects, asText } from '../../wire/reading.ts'

/** The words of a message's content, which is a text or has parts. */
export function saidIn(content: unknown): string {
  const texts = asObjects(content).flatMap(({ text }) => asText(text) ?? [])
  return asText(content) ?? texts.join('\n')
}
