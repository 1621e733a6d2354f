/**
 * The reason why a part of the GUI could not be loaded: the appliance is unreachable, it now serves another version, or
 * the file does not exist.
 */
export type Cause = 'unreachable' | 'version' | 'unknown';

/** PartMissing is thrown instead of rendering a part that could not be loaded. */
export class PartMissing extends Error {
  override name = 'PartMissing';

  constructor(
    readonly because: Cause,
    readonly error: unknown,
  ) {
    super(error instanceof Error ? error.message : String(error));
  }
}

/** The parts that failed to load, as functions that reset the failure. */
const failures = new Set<() => void>();

/** Makes failed parts load again at their next render. */
export function retryParts() {
  failures.forEach((forget) => forget());
  failures.clear();
}

/** A part of the GUI that is loaded on demand. A failure is kept until retryParts resets it. */
export class Part<T> {
  value?: T;
  failure?: PartMissing;
  private loading?: Promise<void>;

  constructor(
    private readonly load: () => Promise<T>,
    private readonly why: () => Promise<Cause> = causeNow,
  ) {}

  /** Starts to load the part unless it was started before. The promise never rejects. */
  begin(): Promise<void> {
    return (this.loading ??= this.twice().then(
      (value) => void (this.value = value),
      async (error: unknown) => {
        this.failure = new PartMissing(await this.why(), error);
        failures.add(() => this.forget());
      },
    ));
  }

  /** Loads the part before it is rendered; retries after a failure. */
  preload(): Promise<void> {
    if (this.failure) this.forget();
    return this.begin();
  }

  /** Loads the file, with one retry for a lost request. */
  private twice(): Promise<T> {
    return this.load().catch(() => this.load());
  }

  private forget() {
    if (this.value === undefined) this.loading = this.failure = undefined;
  }
}

/** Determines why the file of a part does not load. */
async function causeNow(): Promise<Cause> {
  const entry = document.querySelector<HTMLScriptElement>('script[type=module][src]')?.getAttribute('src');
  try {
    const page = await fetch('/gui/', { cache: 'no-store' });
    return page.ok && entry && !(await page.text()).includes(entry) ? 'version' : 'unknown';
  } catch {
    return 'unreachable';
  }
}
