import type { ModalProps } from '@mantine/core';
import { lazyComponent } from './lazy-component';

const Modal = lazyComponent<ModalProps>(async () => (await import('./dialog')).Modal);

/** LazyModal is a dialog whose code is loaded when it opens, because most visits do not open it. */
export function LazyModal(props: ModalProps) {
  return props.opened && <Modal {...props} />;
}
