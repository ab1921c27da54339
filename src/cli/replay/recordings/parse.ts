import { describeValue, errorMessage, errorSentence } from '../../../internal/errors.ts'
import { jsonIn } from '../../../internal/json.ts'
import { FileTooLarge, readRegularFile } from '../../../internal/read-regular-file.ts'
import { detectFormat } from './detect.ts'
import { parseLangfuse } from './langfuse.ts'
import { parseLangSmith } from './langsmith.ts'
import { parseOpenAIChat, restoreChatMessage } from './openai-chat.ts'
import type { OnBad } from './parse-each.ts'
import { parsePhoenix } from './phoenix.ts'
import { RecordingError } from './recording-error.ts'
import { parseSweAgent } from './swe-agent.ts'
import { parseTauBench } from './tau-bench.ts'
import { parseTau2Bench, restoreTau2Message } from './tau2-bench.ts'
import type { RecordedRun, RecordingFormat } from './types.ts'
import { parseWhoAndWhen } from './who-and-when.ts'

export interface ReadOptions {
  /** Larger files are refused, in bytes. A file is held in memory as a whole. @default 268_435_456 (256 MiB) */
  maxFileBytes?: number
  /** Told of a conversation that cannot be replayed; the others are read. @default the first one is thrown */
  onBad?: OnBad
}

const KNOWN_FORMATS =
  'OpenAI chat messages (`[message, …]`, `{"messages": […]}`, a list of these, or one a line), ' +
  'tau-bench (`[{"traj": […]}, …]`), tau2-bench (`{"simulations": […]}`), SWE-agent (`{"trajectory": […], "history": […]}`), ' +
  'Who&When (`{"history": […], "mistake_agent": …}`), and exports of LangSmith (runs with a `run_type`), ' +
  'Langfuse (observations with a `traceId`) and Phoenix (spans with a `context`)'

/**
 * Every run of a file.
 *
 * @throws RecordingError when the file cannot be read or is no recording, naming the place and the mend.
 */
export async function readRecordings(
  path: string,
  { maxFileBytes = 2 ** 28, onBad }: ReadOptions = {},
): Promise<RecordedRun[]> {
  const place = { source: path }
  let bytes: Buffer
  try {
    bytes = readRegularFile(path, maxFileBytes)
  } catch (error) {
    if (error instanceof FileTooLarge) {
      throw new RecordingError(place, `${errorSentence(error)} Split it into smaller files.`, {
        cause: error,
      })
    }
    throw new RecordingError(place, `the file cannot be read (${errorMessage(error)}). Check the path.`, {
      cause: error,
    })
  }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new RecordingError(place, 'the file is not UTF-8 text. If it is compressed, unpack it first.', {
      cause: error,
    })
  }
  return parseRecordings(text, path, onBad)
}

/**
 * Every run of a text in one of the known formats.
 *
 * @param source Name of the text, for messages.
 * @param onBad Told of a conversation that cannot be replayed; the others are read. Without it the first one is thrown.
 * @throws RecordingError
 */
export function parseRecordings(text: string, source: string, onBad?: OnBad): RecordedRun[] {
  if (text.trim() === '') throw new RecordingError({ source }, 'the file is empty. Record the run again.')
  let told = 0
  const tell =
    onBad &&
    ((error: RecordingError) => {
      told++
      onBad(error)
    })
  const value = parseJson(text, source, tell)
  const format = detectFormat(value)
  if (!format) {
    if (Array.isArray(value) && value.length === 0) {
      throw new RecordingError({ source }, 'the file holds an empty list, so there is nothing to replay.')
    }
    throw new RecordingError(
      { source },
      `no known format: found ${describeValue(value)}. Known are ${KNOWN_FORMATS}.`,
    )
  }
  const runs = PARSERS[format](value, source, tell)
  if (runs.length === 0 && told === 0)
    throw new RecordingError({ source }, 'the file holds no runs, so there is nothing to replay.')
  return runs
}

const PARSERS: Record<RecordingFormat, (value: unknown, source: string, onBad?: OnBad) => RecordedRun[]> = {
  'openai-chat': parseOpenAIChat,
  'tau-bench': parseTauBench,
  'tau2-bench': parseTau2Bench,
  'swe-agent': parseSweAgent,
  'who-and-when': parseWhoAndWhen,
  langsmith: parseLangSmith,
  langfuse: parseLangfuse,
  phoenix: parsePhoenix,
}

/**
 * The messages of the run as they were recorded, key by key.
 *
 * @throws TypeError for formats of other things than messages.
 */
export function restoreMessages({ format, items }: RecordedRun): unknown[] {
  return items.map(format === 'tau2-bench' ? restoreTau2Message : restoreChatMessage)
}

function parseJson(text: string, source: string, onBad: OnBad | undefined): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const lines = text.split('\n').map((line) => line.trim())
    if (typeof jsonIn(lines.find(Boolean) ?? '') === 'object') return parseLines(lines, source, onBad)
    const position = Number(/position (\d+)/.exec(errorMessage(error))?.[1])
    const truncated =
      /end of JSON input|Unterminated/i.test(errorMessage(error)) || position >= text.trimEnd().length
    throw new RecordingError(
      { source },
      `not JSON: ${errorSentence(error)} ` +
        (truncated ? 'The file ends too early: copy or download it again.' : 'Mend the file at that place.'),
      { cause: error },
    )
  }
}

/** One conversation a line; empty lines are passed over. */
function parseLines(lines: string[], source: string, onBad: OnBad | undefined): unknown[] {
  const conversations: unknown[] = []
  for (const [index, line] of lines.entries()) {
    if (line === '') continue
    try {
      conversations.push(JSON.parse(line))
    } catch (cause) {
      const error = new RecordingError(
        { source, run: conversations.length },
        `line ${index + 1} is not JSON: ${errorSentence(cause)} Put one whole conversation on each line.`,
        { cause },
      )
      if (onBad === undefined) throw error
      onBad(error)
    }
  }
  return conversations
}
