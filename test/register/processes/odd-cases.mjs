/** Runs the cases one after the other, and says how each went. */
export async function each(cases) {
  for (const [name, run] of Object.entries(cases)) {
    try {
      console.log(`${name}: ${await run()}`)
    } catch (error) {
      console.log(`${name}: ${error.name}: ${error.message}`)
    }
  }
}

/** All of an object and of what it is made of, as SES or a careful library leaves it. */
export const frozen = Object.freeze
