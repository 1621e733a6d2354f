import { Suspense, use, type ComponentType, type ReactNode } from 'react';
import { Part } from './part';

type LazyComponent<P> = ((props: P) => ReactNode) & { preload: () => Promise<void> };

/**
 * lazyComponent returns a component whose code is loaded on first render, or by preload. In contrast to React.lazy, a failed
 * load can be retried.
 */
export function lazyComponent<P extends object>(load: () => Promise<ComponentType<P>>, waiting: ReactNode = null): LazyComponent<P> {
  const part = new Part(load);
  function Drawn(props: P) {
    if (!part.value && !part.failure) use(part.begin());
    if (part.failure) throw part.failure;
    const Component = part.value!;
    return <Component {...props} />;
  }
  const LazyComponent = (props: P) => (
    <Suspense fallback={waiting}>
      <Drawn {...props} />
    </Suspense>
  );
  return Object.assign(LazyComponent, { preload: () => part.preload() });
}
