/**
 * Where a record is: the ordinals of a log have no holes, so the block that holds a record, and its place there, follow from its ordinal. Ordinals may
 * lie beyond 2^32, where a shift would cut them; what lies within a block is in their lowest bits, which a mask always keeps.
 */

/** What these need of a resource: a block holds 2^shift of its records. */
interface Log {
  readonly shift: number
}

/** How many records a full block holds. */
export const recordsPerBlock = ({ shift }: Log): number => 1 << shift

/** The number of the block that holds a record; for a count of records, of the block that the next one goes into. */
export const blockNumber = ({ shift }: Log, ordinal: number): number => blockBySize(1 << shift, ordinal)

/** The same for loops that have {@link recordsPerBlock} at hand: resources have several shapes, which makes asking one for a member slow. */
export const blockBySize = (size: number, ordinal: number): number => Math.floor(ordinal / size)

/** Which record of its block it is; for a count of records, how many the last block holds if it is not full. */
export const placeInBlock = ({ shift }: Log, ordinal: number): number => ordinal & ((1 << shift) - 1)

/** The ordinal of the first record of a block. */
export const firstOfBlock = ({ shift }: Log, number: number): number => number * (1 << shift)

/** How many records block `number` holds if its log has `count`; not above 0 if it has none of them. */
export const recordsInBlock = ({ shift }: Log, number: number, count: number): number => Math.min(1 << shift, count - number * (1 << shift))
