import { Suspense, use, type ComponentType, type ReactNode } from 'react';
import { Part } from './part';

type Late<P> = ((props: P) => ReactNode) & { preload: () => Promise<void> };

/**
 * late returns a component whose code is loaded on first render, or by preload. In contrast to React.lazy, a failed
 * load can be retried.
 */
export function late<P extends object>(load: () => Promise<ComponentType<P>>, waiting: ReactNode = null): Late<P> {
  const part = new Part(load);
  function Drawn(props: P) {
    if (!part.value && !part.failure) use(part.begin());
    if (part.failure) throw part.failure;
    const Component = part.value!;
    return <Component {...props} />;
  }
  const Late = (props: P) => (
    <Suspense fallback={waiting}>
      <Drawn {...props} />
    </Suspense>
  );
  return Object.assign(Late, { preload: () => part.preload() });
}
