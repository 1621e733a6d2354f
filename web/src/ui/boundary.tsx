import { Alert, Button, Group, Text } from '@mantine/core';
import i18next from 'i18next';
import { Component, type ReactNode } from 'react';
import { PartMissing, retryParts } from './part';

type Props = { children: ReactNode; /** What is shown instead of the part that failed; without it, the error and the way back. */ fallback?: (error: unknown, again: () => void) => ReactNode };

/** Boundary confines an error to one part of the GUI. */
export class Boundary extends Component<Props, { failed?: { error: unknown } }> {
  override state: { failed?: { error: unknown } } = {};

  static getDerivedStateFromError(error: unknown) {
    return { failed: { error } };
  }

  override render() {
    const { failed } = this.state;
    if (!failed) return this.props.children;
    const again = () => (retryParts(), this.setState({ failed: undefined }));
    return this.props.fallback ? this.props.fallback(failed.error, again) : <Broken error={failed.error} again={again} />;
  }
}

/**
 * Broken shows an error of the GUI itself, or a part that failed to load, with buttons to retry and to reload the page.
 */
export function Broken({ error, again }: { error: unknown; again?: () => void }) {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return (
    <Alert color="red" title={i18next.t(error instanceof PartMissing ? 'broken.missing' : 'broken.title')} role="alert" m="md">
      <Text size="sm">{i18next.t(error instanceof PartMissing ? `broken.${error.because}` : 'broken.about')}</Text>
      <Text size="sm" className="text" ff="monospace" mt={4}>
        {text}
      </Text>
      <Group mt="sm">
        {again && (
          <Button size="xs" onClick={again}>
            {i18next.t('problem.again')}
          </Button>
        )}
        <Button size="xs" variant="default" onClick={() => location.reload()}>
          {i18next.t('broken.reload')}
        </Button>
        <Button size="xs" variant="default" component="a" href="/gui/">
          {i18next.t('broken.dashboard')}
        </Button>
      </Group>
    </Alert>
  );
}

/** Bare is the fallback if even the components of the pages fail: plain elements without a library. */
export function Bare({ error }: { error: unknown }) {
  return (
    <main role="alert" className="bare">
      <h1>{i18next.t('broken.title')}</h1>
      <p>{error instanceof Error ? error.message : String(error)}</p>
      <p>
        <a href="/gui/">{i18next.t('broken.dashboard')}</a>
      </p>
    </main>
  );
}
