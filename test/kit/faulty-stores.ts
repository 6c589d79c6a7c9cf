/** Every store that breaks one law by its calls alone. */
import { storesWithCorners } from './faulty-corners.ts'
import { storesWithMore } from './faulty-extras.ts'
import { storesOfOtherForms } from './faulty-forms.ts'
import { storesThatOverlap } from './faulty-overlaps.ts'
import { storesThatMisread } from './faulty-reads.ts'
import { storesWithSnapshots } from './faulty-snapshots.ts'
import type { FaultyStore } from './faulty-store.ts'
import { storesOfVersions } from './faulty-versions.ts'
import { storesThatMiswrite } from './faulty-writes.ts'

export const faultyStores: readonly FaultyStore[] = [
  ...storesThatMisread,
  ...storesThatMiswrite,
  ...storesThatOverlap,
  ...storesWithMore,
  ...storesWithSnapshots,
  ...storesOfVersions,
  ...storesOfOtherForms,
  ...storesWithCorners,
]
