/** Runs `round`, and again as long as `seen` lacks something, as few random runs may not come to all: at most five times. */
export async function untilSeen(seen: () => boolean, round: () => Promise<void>): Promise<void> {
  for (let rounds = 0; rounds < 5 && (rounds === 0 || !seen()); rounds++) await round()
}
