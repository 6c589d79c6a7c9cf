/** What stores that keep their files in a directory have in common. No subpath of the package: it is part of theirs. */
export { noteIn } from './note.ts'
export { denial, makeDirectory, namesIn, pathOf, refuseOther } from './place.ts'
export { type FileFault, type FilesOptions, type FilesReport, filesOptions } from './report.ts'
export { syncNames } from './sync.ts'
