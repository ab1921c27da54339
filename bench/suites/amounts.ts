/** How much a suite does, for what says so and for what does it: the ways of a suite are loaded after it, in a process of their own. */

/** Pairs of fresh processes in each round. */
export const ATTACHING_PAIRS = 9
export const IMPORT_PAIRS = 15

/** Calls that one model turn asks for, so that the loop around them weighs little. */
export const CALLS_PER_TURN = 50

/** What a mocked call gives. */
export const MOCKED_RESULT = { tempC: 7, wind: 'north', hours: [6, 7, 7, 5] }

/** Calls of a gate over HTTP. */
export const HTTP_AT_ONCE = 1_000
export const HTTP_CALLS = 20_000
