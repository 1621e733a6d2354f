/** Why a part of the GUI could not be loaded: the appliance is out of reach, it serves another version by now, or it has no such file. */
export type Cause = 'unreachable' | 'version' | 'unknown';

/** PartMissing is thrown where a part of the GUI should be drawn that could not be loaded. */
export class PartMissing extends Error {
  override name = 'PartMissing';

  constructor(
    readonly because: Cause,
    readonly error: unknown,
  ) {
    super(error instanceof Error ? error.message : String(error));
  }
}

/** All parts that could not be loaded, by what forgets that. */
const failures = new Set<() => void>();

/** Has the parts that could not be loaded be loaded anew when they are drawn the next time. */
export function retryParts() {
  failures.forEach((forget) => forget());
  failures.clear();
}

/** A part of the GUI that is loaded when it is first needed. A failed load is kept until retryParts forgets it. */
export class Part<T> {
  value?: T;
  failure?: PartMissing;
  private loading?: Promise<void>;

  constructor(
    private readonly load: () => Promise<T>,
    private readonly why: () => Promise<Cause> = causeNow,
  ) {}

  /** Begins to load the part, if that has not begun yet. The promise never fails. */
  begin(): Promise<void> {
    return (this.loading ??= this.twice().then(
      (value) => void (this.value = value),
      async (error: unknown) => {
        this.failure = new PartMissing(await this.why(), error);
        failures.add(() => this.forget());
      },
    ));
  }

  /** Loads the part before it is drawn: if that failed before, anew. */
  preload(): Promise<void> {
    if (this.failure) this.forget();
    return this.begin();
  }

  /** Loads it, once more if that fails: networks lose single requests. */
  private twice(): Promise<T> {
    return this.load().catch(() => this.load());
  }

  private forget() {
    if (this.value === undefined) this.loading = this.failure = undefined;
  }
}

/** Finds out why the file of a part does not come. */
async function causeNow(): Promise<Cause> {
  const entry = document.querySelector<HTMLScriptElement>('script[type=module][src]')?.getAttribute('src');
  try {
    const page = await fetch('/gui/', { cache: 'no-store' });
    return page.ok && entry && !(await page.text()).includes(entry) ? 'version' : 'unknown';
  } catch {
    return 'unreachable';
  }
}
