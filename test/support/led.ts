/** Pages as no ledger gives them: for plants, and for tests that stand in for a ledger. */
import { writeAscii } from '../../src/bytes.ts'
import { type Ended, RawPage } from '../../src/scan/page.ts'

/** A page that goes on after another cursor than that of its last record. */
export class LedPage extends RawPage {
  private readonly goesOn: string

  constructor(slices: RawPage['slices'], next: string, ended: Ended) {
    super(slices, { cursor: next, ended, final: false })
    this.goesOn = next
  }

  override get next(): string {
    return this.goesOn
  }

  override writeNext(bytes: Uint8Array, at: number): number {
    return at + writeAscii(bytes, at, this.goesOn)
  }
}
