/**
 * How often records have to be asked for before they are gathered. To gather some takes about as long as is spared when each is served eight times; so where
 * clusters are pushed out before that, it takes more askings, twice as many each time that shows. After a while without that fewer are tried again.
 */
const GATHERED_AT = { least: 8, most: 256 }
/** Look-ups after which half as many askings are enough. */
const CALM = 2 ** 20

export class Gathering {
  private at = GATHERED_AT.least
  /** As of this look-up. */
  private since = 0
  /** Records of late: what is older counts less. */
  private gathered = 0
  private served = 0

  /** @param lookUps so far */
  atLeast(lookUps: number): number {
    return Math.max(GATHERED_AT.least, this.at / 2 ** Math.floor((lookUps - this.since) / CALM))
  }

  gather(records: number): void {
    this.gathered += records
  }

  serve(records: number): void {
    this.served += records
  }

  /** To be called when much was pushed out. */
  judge(lookUps: number): void {
    const at = this.atLeast(lookUps)
    const pays = this.served >= GATHERED_AT.least * this.gathered
    this.at = pays ? Math.max(GATHERED_AT.least, at / 2) : Math.min(GATHERED_AT.most, 2 * at)
    this.since = lookUps
    this.gathered /= 2
    this.served /= 2
  }
}
