/** What stores over databases in directories have in common. No subpath of the package: it is part of theirs. */
export { Calls } from './calls.ts'
export { heldIn } from './held.ts'
export { inTurn } from './in-turn.ts'
export { fs, fsPromises, ifThere } from './node.ts'
export { NOTE, noteIn, UNPLACED_NOTE } from './note.ts'
export { databaseAmong, denial, makeDirectory, namesIn, ownName, pathOf, refuseOther } from './place.ts'
export { type FileFault, type FilesOptions, type FilesReport, filesOptions } from './report.ts'
export { syncFile, syncNames } from './sync.ts'
