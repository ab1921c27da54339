/** Choices that this browser keeps. A file opened from disk may have no storage; they then last as long as the page. */
export function readKept<T>(name: string, fallback: T): T {
  try {
    const text = localStorage.getItem(name)
    return text === null ? fallback : (JSON.parse(text) as T)
  } catch {
    return fallback
  }
}

export function keep(name: string, value: unknown): void {
  try {
    localStorage.setItem(name, JSON.stringify(value))
  } catch {
    // As said.
  }
}
